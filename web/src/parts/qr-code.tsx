// A QR as a drawing: drawn here, so that its content is sent nowhere.
import encodeQR from 'qr';

export function QrCode({ text, label, size = 160 }: { text: string; label: string; size?: number }) {
  const cells = encodeQR(text, 'raw', { border: 2 });
  const path = cells.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return (
    <svg
      className="qr"
      role="img"
      aria-label={label}
      width={size}
      height={size}
      viewBox={`0 0 ${cells.length} ${cells.length}`}
      shapeRendering="crispEdges"
    >
      <rect width={cells.length} height={cells.length} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

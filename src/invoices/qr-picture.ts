// The picture of a QR text: PNG with one bit a pixel, written here (0.6 KB, a tenth of a millisecond), and SVG.
import { crc32 } from 'node:zlib';
import { encodeQR } from 'qr';
import { pixelsPerModule, quietModules, sidePixels, zlibPixels } from './qr-pixels.ts';

/** true is black. The text is letters and digits in both cases, so it is encoded as bytes. */
function modulesOf(text: string): boolean[][] {
  return encodeQR(text, 'raw', { ecc: 'medium', border: quietModules });
}

/** All but the pixels is the same in every picture. */
const before = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk('IHDR', header())]);
const after = chunk('IEND', Buffer.alloc(0));

export function qrPng(text: string): Buffer {
  return Buffer.concat([before, chunk('IDAT', zlibPixels(modulesOf(text))), after]);
}

function header(): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.writeUInt32BE(sidePixels, 0);
  bytes.writeUInt32BE(sidePixels, 4);
  bytes[8] = 1; // bits a pixel; the colour type, compression, filter and interlace bytes that follow are 0
  return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(data.length + 12);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, data.length + 8)), data.length + 8);
  return whole;
}

/** One path of horizontal runs; it scales without seams because the runs of a line are whole modules. */
export function qrSvg(text: string): string {
  const modules = modulesOf(text);
  const size = modules.length;
  const runs = modules.flatMap((row, y) => runsOf(row).map(({ start, length }) => `M${start} ${y}h${length}v1h-${length}z`));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size * pixelsPerModule}" height="${size * pixelsPerModule}"` +
    ` shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${runs.join('')}"/></svg>`
  );
}

function runsOf(row: boolean[]): { start: number; length: number }[] {
  const runs: { start: number; length: number }[] = [];
  let start = -1;
  for (let x = 0; x <= row.length; x += 1) {
    if (row[x] && start < 0) start = x;
    if (!row[x] && start >= 0) {
      runs.push({ start, length: x - start });
      start = -1;
    }
  }
  return runs;
}

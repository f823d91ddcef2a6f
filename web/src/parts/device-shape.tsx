// A device as a shape: narrow is a terminal, square a register; full is live on MQTT, half on the queue only, struck out is offline.
export type Reach = 'live' | 'queueOnly' | 'away';

export function DeviceShape({ kind, reach }: { kind: string; reach: Reach }) {
  const width = kind === 'terminal' ? 10 : 16;
  const colour = reach === 'away' ? 'var(--bad)' : 'var(--ok)';
  const right = width - 0.75;
  return (
    <svg width={width} height="16" viewBox={`0 0 ${width} 16`} aria-hidden="true">
      <rect
        x="0.75"
        y="0.75"
        width={width - 1.5}
        height="14.5"
        rx={kind === 'terminal' ? 2.5 : 3}
        fill={reach === 'live' ? colour : 'none'}
        stroke={colour}
        strokeWidth="1.5"
      />
      {reach === 'queueOnly' && <rect x="1.5" y="8" width={width - 3} height="6.5" rx="1.5" fill={colour} />}
      {reach === 'away' && <path d={`M2.5 13 ${right - 1.75} 3`} stroke={colour} strokeWidth="1.5" strokeLinecap="round" />}
    </svg>
  );
}

export function reachOf(liveOn: readonly string[]): Reach {
  if (liveOn.includes('mqtt')) return 'live';
  return liveOn.length > 0 ? 'queueOnly' : 'away';
}

// Small charts in plain SVG: at most three tints of the accent, axes from 0 for money, a sentence for screen readers.
import type { ReactNode } from 'react';
import type { HourSums } from '../api/overview.ts';

interface ChartProps {
  label: string;
  height: number;
  width: number;
  children: ReactNode;
}

function Chart({ label, height, width, children }: ChartProps) {
  return (
    <svg className="chart" role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} width="100%">
      {children}
    </svg>
  );
}

/** A round number that is not below the largest. */
export function niceTop(largest: number): number {
  if (largest <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 4, 5, 8, 10].find((step) => step * magnitude >= largest) ?? 10) * magnitude;
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1000 ? `${value / 1000}k` : String(value);
}

interface HourBarsProps {
  hours: HourSums[];
  label: string;
  nowWord: string;
  nowMs: number;
  wordOf: (at: string) => string;
}

const bars = { width: 660, height: 190, left: 40, bottom: 166, top: 18 };

/** Money by hour, stacked by mode; the same hour before as a mark; the running hour outlined, not extrapolated. */
export function HourBars({ hours, label, nowWord, nowMs, wordOf }: HourBarsProps) {
  const { width, height, left, bottom, top } = bars;
  const most = niceTop(Math.max(1, ...hours.map(({ card, qr, cash, before }) => Math.max(card + qr + cash, before))));
  const y = (value: number) => bottom - (value / most) * (bottom - top);
  // Early in the day there is space for the coming hours.
  const slot = (width - left) / Math.max(hours.length, 7, hours.length > 7 ? 12 : 0);
  const bar = Math.min(32, slot * 0.6);
  const nowIndex = hours.findLastIndex(({ at }) => Date.parse(at) <= nowMs);
  return (
    <Chart label={label} width={width} height={height}>
      {[0, most / 2, most].map((value) => (
        <g key={value}>
          <path d={`M${left} ${y(value) + 0.5}H${width}`} stroke="var(--grid)" />
          <text className="axis" x={left - 8} y={y(value) + 4} textAnchor="end">
            {short(value)}
          </text>
        </g>
      ))}
      {hours.map((hour, index) => {
        const x = left + slot * index + (slot - bar) / 2;
        return (
          <g key={hour.at}>
            <Stack hour={hour} x={x} bar={bar} y={y} />
            {hour.before > 0 && <path d={`M${x - 3} ${y(hour.before)}h${bar + 6}`} stroke="var(--ink-2)" strokeWidth="1.5" />}
            {index === nowIndex && nowMs - Date.parse(hour.at) < 86_400_000 && (
              <>
                <rect
                  x={x - 2}
                  y={top}
                  width={bar + 4}
                  height={bottom - top}
                  rx="3"
                  fill="none"
                  stroke="var(--ghost)"
                  strokeDasharray="3 3"
                />
                <text className="axis" x={x + bar / 2} y={top - 6} textAnchor="middle">
                  {nowWord}
                </text>
              </>
            )}
            {(hours.length <= 16 || index % 2 === 0) && (
              <text className="axis" x={x + bar / 2} y={height - 6} textAnchor="middle">
                {wordOf(hour.at)}
              </text>
            )}
          </g>
        );
      })}
    </Chart>
  );
}

function Stack({ hour, x, bar, y }: { hour: HourSums; x: number; bar: number; y: (value: number) => number }) {
  const parts = [
    { from: 0, value: hour.card, colour: 'var(--c1)' },
    { from: hour.card, value: hour.qr, colour: 'var(--c2)' },
    { from: hour.card + hour.qr, value: hour.cash, colour: 'var(--c3)', edge: 'var(--c2)' },
  ];
  return parts
    .filter(({ from, value }) => y(from) - y(from + value) >= 0.5)
    .map(({ from, value, colour, edge }) => (
      <rect
        key={colour}
        x={edge ? x + 0.5 : x}
        y={y(from + value) + 0.75}
        width={edge ? bar - 1 : bar}
        height={Math.max(0.5, y(from) - y(from + value) - 1.5)}
        rx="2"
        fill={colour}
        stroke={edge}
      />
    ));
}

const line = { width: 250, height: 60 };
const sumsOf = (values: readonly number[]) => values.reduce<number[]>((all, value) => [...all, (all.at(-1) ?? 0) + value], []);

/** A sum that grows through the day, and that of the same day a week before, dashed. */
export function GrowingLine({ values, before, label }: { values: number[]; before: number[]; label: string }) {
  const { width, height } = line;
  const [sums, then] = [sumsOf(values), sumsOf(before)];
  const most = Math.max(1, ...sums, ...then);
  const step = width / Math.max(1, values.length - 1, before.length - 1);
  const pointsOf = (all: number[]) =>
    all.map((sum, index) => `${(index * step).toFixed(1)} ${(height - 2 - (sum / most) * (height - 8)).toFixed(1)}`);
  const points = pointsOf(sums);
  if (points.length < 2) return null;
  return (
    <Chart label={label} width={width} height={height}>
      {(then.at(-1) ?? 0) > 0 && <path d={`M${pointsOf(then).join('L')}`} fill="none" stroke="var(--ghost)" strokeDasharray="3 3" />}
      <path d={`M0 ${height}L${points.join('L')}L${((points.length - 1) * step).toFixed(1)} ${height}z`} fill="var(--accent-soft)" />
      <path d={`M${points.join('L')}`} fill="none" stroke="var(--c1)" strokeWidth="2" strokeLinejoin="round" />
    </Chart>
  );
}

interface RateLineProps {
  /** From 0 to 1; undefined where nothing was tried. */
  rates: readonly { at: string; rate: number | undefined; before: number | undefined }[];
  label: string;
  wordOf: (at: string) => string;
  lowestWord: (at: string, rate: number) => string;
}

/** A rate over time, from 90 % or its lowest to 100 %, with its lowest point named; the week before dashed. */
export function RateLine({ rates, label, wordOf, lowestWord }: RateLineProps) {
  const { width } = line;
  const [top, bottom, height] = [8, 42, 60];
  const known = rates.flatMap(({ rate, before }) => [rate, before].filter((value) => value !== undefined));
  const tried = rates.filter((one): one is { at: string; rate: number; before: number | undefined } => one.rate !== undefined);
  const [first] = tried;
  if (!first) return null;
  const floor = Math.min(0.9, Math.floor(Math.min(...known) * 10) / 10);
  const step = width / Math.max(1, rates.length - 1);
  const x = (at: string) => rates.findIndex((one) => one.at === at) * step;
  const y = (value: number) => bottom - ((value - floor) / (1 - floor)) * (bottom - top);
  const path = (points: { at: string; value: number }[]) =>
    points.map(({ at, value }) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('L');
  const lowest = tried.reduce((least, one) => (one.rate < least.rate ? one : least), first);
  const then = rates.flatMap(({ at, before }) => (before === undefined ? [] : [{ at, value: before }]));
  const isLeft = x(lowest.at) < width / 2;
  return (
    <Chart label={label} width={width} height={height}>
      {[1, floor].map((value) => (
        <path key={value} d={`M0 ${y(value)}H${width}`} stroke="var(--grid)" />
      ))}
      {then.length > 1 && <path d={`M${path(then)}`} fill="none" stroke="var(--ghost)" strokeDasharray="3 3" />}
      <path
        d={`M${path(tried.map(({ at, rate }) => ({ at, value: rate })))}`}
        fill="none"
        stroke="var(--c1)"
        strokeWidth="2"
        strokeLinejoin="round"
      />
      <circle cx={x(lowest.at)} cy={y(lowest.rate)} r="3.5" fill="var(--surface)" stroke="var(--c1)" strokeWidth="2" />
      <text className="axis" x={isLeft ? width : 0} y={height - 4} textAnchor={isLeft ? 'end' : 'start'}>
        {wordOf((isLeft ? rates.at(-1) : rates[0])?.at ?? '')}
      </text>
      <text className="axis" x={isLeft ? 0 : width} y={height - 4} textAnchor={isLeft ? 'start' : 'end'}>
        {lowestWord(lowest.at, lowest.rate)}
      </text>
    </Chart>
  );
}

interface HistogramProps {
  counts: { fromMs: number; count: number }[];
  p50Ms: number;
  p95Ms: number;
  label: string;
  wordOf: (ms: number) => string;
}

/** How long answers took: thin bars, the two percentiles named. */
export function Histogram({ counts, p50Ms, p95Ms, label, wordOf }: HistogramProps) {
  const [width, height, base] = [250, 60, 42];
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const slot = width / Math.max(1, counts.length);
  const indexOf = (ms: number) => {
    return Math.max(
      0,
      counts.findLastIndex(({ fromMs }) => fromMs <= ms),
    );
  };
  const [half, tail] = [indexOf(p50Ms), indexOf(p95Ms)];
  const middle = (index: number) => Math.min(width - 14, Math.max(14, index * slot + slot / 2));
  return (
    <Chart label={label} width={width} height={height}>
      {counts.map(({ fromMs, count }, index) => (
        <rect
          key={fromMs}
          x={index * slot + 1}
          y={base - Math.max(1, (count / most) * 38)}
          width={Math.max(1, slot - 2)}
          height={Math.max(1, (count / most) * 38)}
          rx="1.5"
          fill={index === half ? 'var(--c1)' : 'var(--c3)'}
        />
      ))}
      <path d={`M${middle(tail)} 2V${base}`} stroke="var(--ink-2)" strokeDasharray="3 2" />
      <text className="axis" x={middle(half)} y={height - 4} textAnchor="middle">
        p50
      </text>
      {middle(half) > 60 && (
        <text className="axis" x="0" y={height - 4}>
          {wordOf(counts[0]?.fromMs ?? 0)}
        </text>
      )}
      {middle(tail) < width - 60 && (
        <text className="axis" x={width} y={height - 4} textAnchor="end">
          {wordOf(counts.at(-1)?.fromMs ?? 0)}
        </text>
      )}
      {tail - half > 3 && (
        <text className="axis" x={middle(tail)} y={height - 4} textAnchor="middle">
          p95
        </text>
      )}
    </Chart>
  );
}

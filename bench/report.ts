// The results of the bench, as rows with ratios: for the terminal and as JSON. A ratio above 1 is in our favour.
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

export interface Figure {
  name: string;
  value: number;
}

export interface Row {
  group: string;
  what: string;
  /** For `/s` more is better, for the others less. */
  unit: '/s' | 'ms' | 'µs' | 'MB';
  ours: number;
  peer?: Figure;
  /** Components that the workload needs in sequence: together they are the limit. */
  raw?: Figure[];
  /** The goal, as a ratio to the peer. */
  goal?: number;
  /** The goal as a bound of the figure itself. */
  atMost?: number;
}

export interface Run {
  date: string;
  commit: string;
  machine: string;
  /** The load of the machine before the run. */
  loadBefore: number;
  minutes: number;
  form: string;
  rounds: number;
  rows: Row[];
}

/** The group of growth that has ten million of them, with `--full`. */
export const rowsOnPostgres = 'growth, rows on PostgreSQL';

export function describeMachine(): string {
  const { model, speed } = cpus()[0] ?? { model: 'unknown', speed: 0 };
  const clock = speed > 0 ? ` at ${speed} MHz` : '';
  return `${cpus().length} cores (${model}${clock}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.versions.node}`;
}

export function currentCommit(): string {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

export function ratioOf({ unit, ours, peer }: Row): number | undefined {
  if (!peer) return undefined;
  return unit === '/s' ? ours / peer.value : peer.value / ours;
}

/** Our speed as a share of the raw parts, used in sequence. */
export function shareOfRaw({ unit, ours, raw }: Row): number | undefined {
  if (!raw || raw.length === 0) return undefined;
  const sum = raw.reduce((total, { value }) => total + (unit === '/s' ? 1 / value : value), 0);
  return unit === '/s' ? ours * sum : sum / ours;
}

/** undefined: there is no goal. */
export function isReached(row: Row): boolean | undefined {
  if (row.atMost !== undefined) return row.ours <= row.atMost;
  const ratio = ratioOf(row);
  return row.goal === undefined || ratio === undefined ? undefined : ratio >= row.goal;
}

export function figure(value: number, unit: Row['unit']): string {
  if (unit === '/s') return `${Math.round(value).toLocaleString('en')}/s`;
  if (unit === 'µs') return `${Math.round(value).toLocaleString('en')} µs`;
  return unit === 'MB'
    ? `${Math.round(value)} MB`
    : value < 100
      ? `${value.toFixed(2)} ms`
      : `${Math.round(value).toLocaleString('en')} ms`;
}

const twoDigits = (value: number | undefined) => (value === undefined ? '' : value.toFixed(2));

export function goalText({ goal, atMost, unit }: Row): string {
  return atMost === undefined ? twoDigits(goal).replace(/\.?0+$/, '') : `at most ${figure(atMost, unit).replace('.00', '')}`;
}

export const headings = ['', 'work', 'Tillgate', 'peer', 'ratio', 'goal', 'raw parts', 'of them'];

export function cells(row: Row): string[] {
  const { group, what, unit, ours, peer, raw = [] } = row;
  const share = shareOfRaw(row);
  return [
    group,
    what,
    figure(ours, unit),
    peer ? `${figure(peer.value, unit)} (${peer.name})` : '',
    twoDigits(ratioOf(row)),
    `${goalText(row)}${isReached(row) === false ? ', not reached' : ''}`,
    raw.map(({ name, value }) => `${figure(value, unit)} (${name})`).join(', '),
    share === undefined ? '' : `${Math.round(share * 100)} %`,
  ];
}

/** For a terminal: columns of equal width. */
export function asText(rows: Row[]): string {
  const lines = [headings, ...rows.map(cells)];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const perUnit = 10;
const mostUnits = 6;

/** One bar per row, as long as its ratio; the mark is the peer. */
export function asChart(rows: Row[]): string {
  const compared = rows.filter((row) => row.peer !== undefined);
  const name = ({ group, what }: Row) => `${group}: ${what}`;
  const width = Math.max(...compared.map((row) => name(row).length));
  return compared
    .map((row) => {
      const ratio = ratioOf(row) ?? 0;
      const length = Math.max(1, Math.min(mostUnits * perUnit, Math.round(ratio * perUnit)));
      const bar = Array.from({ length: Math.max(length, perUnit) }, (_, at) => (at + 1 === perUnit ? '|' : at < length ? '█' : '·'));
      return `${name(row).padEnd(width)} ${bar.join('')} ${ratio.toFixed(2)}`;
    })
    .join('\n');
}

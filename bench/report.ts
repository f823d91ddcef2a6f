// What the bench found, as rows with ratios: for the terminal, as JSON and as docs/benchmarks.md. A ratio above 1 is in our favour.
import { cpus, totalmem } from 'node:os';

export interface Row {
  group: string;
  what: string;
  /** `/s` more is better, `ms` and `MB` less is better. */
  unit: '/s' | 'ms' | 'MB';
  ours: number;
  peer?: { name: string; value: number };
  raw?: { name: string; value: number };
  /** What the project wants to reach, as a ratio. */
  goal?: number;
}

export interface Run {
  date: string;
  machine: string;
  isQuick: boolean;
  rounds: number;
  rows: Row[];
}

export function describeMachine(): string {
  const { model, speed } = cpus()[0] ?? { model: 'unknown', speed: 0 };
  const clock = speed > 0 ? ` at ${speed} MHz` : '';
  return `${cpus().length} cores (${model}${clock}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.versions.node}`;
}

export function ratioOf({ unit, ours, peer }: Row): number | undefined {
  if (!peer) return undefined;
  return unit === '/s' ? ours / peer.value : peer.value / ours;
}

function figure(value: number, unit: Row['unit']): string {
  if (unit === '/s') return `${Math.round(value).toLocaleString('en')}/s`;
  return unit === 'MB' ? `${Math.round(value)} MB` : `${value.toFixed(2)} ms`;
}

function cells(row: Row): string[] {
  const { group, what, unit, ours, peer, raw, goal } = row;
  const ratio = ratioOf(row);
  return [
    group,
    what,
    figure(ours, unit),
    peer ? `${figure(peer.value, unit)} (${peer.name})` : '',
    ratio === undefined ? '' : ratio.toFixed(2),
    goal === undefined ? '' : String(goal),
    raw ? `${figure(raw.value, unit)} (${raw.name})` : '',
  ];
}

const headings = ['', 'work', 'Tillgate', 'peer', 'ratio', 'goal', 'raw limit'];

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

/** One bar a row, so long as its ratio; the peer is at the mark. */
export function asChart(rows: Row[]): string {
  const compared = rows.filter((row) => row.peer !== undefined);
  const name = ({ group, what }: Row) => `${group}, ${what}`;
  const width = Math.max(...compared.map((row) => name(row).length));
  const perUnit = 10;
  return compared
    .map((row) => {
      const ratio = ratioOf(row) ?? 0;
      const length = Math.max(1, Math.min(6 * perUnit, Math.round(ratio * perUnit)));
      const bar = Array.from({ length: Math.max(length, perUnit) }, (_, at) => (at + 1 === perUnit ? '|' : at < length ? '█' : '·'));
      return `${name(row).padEnd(width)} ${bar.join('')} ${ratio.toFixed(2)}`;
    })
    .join('\n');
}

export function asMarkdown({ date, machine, rounds, rows }: Run): string {
  const table = [headings, headings.map(() => '---'), ...rows.map(cells)].map((line) => `| ${line.join(' | ')} |`).join('\n');
  return `# Benchmarks

Written by \`npm run bench\`; change nothing here by hand. ${date}, ${machine}, ${rounds} rounds of each work, the contenders taking turns in one
run; each figure is the median of its rounds. Everything runs on one machine: gateway, database, broker, devices and load share its cores, so
only the ratios mean something. A ratio above 1 is in Tillgate's favour.

The peer is a plain NestJS gateway with TypeORM ([its code](../bench/peers/nest-gateway.ts)): a look-up of the key, one insert and one update a
command, and none of the promises that Tillgate makes. For callbacks it is a job queue, tuned, whose jobs are one GET each. The raw limit is
the parts below, with no gateway between.

${table}

Where the peer stands is marked by \`|\`:

\`\`\`
${asChart(rows)}
\`\`\`
`;
}

// The result for each planted bug, as the table of docs/planted-bugs.md lists it. Pure.
import type { PlantedBug } from './planted-bug.ts';

export interface Verdict {
  bug: Pick<PlantedBug, 'core' | 'name' | 'kind' | 'harm'>;
  /** The day on which the simulation found it, and the violation. */
  day?: number;
  sentence?: string;
  /** The tests that found it. */
  tests?: string;
}

export const head = '| a gateway that ... | kind | harm | day | caught by |\n|---|---|---|---|---|';
const begin = '<!-- planted bugs: written by npm run planted-bugs -- --write -->\n';
const end = '<!-- end of planted bugs -->';
const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
const maxSentence = 200;

export function rowOf({ bug, day, sentence, tests }: Verdict): string {
  const by = sentence ?? tests ?? '**nothing**';
  const shortened = by.replaceAll(ids, '…').replaceAll('|', '/').slice(0, maxSentence);
  return `| ${bug.name} | ${bug.kind} | ${bug.harm} | ${day ?? '-'} | ${shortened} |`;
}

export interface Run {
  /** 16 November 2026. */
  day: string;
  commit: string;
  days: { money: string; others: string; minutes: string };
}

/** The note below the table: the code that its rows are from. */
export function noteOf({ day, commit, days }: Run, all: number, judged: number): string {
  const length = `shop-days of ${days.minutes} minutes, up to ${days.money} for what charges twice, loses money or gets stuck and up to ${days.others} for the rest`;
  if (judged === all) return `All ${all} rows are from one run on ${day}, of the code at ${commit} (${length}).`;
  return `These rows are from several runs; the newest of them, of ${judged}, on ${day}, of the code at ${commit} (${length}).`;
}

/**
 * The page with these verdicts in its table: rows of other bugs stay, bugs that are gone go, the order is that of `bugs`; the note stays
 * unless there is a new one.
 */
export function withRows(page: string, bugs: readonly { name: string }[], verdicts: readonly Verdict[], note?: string): string {
  return withTable(
    page,
    { begin, end, head },
    bugs.map(({ name }) => name),
    verdicts.map((verdict) => [verdict.bug.name, rowOf(verdict)]),
    note,
  );
}

/** The same for any table with these marks; a row begins with its name. */
export function withTable(
  page: string,
  marks: Readonly<Record<'begin' | 'end' | 'head', string>>,
  names: readonly string[],
  newRows: readonly (readonly [name: string, row: string])[],
  note?: string,
): string {
  const from = page.indexOf(marks.begin);
  const to = page.indexOf(marks.end);
  if (from < 0 || to < from) throw new Error('The page has no place for the table of planted bugs.');
  const lines = page.slice(from + marks.begin.length, to).split('\n');
  const rows = new Map(lines.map((line) => [line.split(' | ')[0]?.replace(/^\| /, '') ?? '', line]));
  for (const [name, row] of newRows) rows.set(name, row);
  const known = names.map((name) => rows.get(name)).filter((row) => row !== undefined);
  const remark = note ?? lines.find((line) => line !== '' && !line.startsWith('|'));
  const below = remark === undefined ? '' : `\n${remark}\n`;
  return `${page.slice(0, from)}${marks.begin}${marks.head}\n${known.map((row) => `${row}\n`).join('')}${below}${page.slice(to)}`;
}

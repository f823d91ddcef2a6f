// What became of each planted bug, as the table of docs/reliability.md tells it. Pure.
import type { PlantedBug } from './planted-bug.ts';

export interface Verdict {
  bug: Pick<PlantedBug, 'name' | 'kind' | 'harm'>;
  /** In which day the simulation noticed, and by which sentence. */
  day?: number;
  sentence?: string;
  /** The tests that noticed. */
  tests?: string;
}

export const head = '| a gateway that ... | kind | harm | day | caught by |\n|---|---|---|---|---|';
const begin = '<!-- planted bugs: written by npm run planted-bugs -- --write -->\n';
const end = '<!-- end of planted bugs -->';
const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
const maxSentence = 200;

export function rowOf({ bug, day, sentence, tests }: Verdict): string {
  const by = sentence ?? tests ?? '**nothing**';
  const told = by.replaceAll(ids, '…').replaceAll('|', '/').slice(0, maxSentence);
  return `| ${bug.name} | ${bug.kind} | ${bug.harm} | ${day ?? '-'} | ${told} |`;
}

/** The page with these verdicts in its table: rows of other bugs stay, bugs that are gone go, and the order is that of `bugs`. */
export function withRows(page: string, bugs: readonly { name: string }[], verdicts: readonly Verdict[]): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error('The page has no place for the table of planted bugs.');
  const rows = new Map<string, string>();
  for (const line of page.slice(from, to).split('\n')) rows.set(line.split(' | ')[0]?.replace(/^\| /, '') ?? '', line);
  for (const verdict of verdicts) rows.set(verdict.bug.name, rowOf(verdict));
  const known = bugs.map(({ name }) => rows.get(name)).filter((row) => row !== undefined);
  return `${page.slice(0, from)}${begin}${head}\n${known.map((row) => `${row}\n`).join('')}${page.slice(to)}`;
}

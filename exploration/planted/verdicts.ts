// The result for each planted bug of the rules, as the second table of docs/planted-bugs.md lists it; and where to look first. Pure.
import type { PlantedBug } from '../../simulation/planted/planted-bug.ts';
import { withTable } from '../../simulation/planted/verdicts.ts';
import type { Hunted } from './hunt.ts';

const title = {
  begin: '<!-- planted bugs of the rules: written by npm run planted-rules -- --write -->\n',
  end: '<!-- end of planted bugs of the rules -->',
  head: '| rules with this bug: | harm | caught by | world | events | seconds |\n|---|---|---|---|---|---|',
};
const maxSentence = 160;

export function rowOf({ name, harm }: PlantedBug, { violation, world, seconds }: Hunted): string {
  const cell = (text: string) => text.split('\n')[0]?.replaceAll('|', '/').slice(0, maxSentence) ?? '';
  const by = violation ? `${cell(violation.invariant)}: ${cell(violation.why)}` : '**nothing**';
  return `| ${cell(name)} | ${harm} | ${by} | ${world ?? '-'} | ${violation?.sequence.length ?? '-'} | ${seconds.toFixed(1)} |`;
}

export function withVerdicts(page: string, bugs: readonly PlantedBug[], verdicts: readonly { bug: PlantedBug; hunted: Hunted }[]): string {
  const nameInRow = (name: string) => name.replaceAll('|', '/').slice(0, maxSentence);
  const rows = verdicts.map(({ bug, hunted }): [string, string] => [nameInRow(bug.name), rowOf(bug, hunted)]);
  return withTable(
    page,
    title,
    bugs.map(({ name }) => nameInRow(name)),
    rows,
  );
}

const byText: readonly (readonly [part: RegExp, worlds: readonly string[]])[] = [
  [/invoice/i, ['keys of an invoice', 'invoice', 'an invoice after a wrong no']],
  [/print|receipt/i, ['two cards on a receipt', 'receipts by number', 'receipts', 'receipts after a wrong no', 'two registers']],
  [/notice/, ['keys of an invoice', 'doubtful answers']],
  [/key/, ['keys']],
  [/guard|roots|name out/, ['a gateway stands still after a wrong no']],
  [
    /requestHash|receivedAt|inDispute|delivered outcome|'sent'\) return/,
    ['a late note', 'an unnamed wrong no', 'a step of a person', 'calls without a name'],
  ],
  [/lastIsAnother|isOpen\(op\)/, ['no journal']],
  [/refund/i, ['returns', 'the close of a day']],
  [/journal|unconfirmed|notBegun|disputedFrom/i, ['an acceptance after a wrong no', 'a slow terminal', 'two decisions', 'one terminal']],
  [/documentNr|otherwise|also|about/i, ['a wrong no', 'two terminals']],
];

/** By what the bug changes. */
export const likelyWorlds = ({ name, edits }: PlantedBug): string[] => [
  ...new Set(byText.flatMap(([part, worlds]) => (part.test(name) || edits.some(({ find }) => part.test(find)) ? worlds : []))),
];

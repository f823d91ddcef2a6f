// Why the new core may answer otherwise than the old one: each class of difference with the decision that wants it. docs/core-differences.md has
// a line for each; what no line explains is a fault of one of the cores, and fails the comparison.
import type { Compared, Difference } from './replay.ts';

interface Reason {
  /** As in docs/core-differences.md: the decision, and the first words of the situation. */
  decision: string;
  situation: string;
  explains(difference: Difference): boolean;
}

const withoutIds = (text: string) => text.replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'OID').trim();

export const reasons: readonly Reason[] = [
  {
    decision: 'D301',
    situation: "The device's clock is wrong, and a command expires",
    explains: ({ what }) => what === 'begun again',
  },
  {
    decision: 'D302',
    situation: 'CancelTransaction by number; the payment was refused or never began',
    explains: ({ what, old, new: neu }) =>
      what === 'answer of CancelTransaction' &&
      /^The_status_cannot_be_applied OID (Refused|Never)$/.test(withoutIds(old)) &&
      /^NoError OID (Refused|Never)$/.test(withoutIds(neu)),
  },
  {
    decision: 'D302, D315',
    situation: 'The key of an abort whose payment was not made, after the number was tried again',
    explains({ what, old, new: neu }) {
      const [code, later] = old.split(' ');
      const isNotMade = /^NoError OID (Refused|Never) also OID$/.test(withoutIds(neu));
      return (
        what === 'answer of CancelTransaction' && code === 'The_status_cannot_be_applied' && isNotMade && neu.endsWith(`also ${later}`)
      );
    },
  },
  {
    decision: 'D315',
    situation: 'The terminal refuses to stop a payment that the bank declines a moment later',
    explains: ({ what, old, new: neu }) =>
      what === 'answer of CancelTransaction' &&
      old.replace('NoError', 'The_status_cannot_be_applied') === neu &&
      /^NoError \S+ Refused/.test(old),
  },
  {
    decision: 'D17, D18',
    situation: 'A Refund or a void that can never be accepted, while its terminal is busy or offline',
    explains: ({ what, old, new: neu }) =>
      /^answer of (Refund|CancelTransaction)$/.test(what) &&
      /^(Device_Busy|Device_Offline)$/.test(old.trim()) &&
      /^(Invalid_Request$|The_status_cannot_be_applied OID (Closed|Voided|Refunded)$)/.test(withoutIds(neu)),
  },
  {
    decision: 'D302',
    situation: 'The same request to stop, without a key',
    explains: ({ what, old, new: neu }) => what === 'answer of CancelTransaction' && old === `${neu} Repeated`,
  },
];

/** The sum of several days. */
export interface ComparedDays {
  equal: number;
  explained: Record<string, number>;
  /** With the day. */
  unexplained: string[];
  notComparable: Record<string, number>;
}

export const nothingCompared = (): ComparedDays => ({ equal: 0, explained: {}, unexplained: [], notComparable: {} });

export function addDay(sum: ComparedDays, seed: number, { equal, differences, notComparable }: Compared): void {
  for (const times of Object.values(equal)) sum.equal += times;
  for (const [why, times] of Object.entries(notComparable)) sum.notComparable[why] = (sum.notComparable[why] ?? 0) + times;
  for (const difference of differences) {
    const reason = reasons.find(({ explains }) => explains(difference));
    if (!reason) sum.unexplained.push(`seed ${seed}, ${difference.id}: ${difference.what}: ${difference.old} -> ${difference.new}`);
    else {
      const name = `${reason.decision} ${reason.situation}`;
      sum.explained[name] = (sum.explained[name] ?? 0) + 1;
    }
  }
}

const maxShown = 100;

export function tellCompared({ equal, explained, unexplained, notComparable }: ComparedDays): string {
  const listed = (counts: Record<string, number>) => Object.entries(counts).map(([what, times]) => `  ${times} ${what}`);
  const classes = new Map<string, number>();
  for (const line of unexplained) {
    const name = withoutIds(line.replace(/^seed \d+, [^:]*: /, ''));
    classes.set(name, (classes.get(name) ?? 0) + 1);
  }
  return [
    `old and new core: ${equal} answers and changes are equal`,
    'different, with the decision that wants it:',
    ...listed(explained),
    'not comparable:',
    ...listed(notComparable),
    `unexplained: ${unexplained.length}`,
    ...listed(Object.fromEntries(classes)),
    ...unexplained.slice(0, maxShown).map((line) => `  ${line}`),
  ].join('\n');
}

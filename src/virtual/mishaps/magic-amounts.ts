// Magic amounts: the last two digits of an amount (its bani) make a virtual device misbehave. This table is the one
// place that says so: the code, `--help` and the docs all read it. Every other ending is approved.
import type { Bani } from '../../kernel/money.ts';
import { type DeviceKind, deviceKinds } from '../../link/protocol.ts';

export type Magic =
  | 'declined'
  | 'wrong-pin'
  | 'customer-cancels'
  | 'slow'
  | 'late-answer'
  | 'lost-answer'
  | 'answers-twice'
  | 'crash-before-bank'
  | 'crash-after-bank'
  | 'paper-out'
  | 'busy'
  | 'paper-out-mended'
  | 'paper-out-reversed'
  | 'crash-after-print';

export interface MagicRow {
  /** The last two digits, in bani. */
  ending: number;
  magic: Magic;
  kinds: readonly DeviceKind[];
  meaning: string;
}

const terminal: readonly DeviceKind[] = ['terminal'];
const register: readonly DeviceKind[] = ['register'];
const both: readonly DeviceKind[] = deviceKinds;

export const magicAmounts: readonly MagicRow[] = [
  { ending: 61, magic: 'declined', kinds: both, meaning: 'the bank declines the card' },
  { ending: 62, magic: 'wrong-pin', kinds: terminal, meaning: 'the customer enters a wrong PIN three times' },
  { ending: 63, magic: 'customer-cancels', kinds: terminal, meaning: 'the customer presses Cancel' },
  { ending: 64, magic: 'slow', kinds: both, meaning: 'approved, after 20 s' },
  { ending: 65, magic: 'late-answer', kinds: both, meaning: 'approved, but answered 5 s after the time to answer has passed' },
  { ending: 66, magic: 'lost-answer', kinds: both, meaning: 'approved, but the answer is lost on the way' },
  { ending: 67, magic: 'answers-twice', kinds: both, meaning: 'approved, and the answer comes twice' },
  { ending: 68, magic: 'crash-before-bank', kinds: both, meaning: 'the power goes before the bank is asked' },
  { ending: 69, magic: 'crash-after-bank', kinds: both, meaning: 'the power goes after the bank said yes (a register: before it prints)' },
  { ending: 71, magic: 'paper-out', kinds: both, meaning: 'the paper is out before it begins: refused' },
  { ending: 72, magic: 'busy', kinds: both, meaning: 'somebody is in the menu: busy' },
  {
    ending: 73,
    magic: 'paper-out-mended',
    kinds: register,
    meaning: 'the paper is out after the bank said yes; a new roll comes after 5 s and it prints',
  },
  {
    ending: 74,
    magic: 'paper-out-reversed',
    kinds: register,
    meaning: 'the paper is out after the bank said yes and stays out: reversed at the bank, then refused',
  },
  {
    ending: 75,
    magic: 'crash-after-print',
    kinds: register,
    meaning: 'the power goes after the fiscal memory is written, before the answer',
  },
];

export function magicOf(kind: DeviceKind, amountBani: Bani): Magic | undefined {
  const ending = Math.abs(amountBani) % 100;
  return magicAmounts.find((row) => row.ending === ending && row.kinds.includes(kind))?.magic;
}

/** The table as lines of text, for `--help`. */
export function describeMagic(kind: DeviceKind): string[] {
  return magicAmounts.filter((row) => row.kinds.includes(kind)).map((row) => `x.${row.ending}  ${row.meaning}`);
}

// Magic amounts: the last two digits of an amount (its bani) select a fault of a virtual device; the names are those of the header
// Tillgate-Fault. This table is the only source: the code, `--help` and the docs use it. All other amounts are approved.
import type { Bani } from '../../kernel/money.ts';
import type { DeviceKind } from '../../link/protocol.ts';

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
  /** Terminals and registers have different magic amounts: a sale paid on one is printed by the other [D152]. */
  kind: DeviceKind;
  meaning: string;
}

const faultsOfTerminal: readonly [ending: number, magic: Magic, meaning: string][] = [
  [61, 'declined', 'the bank declines the card'],
  [62, 'wrong-pin', 'the customer enters a wrong PIN three times'],
  [63, 'customer-cancels', 'the customer presses Cancel'],
  [64, 'slow', 'approved, after 20 s'],
  [65, 'late-answer', 'approved, but answered 5 s after the time to answer has passed'],
  [66, 'lost-answer', 'approved, but the answer is lost on the way'],
  [67, 'answers-twice', 'approved, and the answer comes twice'],
  [68, 'crash-before-bank', 'the power goes before the bank is asked'],
  [69, 'crash-after-bank', 'the power goes after the bank said yes'],
  [71, 'paper-out', 'the paper is out before it begins: refused'],
  [72, 'busy', 'a person is in the menu: busy'],
];

const faultsOfRegister: typeof faultsOfTerminal = [
  [81, 'declined', 'the bank declines the card'],
  [82, 'crash-after-print', 'the power goes after the fiscal memory is written, before the answer'],
  [84, 'slow', 'done, after 20 s'],
  [85, 'late-answer', 'done, but answered 5 s after the time to answer has passed'],
  [86, 'lost-answer', 'done, but the answer is lost on the way'],
  [87, 'answers-twice', 'done, and the answer comes twice'],
  [88, 'crash-before-bank', 'the power goes before the bank is asked'],
  [89, 'crash-after-bank', 'the power goes after the bank said yes, before it prints'],
  [91, 'paper-out', 'the paper is out before it begins: refused'],
  [92, 'busy', 'a person is in the menu: busy'],
  [93, 'paper-out-mended', 'the paper is out after the bank said yes; a new roll comes after 5 s and it prints'],
  [94, 'paper-out-reversed', 'the paper is out after the bank said yes and stays out: reversed at the bank, then refused'],
];

const rowsOf = (kind: DeviceKind, faults: typeof faultsOfTerminal) =>
  faults.map(([ending, magic, meaning]): MagicRow => ({ ending, magic, kind, meaning }));

export const magicAmounts: readonly MagicRow[] = [...rowsOf('terminal', faultsOfTerminal), ...rowsOf('register', faultsOfRegister)];

export function magicOf(kind: DeviceKind, amountBani: Bani): Magic | undefined {
  const ending = Math.abs(amountBani) % 100;
  return magicAmounts.find((row) => row.ending === ending && row.kind === kind)?.magic;
}

/** The possible values of the header Tillgate-Fault. */
export function magicNames(kind: DeviceKind): Magic[] {
  return magicAmounts.filter((row) => row.kind === kind).map(({ magic }) => magic);
}

/** The table as lines of text, for `--help`. */
export function describeMagic(kind: DeviceKind): string[] {
  return magicAmounts.filter((row) => row.kind === kind).map((row) => `x.${row.ending}  ${row.meaning}`);
}

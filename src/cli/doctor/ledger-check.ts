// Looks through the ledger of the last days (money/recompute.ts): whether what is stored follows from what happened. Of the new money core only:
// the old one stores nothing of it.
import { openDatabase } from '../../database/open.ts';
import type { World } from '../../kernel/world.ts';
import { type Recomputed, recompute, recomputedDays } from '../../money/recompute.ts';
import type { Difference, DifferenceKind } from '../../money/rules/differences.ts';
import type { Config } from '../../settings.ts';
import { choice } from '../../wiring/core-choice.ts';
import { type Finding, good, trouble, wordsOf } from './finding.ts';

const check = 'ledger';
const progressEveryMs = 5_000;

interface Deps extends Pick<World, 'clock' | 'logger'> {
  onProgress?: (says: string) => void;
}

export async function checkLedger({ databaseUrl: url, dataDir }: Config, { clock, logger, onProgress }: Deps): Promise<Finding[]> {
  if (choice.core !== 'new') return [];
  // What prevents the reading is a finding about the database already.
  const database = await openDatabase({ url, dataDir, role: 'reader', clock, logger }).catch(() => undefined);
  if (!database) return [];
  let shownAtMs = clock.elapsed();
  const progress = (seen: Omit<Recomputed, 'differences'>) => {
    if (clock.elapsed() - shownAtMs < progressEveryMs) return;
    shownAtMs = clock.elapsed();
    onProgress?.(`ledger: ${sizeOf(seen)} compared so far`);
  };
  try {
    return judgeLedger(await recompute({ database, clock, onProgress: progress }));
  } catch (error) {
    return [trouble(check, wordsOf(error), 'The ledger could not be compared; run the check again.')];
  } finally {
    await database.close();
  }
}

export function judgeLedger(seen: Recomputed): Finding[] {
  const { differences, isComplete } = seen;
  const found = differences.map((one) => trouble(check, saysOf(one), `${whatToDo[one.kind]} ${always}`));
  if (!isComplete) found.push(trouble(check, `There are more: it ended after ${differences.length}.`, always));
  if (found.length > 0) return found;
  return [good(check, `${sizeOf(seen)} of the last ${recomputedDays} days agree with what happened.`)];
}

const sizeOf = ({ operations, devices, invoices }: Pick<Recomputed, 'operations' | 'devices' | 'invoices'>): string =>
  `${operations} operations, ${devices} devices and ${invoices} invoices`;

const saysOf = ({ kind, id, stored, derived }: Difference): string => `${subjects[kind]} ${id}: stored ${stored}, computed ${derived}.`;

const subjects: Record<DifferenceKind, string> = {
  standing: 'The state of operation',
  refunded: 'The refunded sum of payment',
  document: 'The document of payment',
  print: 'The receipt of payment',
  decision: 'Whether a device must confirm the decision about',
  state: 'The end of operation',
  lock: 'What holds the device, of',
  'bank day': 'The last close of the day of device',
  name: 'What the number of an operation stands for,',
  'paid by card': 'Whether the invoice is paid by card,',
  invoice: 'The state of invoice',
  orphan: 'Whether a payment is listed as refused by its invoice,',
};

const compare = 'Compare it with the list of the device or the bank before money is returned or charged again.';
const whatToDo: Record<DifferenceKind, string> = {
  standing: compare,
  refunded: compare,
  document: compare,
  print: 'Check on the register whether its receipt was printed.',
  decision: 'Check on the device what it has done; its answer decides.',
  state: compare,
  lock: 'If the device answers 31, close the document by hand, or decide the operation that holds it.',
  'bank day': 'Compare the close with the bank: voids and refunds of that day depend on it.',
  name: 'Do not charge this number again before you have compared it with the list of the device.',
  'paid by card': 'Compare the payment with the bank before the invoice is paid in another way.',
  invoice: 'Compare its payments with the bank before it is paid again.',
  orphan: 'Check whether that money must be returned.',
};

const always = 'Take a backup, and report this line: a gateway alone does not store this.';

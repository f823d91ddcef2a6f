// The checks of a kill series, from the books of the devices, which do not prevent duplicates: operations done more than once for one
// documentNr or Receipt.Uid, and operations that were never acknowledged. Every till asks until it has an outcome, so that every
// operation belongs to one answer: a second one under an Idempotency-Key, or one answered as refused, belongs to none.
import { type LedgerRow, readBank, readFiscalMemory } from '../support/books.ts';
import type { ShopDevice } from '../support/served-shop.ts';
import type { Acknowledged } from './series-tills.ts';

type Books = Pick<ShopDevice, 'kind' | 'stateDir'>;

/** Each documentNr and Receipt.Uid with more than one charge or print, once per duplicate. */
export function doneTwice(rows: Pick<LedgerRow, 'id' | 'document_nr' | 'receipt_uid'>[], devices: readonly Books[]): string[] {
  const intentOf = new Map(rows.map((row) => [row.id, row.document_nr ?? row.receipt_uid ?? row.id]));
  const intents = devices.flatMap(({ kind, stateDir }) => {
    const charges = readBank(stateDir).filter((entry) => entry.kind === 'charge');
    const receipts = readFiscalMemory(stateDir).filter(({ type }) => type === 'receipt');
    return kind === 'terminal' ? charges.map(({ reference }) => reference) : receipts.map(({ commandId }) => commandId);
  });
  const seen = new Set<string>();
  return intents
    .map((id) => intentOf.get(id) ?? id)
    .filter((intent) => {
      const isSecond = seen.has(intent);
      seen.add(intent);
      return isSecond;
    });
}

/** Operations of a device under a command that no till was answered as done, or once too often. */
export function doneUndelivered(acknowledged: readonly Pick<Acknowledged, 'oid'>[], devices: readonly Books[]): string[] {
  const told = new Set(acknowledged.map(({ oid }) => oid));
  return devices
    .flatMap(deedsOf)
    .filter(({ commandId }) => !told.delete(commandId))
    .map(({ what, commandId }) => `${what} ${commandId}`);
}

function deedsOf({ kind, stateDir }: Books): { what: string; commandId: string }[] {
  const bank = readBank(stateDir);
  if (kind === 'terminal')
    return bank.filter((entry) => entry.kind !== 'decline').map((entry) => ({ what: entry.kind, commandId: entry.reference }));
  const documents = readFiscalMemory(stateDir);
  const printed = new Set(documents.map(({ commandId }) => commandId));
  // A register charges for each print; any other charge must be voided.
  const voided = new Set(bank.filter((entry) => entry.kind === 'void').map(({ originalId }) => originalId));
  const charges = bank.filter((entry) => entry.kind === 'charge' && !voided.has(entry.operationId) && !printed.has(entry.reference));
  return [
    ...documents.map(({ type, commandId }) => ({ what: type, commandId })),
    ...charges.map(({ reference }) => ({ what: 'charge without print', commandId: reference })),
  ];
}

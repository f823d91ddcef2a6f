// Invariants about what small worlds leave out at first: another merchant, devices that are not there, invoices that come and go, second
// numbers, and every kind of close.
import type { Unit } from '../src/database/commit-data.ts';
import type { Id, Op } from '../src/money/case.ts';
import { askIn, statusOf } from './asking.ts';
import type { Invariant } from './judged.ts';
import { commitTo, keyText } from './memory-store.ts';
import { beganAfter, invoiceIn, isOpen, isReal, kindOf } from './reading.ts';
import { closesDay, merchantOf, now, oid, opsOf, otherMerchantId, type State } from './world.ts';

const isOthers = ({ merchantId }: Op) => merchantId === otherMerchantId;

/** Whose rows an action has changed. */
function changedMerchants(before: State, after: State): Set<Id> {
  const found = new Set<Id>();
  for (const [table, rows] of Object.entries(after.ledger))
    for (const [key, row] of Object.entries(rows)) {
      const owner = table === 'device_locks' ? merchantOf(key) : row['merchant_id'];
      if (typeof owner === 'string' && before.ledger[table]?.[key] !== row) found.add(owner);
    }
  return found;
}

const merchantsAreApart: Invariant = ({ before, after, move }) => {
  const ops = opsOf(after);
  if (!Object.keys(after.live).some((id) => merchantOf(id) === otherMerchantId)) return undefined;
  const changed = changedMerchants(before, after);
  if (changed.size > 1) return 'one event changes rows of two merchants';
  const asker = move.event && 'merchantId' in move.event ? move.event.merchantId : undefined;
  const about = ops.find(({ id }) => id === move.answer?.fields.OID);
  if (asker !== undefined && about && about.merchantId !== asker)
    return `${asker} is answered about ${kindOf(about)} ${about.id} of ${about.merchantId}`;
  if (asker !== undefined && changed.size > 0 && !changed.has(asker)) return `a call of ${asker} changes rows of another merchant`;
  for (const op of ops.filter(isOthers)) {
    const { code } = askIn(after, statusOf({ oid: op.id }));
    if (code !== 'Record_not_exist') return `${kindOf(op)} ${op.id} of another merchant is known by its OID: ${code}`;
  }
  return ops.some(isOthers) && !ops.every(isOthers) ? true : undefined;
};

/** D42: what a call begins goes to a device that is there. */
const beginsOnline: Invariant = ({ before, after, move, world }) => {
  const op =
    after.sent === undefined || before.ledger['commands']?.[after.sent] ? undefined : opsOf(after).find(({ id }) => id === after.sent);
  if (!op || move.label.startsWith('gateway 2')) return undefined;
  if (before.disabled.includes(op.deviceId)) return `${kindOf(op)} ${op.id} is sent to ${op.deviceId}, which is disabled`;
  if (before.live[op.deviceId] === undefined) return `${kindOf(op)} ${op.id} is sent to ${op.deviceId}, which is offline`;
  return world.events.includes('offline') || undefined;
};

const sells = ({ kind }: Op) => kind === 'Pay' || kind === 'PrintReceipt' || kind === 'MoneyIn';

/** A close answers a later request to close only if nothing was sold since [D149, D250]. */
const closeHasEverySale: Invariant = ({ before, after, move }) => {
  if (move.answer?.fields.Repeated !== true) return undefined;
  const ops = opsOf(after);
  const close = ops.find((op) => op.id === move.answer?.fields.OID && closesDay(op));
  if (!close) return undefined;
  const missed = ops.find((op) => sells(op) && op.deviceId === close.deviceId && beganAfter(ops, op.id, close.id) && isReal(after, op.id));
  if (missed) return `${kindOf(close)} is answered by ${close.id}, and ${kindOf(missed)} ${missed.id} is in no close`;
  const sale = before.truth[oid];
  if (sale?.hw === before.truth[close.id]?.hw && sale?.hits === close.id)
    return `${kindOf(close)} is answered by ${close.id}, and a sale by QR is in no close`;
  return true;
};

/** D49: two operations of the bank, or two receipts, for one command. */
const secondIsForPeople: Invariant = ({ after, move }) => {
  if (move.event?.type !== 'Report' || move.event.report?.['operationId'] !== 'second') return undefined;
  const { id } = move.event;
  const op = opsOf(after).find((one) => one.id === id);
  if (op?.state !== 'done' || op.removedAt !== null || op.kind === 'CloseDoc') return undefined;
  if (op.operationId === 'second' || op.receiptId === 'second') return undefined;
  return op.contradiction?.includes('second') || `${kindOf(op)} ${id} was executed twice, and no person is asked`;
};

/** D66: a tombstone of an invoice that has ended, of which nothing is left to do. */
const removedInvoiceIsAtRest: Invariant = ({ before, after, move }) => {
  const [was, is] = [invoiceIn(before), invoiceIn(after)];
  if (!is || is.removedAt === null || was?.removedAt !== null) return undefined;
  const kept = opsOf(after).find((op) => !isOthers(op) && op.documentNr === oid && op.removedAt === null);
  if (kept) return `the invoice is removed, and ${kindOf(kept)} ${kept.id} refers to it`;
  if (opsOf(after).some((op) => !isOthers(op) && op.documentNr === oid && isOpen(op)))
    return 'the invoice is removed while it is being paid';
  if (['NewItem', 'Scanned'].includes(is.state)) return `the invoice is removed, and is ${is.state}`;
  if (move.event?.type === 'RemoveInvoice' && move.event.isCallbackPending) return 'the invoice is removed, and its callback is not sent';
  const listed = Object.values(after.ledger['orphan_payments'] ?? {}).some((row) => row['is_listed'] === 1);
  return listed ? 'the invoice is removed, and an orphan of it is listed' : true;
};

/** A repeat under its key gets the invoice that the first call created, whatever became of it. */
const createdOnce: Invariant = ({ before, after, world, move }) => {
  const all = Object.keys(after.ledger['invoices'] ?? {});
  if (!world.isInvoiceAbsent || all.length === 0) return undefined;
  if (all.length > 1) return 'a repeat under the key creates another invoice';
  return move.event?.type === 'Create' && Object.keys(before.ledger['invoices'] ?? {}).length > 0 ? 'an invoice is created twice' : true;
};

/** After a lost answer it is tried again, and the first try may still be under way. */
const committedOnce: Invariant = ({ before, after, move }) => {
  const { unit } = move;
  if (!unit) return undefined;
  const again = commitTo(after.ledger, unit, now);
  const isSame = ({ table, key }: Unit['writes'][number]) =>
    JSON.stringify(again?.[table]?.[keyText(key)]) === JSON.stringify(after.ledger[table]?.[keyText(key)]);
  // A late note writes the same again.
  if (again && (unit.inserts.length > 0 || !unit.writes.every(isSame))) return `what ${move.label} has written can be written twice`;
  return before.pending?.try === 'done' || undefined;
};

export const otherInvariants: Readonly<Record<string, Invariant>> = {
  '1 an invoice is created once': createdOnce,
  '1 nothing is sent to what is not there': beginsOnline,
  '1 nothing is written twice': committedOnce,
  '2 a removed invoice is at rest': removedInvoiceIsAtRest,
  '3 a close has every sale': closeHasEverySale,
  '4 a second operation is for a person': secondIsForPeople,
  '4 merchants are apart': merchantsAreApart,
};

// What a row says, read by the exploration itself: the invariants do not ask the rules about what they judge.
import type { Values } from '../src/database/commit-data.ts';
import type { Id, Invoice, Op } from '../src/money/case.ts';
import { rowOf } from './memory-store.ts';
import { merchantId, oid, type State } from './world.ts';

const shortNames: Readonly<Record<string, string>> = { CancelTransaction: 'Void', PrintReceipt: 'Print', MoneyIn: 'Cash' };
export const kindOf = ({ kind }: Op): string => shortNames[kind] ?? kind;

export const isUnexecuted = ({ state }: Op) => state === 'refused' || state === 'never';
export const isOpen = ({ state }: Op) => state === 'sent' || state === 'unknown';
/** A card is charged by it. */
export const isCharge = (op: Op) => op.kind === 'Pay' || (op.kind === 'PrintReceipt' && op.cardBani > 0);
export const returns = (op: Op) => op.kind === 'CancelTransaction' || op.kind === 'Refund';
/** Another merchant may have the same number. */
export const numberOfCharge = (op: Op) =>
  op.merchantId !== merchantId ? null : op.kind === 'Pay' ? op.documentNr : op.kind === 'PrintReceipt' ? op.receiptUid : null;
/** D305: the shop may have the money. */
export const stands = ({ standing }: Op) => ['Open', 'Disputed', 'Done', 'Closed'].includes(standing);
/** What a wrong decision leads to is excused where D304 and D305 excuse it. */
export const isDecidedNo = (op: Op) => op.settledBy === 'person' && isUnexecuted(op);

/** Its device is there, and is this merchant's. */
export const isHere = ({ live, disabled }: State, op: Op) =>
  op.merchantId === merchantId && live[op.deviceId] !== undefined && !disabled.includes(op.deviceId);

export const wasExecuted = ({ truth }: State, id: Id) => truth[id]?.did === 'executed';
export const mayStillRun = ({ truth }: State, id: Id) => truth[id]?.did === 'running' || truth[id]?.did === 'sent';
export const isReal = (state: State, id: Id) => wasExecuted(state, id) || mayStillRun(state, id);

/** Ids do not tell: those of a transcript are by kind. */
export function beganAfter(ops: readonly Op[], id: Id | undefined, other: Id | null): boolean {
  const place = ops.findIndex((op) => op.id === other);
  return place >= 0 && ops.findIndex((op) => op.id === id) > place;
}

/** The invoice of the world. */
export function invoiceIn({ ledger }: State): Invoice | undefined {
  const row = ledger['invoices']?.[oid];
  return row && rowOf('invoices', row);
}

const invoiceStates = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];
/** Of a stored row. */
export const invoiceStateOf = (row: Values | undefined): string | undefined => row && invoiceStates[Number(row['state'])];

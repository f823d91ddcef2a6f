// What a rule returns, and what every rule about a call begins with: a free device, a new operation, its name and its key.
import { operationOf } from '../../kernel/operations.ts';
import { type Draft, type Id, nameKey, type Op, type TableName } from '../case.ts';
import type { Answer, CallEvent, Effect, Need } from '../event.ts';
import { busy, error } from './answers.ts';
import { closesDay, isAbort, isCloseDoc, isContentName, isOpen, isPayment, isUndelivered, nameOf, opsUnder, presenceOf } from './facts.ts';

export interface Ruled {
  answer?: Answer;
  /** The operation that the answer is about, when the case has its consequences. */
  about?: Id;
  changes?: boolean;
  effects?: readonly Effect[];
  needs?: Need;
}

export const nothing: Ruled = {};
/** Nothing changes. */
export const say = (answer: Answer, effects: readonly Effect[] = []): Ruled => ({ answer, effects });
/** The case changes; the answer is about this operation, with the consequences. */
export const changed = (about?: Id, effects: readonly Effect[] = []): Ruled => ({
  changes: true,
  ...(about === undefined ? {} : { about }),
  effects,
});
/** The case changes, and the answer is known already. */
export const changedSaying = (answer: Answer, effects: readonly Effect[] = []): Ruled => ({ changes: true, answer, effects });

/** The answer about an open operation is given when it has ended. */
export const waitFor = (op: Op): Effect[] => (isOpen(op) ? [{ type: 'wait', id: op.id }] : []);

/** What is read to be relied on, and not changed, is guarded, and therefore written. */
export function relyOn(c: Draft, table: TableName, key: string): void {
  c.roots.push([table, key]);
}

const wrongKinds = {
  terminal: 'DeviceID names a fiscal register; this call is for card terminals.',
  register: 'DeviceID names a card terminal; this call is for fiscal registers.',
};
const unknownDevice =
  "There is no device with this DeviceID for this key: it is not registered with the key's merchant, or it is disabled. Nothing was sent; correct the DeviceID, because a repeat gets the same answer.";

/** Why the device cannot be used for this call at all; undefined: it can [D42]. */
export function wrongDevice(
  c: Draft,
  { merchantId, deviceId, isByPerson }: { merchantId: Id; deviceId: Id; isByPerson?: boolean | undefined },
  kind: 'terminal' | 'register',
): Answer | undefined {
  const device = presenceOf(c, merchantId, deviceId);
  if (!device || device.isDisabled) return error('Device_Offline', isByPerson ? 'The device is disabled.' : unknownDevice);
  return device.kind === kind ? undefined : error('Invalid_Request', wrongKinds[kind]);
}

/** Why the device cannot begin a command now; undefined: it can. `documentId`: the open document that the command accepts [D14]. */
export function notFree(c: Draft, { merchantId, deviceId }: { merchantId: Id; deviceId: Id }, documentId?: Id): Answer | undefined {
  const device = c.devices[deviceId];
  if (!device) return error('Device_Offline', unknownDevice);
  const { commandId } = device;
  const command = commandId === null ? undefined : c.ops[commandId];
  if (commandId !== null && command?.state === 'unknown')
    return busy('The outcome of an earlier operation on this device is still being settled.');
  if (commandId !== null) return busy('The device is processing another operation.');
  if (device.documentId !== null && device.documentId !== documentId) return busy('An approved payment on this device awaits CloseDoc.');
  if (!presenceOf(c, merchantId, deviceId)?.isOnline) return error('Device_Offline', 'The device is offline; nothing was sent.');
  return undefined;
}

export type NewOp = Partial<
  Pick<
    Op,
    | 'amountBani'
    | 'cardBani'
    | 'cashBani'
    | 'documentNr'
    | 'receiptUid'
    | 'targetId'
    | 'paid'
    | 'contentHash'
    | 'args'
    | 'operationId'
    | 'rrn'
  >
> & {
  kind: Op['kind'];
  answerWithinMs?: number;
};

/** The first commit of an operation: its row, its device, its name and its key, before anything is sent [D315]. */
export function begin(c: Draft, event: CallEvent, { answerWithinMs, ...given }: NewOp): Ruled {
  const op = newOp(c, event, given, answerWithinMs);
  c.ops[op.id] = op;
  if (isPayment(op)) c.sales.add(op.id);
  const device = c.devices[op.deviceId];
  if (device && !isAbort(op)) {
    device.commandId = op.id;
    if (!closesDay(op) && !isCloseDoc(op)) device.lastSaleId = op.id;
  }
  enterName(c, op, event);
  if (event.key) takeKey(c, event, op.id);
  if (isAbort(op)) return changed(op.id, [{ type: 'sendAbort', id: op.id, targetId: op.targetId ?? '', deviceId: op.deviceId }]);
  return changed(op.id, [{ type: 'send', id: op.id }]);
}

/**
 * By its content also if it has a key: a call without one may be its repeat. But it does not take the place of one whose caller has no other
 * way to its outcome [D58].
 */
function enterName(c: Draft, op: Op, { key }: CallEvent): void {
  const value = nameOf(op);
  if (value === undefined) return;
  if (key && isContentName(value) && opsUnder(c, op.merchantId, value, (one) => isUndelivered(c, one)).length > 0) return;
  const row = c.names[nameKey(op.merchantId, value)];
  if (!row) return;
  row.attempts += 1;
  (op as { attempt: number }).attempt = row.attempts;
  (row as { ops: readonly Id[] }).ops = [...row.ops, op.id];
}

/** The key leads to this operation from now on. */
export function takeKey(
  c: Draft,
  { merchantId, key }: Pick<CallEvent, 'merchantId' | 'key'>,
  subjectId: Id,
  subjectKind: 'command' | 'invoice' = 'command',
): boolean {
  if (!key) return false;
  const place = nameKey(merchantId, key.key);
  const earlier = c.keys[place];
  if (earlier?.subjectId === subjectId && earlier.requestHash === key.requestHash) return false;
  c.keys[place] = { merchantId, key: key.key, requestHash: key.requestHash, subjectKind, subjectId, createdAt: c.now };
  return true;
}

const abortWithinMs = 60_000;

function newOp(c: Draft, event: CallEvent, given: Omit<NewOp, 'answerWithinMs'>, answerWithinMs?: number): Op {
  const { newId: id, merchantId, deviceId, requestHash, callbackUri, isByPerson } = event;
  const within = answerWithinMs ?? (given.kind === 'Abort' ? abortWithinMs : operationOf(given.kind).answerWithinMs);
  return {
    ...emptyOp,
    ...given,
    id,
    merchantId,
    deviceId,
    sequence: isAbort(given) ? 0 : null,
    // Found by its number, not by its content [D58]; a request to stop and its repeat get one answer [D302].
    requestHash: isAbort(given) || (isPayment(given) ? given.documentNr : given.receiptUid) != null ? null : (requestHash ?? null),
    callbackUri: callbackUri ?? null,
    isByPerson: isByPerson === true,
    afterId: closesDay(given) ? (c.devices[deviceId]?.lastSaleId ?? null) : null,
    journalId: presenceOf(c, merchantId, deviceId)?.journalId ?? null,
    issuedAt: c.now,
    answerBy: c.now + within,
  };
}

const emptyOp: Omit<Op, 'id' | 'merchantId' | 'deviceId' | 'kind' | 'sequence' | 'issuedAt' | 'answerBy'> = {
  version: 0,
  attempt: 0,
  state: 'sent',
  amountBani: null,
  cardBani: 0,
  cashBani: 0,
  documentNr: null,
  receiptUid: null,
  targetId: null,
  afterId: null,
  paid: [],
  contentHash: null,
  args: null,
  requestHash: null,
  callbackUri: null,
  isByPerson: false,
  journalId: null,
  acceptedAt: null,
  operationId: null,
  rrn: null,
  receiptId: null,
  settledAt: null,
  settledBy: null,
  outcome: null,
  report: null,
  reason: null,
  isEndedUnknown: false,
  disputedFrom: null,
  contradiction: null,
  review: null,
  isConfirmed: false,
  isHardwareLost: false,
  isEndedByHand: false,
  isStopRefused: false,
  missedAt: null,
  receivedAt: null,
  notices: 0,
  removedAt: null,
  standing: 'Open',
  refundedBani: 0,
  document: null,
  printId: null,
  isUnconfirmed: false,
  isToConfirm: false,
  attention: null,
};

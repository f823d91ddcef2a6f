// The shape of an event in its situation, from the rows as they are before it. A model checker is only as good as its events: the simulation
// lists the shapes that it meets (shapes.txt), and the exploration must have met them, too (unmet.ts). Coarse on purpose: what is equal here
// may differ in what no rule reads.
import type { Values } from '../src/database/commit-data.ts';
import type { Event } from '../src/money/event.ts';

/** A row of `commands`; both cores have these columns. */
export interface OpRow extends Values {
  is_unconfirmed: number;
}

export interface Situation {
  op(id: string): OpRow | undefined;
  /** Payments, or prints, under a number, in the order of their begin. */
  under(column: 'document_nr' | 'receipt_uid', number: string): readonly OpRow[];
  /** Of the same content. */
  equal(deviceId: string, requestHash: string): readonly OpRow[];
  /** Payments of a terminal with this number of the bank. */
  numbered(deviceId: string, operationId: string): readonly OpRow[];
  followers(paymentId: string): readonly OpRow[];
  lock(deviceId: string): { command_id?: unknown; document_id?: unknown } | undefined;
  /** Undefined: offline; null: it keeps none. */
  journal(deviceId: string): string | null | undefined;
  /** Its state, as the simulation and the exploration name it. */
  invoice(oid: string): string | undefined;
  key(key: string): Values | undefined;
}

const classes: Readonly<Record<string, string>> = {
  ...{ Pay: 'Pay', CloseDoc: 'CloseDoc', Refund: 'a return', CancelTransaction: 'a return', PrintReceipt: 'a print', CloseDay: 'a close' },
  ...{ Report: 'a close', Abort: 'an abort' },
};
const classOf = (op: OpRow) => classes[String(op['name'])] ?? 'a plain one';

/** No call reads whether an open operation was accepted. */
const stateInCall = (op: OpRow | undefined) => stateOf(op && { ...op, accepted_at: null });

function stateOf(op: OpRow | undefined): string {
  if (!op) return 'nothing';
  const { state, settled_by: by, disputed_from: from, accepted_at: accepted, ended_unknown_at: ended, document_state: document } = op;
  const isOpen = state === 'sent' || state === 'unknown';
  return [
    ...[state === 'sent' ? 'open' : state === 'unknown' ? 'open' : String(state)],
    ...(state === 'disputed' ? [`from ${from}`] : []),
    ...(isOpen && accepted !== null ? ['accepted'] : []),
    ...(isOpen && ended !== null ? ['ended unknown'] : []),
    ...(!isOpen && state !== 'disputed' && by === 'person' ? ['by a person'] : []),
    ...(op.is_unconfirmed === 1 ? ['unconfirmed'] : []),
    ...(state === 'done' && typeof document === 'string' ? [document] : []),
  ].join(' ');
}

const hasHappened = (op: OpRow) => op['state'] !== 'refused' && op['state'] !== 'never';
const newest = (ops: readonly OpRow[]): OpRow | undefined => ops.findLast(hasHappened) ?? ops.at(-1);

function lockOf(s: Situation, deviceId: string, documentId?: unknown): string {
  const lock = s.lock(deviceId);
  const held = lock?.command_id ? 'busy' : lock?.document_id ? (lock.document_id === documentId ? 'own document' : 'document') : 'free';
  // What is held is refused whether it is online or not.
  return held === 'free' && s.journal(deviceId) === undefined ? 'offline' : held;
}

const delivery = (op: OpRow | undefined) =>
  !op || op['state'] === 'sent' ? '' : op['outcome_received_at'] === null ? ', not delivered' : ', delivered';

/** What returned the money of a payment, or is about to. */
function returned(s: Situation, payment: OpRow | undefined): string {
  const returns = payment ? s.followers(String(payment['id'])).filter((op) => classOf(op) === 'a return' && hasHappened(op)) : [];
  const states = returns.map(({ state }) => (state === 'done' || state === 'disputed' ? state : 'open'));
  return states.length === 0 ? '' : `, return ${[...new Set(states)].sort().join(' and ')}`;
}

const two = (ops: readonly OpRow[]) => (ops.filter(hasHappened).length > 1 ? ', two may have happened' : '');

export function shapesOf(event: Event, s: Situation): string[] {
  const found = shapeOf(event, s);
  if (found === undefined) return [];
  if (!('key' in event) || !event.key) return [found];
  const row = s.key(event.key.key);
  const keyed = row && s.op(String(row['subject_id']));
  const state = keyed ? `${classOf(keyed)} ${stateInCall(keyed)}` : row ? 'an invoice' : 'nothing';
  const isOther = row !== undefined && row['request_hash'] !== event.key.requestHash;
  return [found, `${event.type} with a key of ${state}${isOther ? ', another request' : ''}`];
}

function shapeOf(event: Event, s: Situation): string | undefined {
  switch (event.type) {
    case 'Pay': {
      const named =
        event.documentNr === undefined ? s.equal(event.deviceId, event.requestHash ?? '') : s.under('document_nr', event.documentNr);
      const op = newest(named);
      const invoice = event.documentNr === undefined ? undefined : s.invoice(event.documentNr);
      const how =
        event.documentNr === undefined
          ? `unnamed after ${stateInCall(op)}${delivery(op)}`
          : `under ${stateInCall(op)}${elsewhere(op, event)}${two(named)}`;
      return `Pay ${how}; ${lockOf(s, event.deviceId)}${invoice === undefined ? '' : `; invoice ${invoice}`}`;
    }
    case 'CloseDoc':
    case 'Refund':
    case 'CancelTransaction':
      return ofPayment(event, s);
    case 'Print': {
      const uid = event.receipt['Uid'];
      const prints = typeof uid === 'string' ? s.under('receipt_uid', uid) : s.equal(event.deviceId, event.requestHash ?? '');
      const op = newest(prints);
      const how = typeof uid === 'string' ? `under ${stateInCall(op)}` : `unnamed after ${stateInCall(op)}${delivery(op)}`;
      const paid = typeof uid === 'string' ? newest(s.under('document_nr', uid)) : undefined;
      return `Print ${how}; ${lockOf(s, event.deviceId)}${paid ? `; paid ${stateInCall(paid)}${returned(s, paid)}` : ''}`;
    }
    case 'Plain': {
      const op = newest(s.equal(event.deviceId, event.requestHash ?? ''));
      const kind = event.kind === 'CloseDay' || event.kind === 'Report' ? 'close' : 'plain one';
      return `${kind} after ${stateInCall(op)}${delivery(op)}; ${lockOf(s, event.deviceId)}`;
    }
    case 'Report':
    case 'Accepted': {
      const op = s.op(event.id);
      if (!op) return undefined;
      if (event.type === 'Accepted') return `accepted${event.isRunning ? ' and running' : ''} about ${classOf(op)} ${stateOf(op)}`;
      const journal = op['journal_id'] === null ? 'no' : event.journalId === op['journal_id'] ? 'own' : 'other';
      return `${event.outcome} from ${journal} journal about ${classOf(op)} ${stateOf(op)}`;
    }
    case 'Decide': {
      const op = s.op(event.id);
      const numbers =
        op?.['name'] === 'Pay' && event.isDone ? (event.operationId === undefined ? ' without numbers' : ' with numbers') : '';
      return op && `decided ${event.isDone ? 'done' : 'not done'}${numbers} about ${classOf(op)} ${stateOf(op)}`;
    }
    case 'CloseByHand': {
      const op = s.op(event.id);
      return op && `closed by hand: ${stateOf(op)}`;
    }
    case 'HardwareLost':
      return 'hardware lost';
    case 'Create':
      return 'Create';
    case 'Get':
    case 'Payd':
    case 'CancelInvoice': {
      const payment = newest(s.under('document_nr', event.oid));
      return `${event.type} of ${s.invoice(event.oid) ?? 'nothing'}${payment ? `; card ${stateInCall(payment)}` : ''}`;
    }
    default:
      return undefined;
  }
}

const elsewhere = (op: OpRow | undefined, { deviceId }: { deviceId: string }) =>
  op === undefined || op['device_id'] === deviceId ? '' : ' elsewhere';

function ofPayment(event: Extract<Event, { type: 'CloseDoc' | 'Refund' | 'CancelTransaction' }>, s: Situation): string {
  const { deviceId, documentNr, operationId } = event;
  const numbered = s.numbered(deviceId, operationId);
  const exact = numbered.findLast((op) => op['document_nr'] === documentNr) ?? numbered.findLast((op) => op['document_nr'] === null);
  if (exact) return `${event.type} of ${stateInCall(exact)}${returned(s, exact)}; ${lockOf(s, deviceId, exact['id'])}`;
  const under = s.under('document_nr', documentNr);
  const payment = newest(under);
  const invoice = s.invoice(documentNr);
  return `${event.type} without payment under ${stateInCall(payment)}${elsewhere(payment, event)}${two(under)}${invoice === undefined ? '' : `; invoice ${invoice}`}`;
}

// What people see after a line of a transcript: the answer, what was sent, and what has changed.
import { errorCodes } from '../src/kernel/error-codes.ts';
import { formatLei } from '../src/kernel/money.ts';
import type { Receipt } from '../src/kernel/receipt.ts';
import type { Op } from '../src/money/case.ts';
import type { Answer } from '../src/money/event.ts';
import { isPayment } from '../src/money/rules/facts.ts';
import { rowOf } from './memory-store.ts';
import { invoicesShown, paymentsSent } from './shop-lines.ts';
import { type Acted, opOf, opsOf, type State } from './world.ts';

/** `known`: sentences that the transcript has shown in full. */
export function shown(before: State, { state, answer, steps = [], effects = [] }: Acted, known: Set<string>): string[] {
  // A call waits for its operation; if that does not end in time, the answer is 3.
  const isBegun = effects.some(({ type }) => type === 'send');
  const isWaiting = effects.some(({ type }) => type === 'wait' || type === 'sendAbort');
  return [
    ...(answer && !isBegun ? [answerLine(answer, known, isWaiting)] : []),
    ...(state.sent !== undefined && state !== before ? [sentLine(state, state.sent)] : []),
    ...state.stops.slice(before.stops.length).map((id) => `asked the terminal to stop ${id}`),
    ...opsOf(state).flatMap((op) =>
      changeOf(
        opsOf(before).find(({ id }) => id === op.id),
        op,
      ),
    ),
    ...devices(before, state),
    ...invoicesShown(before, state),
    ...effects.flatMap((effect) => (effect.type === 'unmatched' ? [`unmatched: ${effect.receiptId} at ${effect.deviceId}`] : [])),
    ...added(before, state),
    ...steps
      .filter(({ step }) => step !== 'contradiction')
      .map(({ operationId, step, detail }) => `timeline of ${operationId}: ${step}, ${detail}`),
  ];
}

function answerLine({ code, sentence, fields, report }: Answer, known: Set<string>, isWaiting: boolean): string {
  const { OID, State: standing, Operation, Remainder, Repeated, AlsoUnderThisNumber, Status, ReceiptID, PreviousStatus } = fields;
  const number = code === 'NoError' ? 0 : errorCodes[code].code;
  const parts = [
    String(number),
    ...(standing === undefined ? [] : [standing]),
    ...(OID === undefined ? [] : [OID]),
    ...(Operation === undefined ? [] : [`Operation ${Operation}`]),
    ...(Remainder === undefined ? [] : [`Remainder ${Remainder}`]),
    ...(Repeated === undefined ? [] : ['Repeated']),
    ...(AlsoUnderThisNumber ?? []).map((other) => `AlsoUnderThisNumber ${other.OID} ${other.State}`),
    ...(Status === undefined ? [] : [`Status ${Status}`]),
    ...(ReceiptID ? [`ReceiptID ${ReceiptID}`] : []),
    ...(PreviousStatus === undefined ? [] : [`PreviousStatus ${PreviousStatus}`]),
    ...(report ? [`report ${numbersOf(report)}`] : []),
  ];
  const condition = isWaiting ? ', if it does not end in time' : '';
  return parts.join(' ') + condition + (sentence === '' ? '' : `: ${shortened(sentence, known)}`);
}

const numbersOf = (report: Readonly<Record<string, unknown>>): string =>
  ['operationId', 'rrn', 'amount', 'receiptId', 'count', 'source']
    .filter((name) => report[name] !== undefined)
    .map((name) => `${name} ${String(report[name])}`)
    .join(' ') || '{}';

/** In full the first time, then its beginning. */
function shortened(sentence: string, known: Set<string>): string {
  const end = sentence.indexOf('. ');
  if (end < 0 || !known.has(sentence)) {
    known.add(sentence);
    return sentence;
  }
  return `${sentence.slice(0, end)}...`;
}

/** A receipt with its payments, as its register gets it. */
function sentLine(state: State, id: string): string {
  const receipt = opOf(state, id).args?.['receipt'];
  return receipt === undefined ? `sent ${id}` : `sent ${id}: ${paymentsSent(receipt as Receipt)}`;
}

function changeOf(before: Op | undefined, op: Op): string[] {
  if (!before) return op.kind === 'Abort' ? [`${op.id} Open: the request to stop ${op.targetId}`] : [];
  const isNews = before.standing !== op.standing || before.state !== op.state;
  const by = before.state === op.state ? '' : how(op);
  const review =
    op.review && !op.review.isClosed && (before.review?.reason !== op.review.reason || before.review.isClosed)
      ? [`review of ${op.id}: ${op.review.reason}`]
      : [];
  const isReviewed = before.review && !before.review.isClosed && op.review?.isClosed;
  return [
    ...(isNews ? [`${op.id} ${op.standing}${by}`] : []),
    ...(before.document !== op.document && op.document !== null ? [`document of ${op.id}: ${op.document}`] : []),
    ...(before.operationId !== op.operationId && isPayment(op) && !isNews
      ? [`numbers of ${op.id}: operationId ${op.operationId} rrn ${op.rrn}`]
      : []),
    ...(before.refundedBani !== op.refundedBani ? [`refunded of ${op.id}: ${formatLei(op.refundedBani)}`] : []),
    ...(before.printId !== op.printId
      ? [`${op.id} is on ${op.printId === null ? 'no receipt any more' : `the receipt ${op.printId}`}`]
      : []),
    ...review,
    ...(isReviewed ? [`review of ${op.id}: closed`] : []),
    ...(op.isUnconfirmed && !before.isUnconfirmed ? [`${op.id} is not confirmed by its hardware`] : []),
    ...(before.isUnconfirmed && !op.isUnconfirmed && op.state !== 'disputed' ? [`${op.id} needs no confirmation any more`] : []),
    ...(op.requestHash !== null && op.missedAt !== before.missedAt && op.missedAt !== null && before.missedAt === null
      ? [`the caller of ${op.id} does not have the outcome`]
      : []),
    ...(op.receivedAt !== null && before.receivedAt === null ? [`the caller of ${op.id} has the outcome`] : []),
    ...(op.removedAt !== null && before.removedAt === null ? [`${op.id} is removed`] : []),
    ...(String(op.attention) === String(before.attention) ? [] : [`on Attention, ${op.id}: ${op.attention?.join(', ') ?? 'nothing'}`]),
    ...(op.acceptedAt !== null && before.acceptedAt === null && !isNews ? [`${op.id} is accepted`] : []),
  ];
}

function how({ state, settledBy, disputedFrom }: Op): string {
  if (state === 'unknown') return ': the outcome is unknown';
  if (state === 'disputed') return `: settled as ${disputedFrom}`;
  return settledBy === null || state === 'sent' ? '' : `, by ${settledBy}`;
}

function devices(before: State, after: State): string[] {
  return Object.entries(after.ledger['device_locks'] ?? {}).flatMap(([id, row]) => {
    const shownNow = lockOf(rowOf('devices', row));
    const old = before.ledger['device_locks']?.[id];
    return old && lockOf(rowOf('devices', old)) === shownNow ? [] : [`${id}: ${shownNow}`];
  });
}

function lockOf({ commandId, documentId }: { commandId: string | null; documentId: string | null }): string {
  const parts = [...(commandId === null ? [] : [commandId]), ...(documentId === null ? [] : [`open document of ${documentId}`])];
  return parts.length === 0 ? 'free' : parts.join(', ');
}

const news = (before: State, after: State, table: string) =>
  Object.values(after.ledger[table] ?? {}).slice(Object.keys(before.ledger[table] ?? {}).length);

function added(before: State, after: State): string[] {
  return [
    ...news(before, after, 'callbacks').map((row) => {
      const receipt = row['receipt_id'] === null ? '' : `, ReceiptID ${row['receipt_id']}`;
      return `notice to the ERP: ${row['subject_id']} ${row['state']}${receipt}`;
    }),
    ...news(before, after, 'money_corrections').map(
      (row) => `money corrected: ${formatLei(row['amount_bani'] as number)} for ${row['operation_id']}`,
    ),
  ];
}

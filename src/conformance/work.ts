// Commands that the checks use, the smallest of each kind of device: a terminal takes payments; a register puts cash into the drawer, prints
// receipts, and takes cards if it can.

import { canonicalJson } from '../kernel/canonical-json.ts';
import { operationNamed } from '../kernel/operations.ts';
import type { JsonObject } from '../link/protocol.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import { describe, type Exam, type Order, type SendOptions } from './exam.ts';
import { must, untested } from './verdict.ts';

interface Asked {
  name: string;
  args: JsonObject;
}

const pay = ({ amount, newId }: { amount: number; newId: () => string }): Asked => ({
  name: 'Pay',
  args: { amount, currency: 'MDL', documentNr: newId() },
});

export function receiptOf(exam: Exam, paymentCode: number): Asked {
  const Items = [{ Name: 'Conformance', Quantity: 1, Price: exam.amount }];
  return { name: 'PrintReceipt', args: { receipt: { Number: 'C-1', Uid: exam.newId(), Items, Payments: [{ PaymentCode: paymentCode }] } } };
}

const cashPaymentCode = 0;
const cardPaymentCode = 1;

/** Normally ends `done`; at a terminal the customer must present a card. */
export function plainWork(exam: Exam): Asked {
  return exam.kind === 'terminal' ? payOf(exam) : { name: 'MoneyIn', args: { amount: exam.amount } };
}

/** Waits for a customer, so that checks can observe it while it runs. */
function waitingWork(exam: Exam): Asked {
  return exam.kind === 'terminal' ? payOf(exam) : receiptOf(exam, cardPaymentCode);
}

/** A receipt paid on a terminal before: for registers with the feature `paid`. */
export function paidReceipt(exam: Exam): Asked {
  const { name, args } = receiptOf(exam, cardPaymentCode);
  const receipt = args['receipt'] as JsonObject;
  const paid = { rrn: '000000000001', authCode: 'A00001', operationId: 'C-1', amount: exam.amount, documentNr: receipt['Uid'] };
  return { name, args: { receipt: { ...receipt, Payments: [{ PaymentCode: cardPaymentCode, Amount: exam.amount, paid }] } } };
}

export const cashReceipt = (exam: Exam): Asked => receiptOf(exam, cashPaymentCode);

function payOf(exam: Exam): Asked {
  return pay({ amount: exam.amount, newId: () => exam.newId() });
}

/** Sends the command, asks for a card if needed, and waits for the ending. */
export async function carryOut(exam: Exam, { name, args }: Asked): Promise<{ order: Order; ending: AnswerMessage }> {
  if (operationNamed(name).asksForCard) exam.person.tell(`Present a card and let the bank approve ${exam.amount.toFixed(2)} MDL.`);
  const order = await exam.order(name, args);
  const first = await exam.nextAnswer(order.id, 0);
  must(first !== undefined, `${name} was not answered within ${exam.pace.atOnceMs / 1000} s; accepted must be sent at once.`);
  return { order, ending: await exam.ending(order) };
}

/** Starts a command that waits for its customer. The check must end it, or `finish` does. */
export async function letWait(exam: Exam, options: SendOptions = {}): Promise<Order> {
  const { name, args } = waitingWork(exam);
  exam.person.tell('Do not present a card now.');
  const order = await exam.order(name, args, { answerInMs: exam.pace.customerMs, ...options });
  const first = await exam.nextAnswer(order.id, 0);
  must(first !== undefined, `${name} was not answered within ${exam.pace.atOnceMs / 1000} s; accepted must be sent at once.`);
  if (first.outcome === 'refused' && exam.kind === 'register') untested(`This register takes no cards: ${describe(first)}.`);
  must(first.outcome === 'accepted', `${name} was answered ${describe(first)} before accepted.`);
  exam.see(`${name} runs`);
  return order;
}

/** Observations of a running command are valid only if it still runs. */
export function stillRunning(exam: Exam, order: Order): void {
  if (exam.endingOf(order.id) !== undefined)
    untested(`${order.name} ended before it could be observed; let the customer take three seconds or more.`);
}

/** Ends all running commands, also those not accepted explicitly: by Abort, or by waiting for the customer. */
export async function finish(exam: Exam): Promise<void> {
  const untilMs = exam.elapsedMs() + exam.pace.customerMs;
  for (const { id } of exam.orders) {
    if (!exam.wasAccepted(id) || exam.endingOf(id) !== undefined || exam.givenUp.has(id)) continue;
    await exam.send('Abort', { target: id });
    const ending = await exam.bench.until(() => exam.endingOf(id), untilMs - exam.elapsedMs());
    if (ending === undefined) exam.givenUp.add(id);
  }
  while (exam.elapsedMs() < untilMs) {
    const question = await exam.send('LastTransaction', {});
    const received = await exam.bench.until(() => exam.bench.answersTo(question)[0], exam.pace.atOnceMs);
    const { state, commandId } = received?.answer.report ?? {};
    if (state !== 'running') return;
    await exam.send('Abort', { target: commandId });
    await exam.pause(lookAgainMs);
  }
}

const lookAgainMs = 500;

/** The orders that ended `done`, of these names. */
export function doneOf(exam: Exam, ...names: string[]): { order: Order; report: JsonObject }[] {
  return exam.orders.flatMap((order) => {
    const ending = exam.endingOf(order.id);
    return names.includes(order.name) && ending?.outcome === 'done' ? [{ order, report: ending.report ?? {} }] : [];
  });
}

/** Whether the device waits for a card. */
export function asksForCard({ name, args }: Order): boolean {
  const { asksForCard: always, prints } = operationNamed(name);
  if (always) return true;
  const { Payments = [] } = (args['receipt'] ?? {}) as { Payments?: { PaymentCode: number; paid?: object }[] };
  return prints === true && Payments.some(({ PaymentCode, paid }) => PaymentCode === cardPaymentCode && paid === undefined);
}

/** It was accepted, and its outcome is unknown. */
export function hasNoKnownEnd(exam: Exam, { id }: Order): boolean {
  const ending = exam.endingOf(id);
  return ending === undefined ? exam.wasAccepted(id) : ending.outcome === 'unknown';
}

/** The newest order that ended `done`. */
export function lastDone(exam: Exam): { order: Order; ending: AnswerMessage } {
  const found = doneOf(exam, plainWork(exam).name).at(-1);
  const ending = found && exam.endingOf(found.order.id);
  return found && ending ? { order: found.order, ending } : untested('No command has ended done before.');
}

export function isSameEnding(one: Pick<AnswerMessage, 'outcome' | 'report'>, other: Pick<AnswerMessage, 'outcome' | 'report'>): boolean {
  const essence = ({ outcome, report = {} }: Pick<AnswerMessage, 'outcome' | 'report'>) => canonicalJson({ outcome, report });
  return essence(one) === essence(other);
}

// CancelTransaction [D18]: a known operationId is voided; otherwise a payment that is still on the terminal under this documentNr is aborted.
//
// An abort asks; the payment's own answer tells. If we die after asking, the request is noted on the payment, and whoever settles
// it as refused also cancels its invoice [D19].
import { GatewayError } from '../kernel/error-codes.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { type Command, isOpen } from '../ledger/command.ts';
import type { DeviceAnswer } from '../ledger/rules.ts';
import { markAbortRequested } from '../ledger/store.ts';
import type { Outcome } from '../link/protocol.ts';
import { administrativeTimeoutMs, cannotApply, checkVoid, noSuchOperation, sameDocument } from './rules.ts';
import { findOperation, findPaymentOfDocument, isOperationKnown, lockPayment, refundedOf } from './store.ts';
import { type CardsDeps, requireTerminal, runOnTerminal, type TerminalCall } from './terminal.ts';

/** A terminal that says that it is too late may have ended the payment just now: its answer is on the way. */
const lastWordMs = 2_000;

export interface CancelRequest extends TerminalCall {
  documentNr: string;
  operationId: string;
  token: string;
  amountBani: Bani;
}

export async function cancelTransaction(deps: CardsDeps, request: CancelRequest): Promise<DeviceAnswer> {
  const device = await requireTerminal(deps, request);
  const { merchantId, operationId, token, amountBani } = request;
  const { queries } = deps.database;
  const documentNr = sameDocument(request.documentNr);
  const payment = await findOperation(queries, { merchantId, deviceId: device.id, operationId, documentNr });
  if (!payment) {
    if (await isOperationKnown(queries, { merchantId, deviceId: device.id, operationId })) throw noSuchOperation();
    const aborted = await deps.ledger.findByKey(request);
    const running = aborted?.name === 'Pay' ? aborted : await findPaymentOfDocument(queries, merchantId, documentNr);
    if (running?.deviceId !== device.id || (!isOpen(running) && running !== aborted)) throw noSuchOperation();
    return abort(deps, request, running);
  }
  return runOnTerminal(deps, request, device, {
    name: 'CancelTransaction',
    args: { documentNr, operationId, token, amount: baniToLei(amountBani) },
    answerWithinMs: administrativeTimeoutMs,
    amountBani,
    documentNr,
    operationId,
    targetId: payment.id,
    mayPass: payment.id,
    async guard(queries) {
      const locked = await lockPayment(deps.database, queries, payment.id);
      checkVoid(locked, { amountBani, refundedBani: await refundedOf(queries, payment.id) });
    },
  });
}

async function abort(deps: CardsDeps, request: CancelRequest, payment: Command): Promise<DeviceAnswer> {
  const { ledger, clock, database } = deps;
  if (!isOpen(payment)) return answerOfAborted(payment);
  if (!(await markAbortRequested(database.queries, payment.id))) throw tooLate();
  await ledger.keepKey(request, payment.id);
  const settling = ledger.follow(payment, clock.now() + administrativeTimeoutMs);
  // The payment's own answer may come before the Abort's, or instead of it.
  const word = await Promise.race([askToAbort(deps, payment), settling.then(() => undefined)]);
  const patienceMs = word === 'refused' ? lastWordMs : administrativeTimeoutMs;
  const settled = await Promise.race([settling, ledger.follow(payment, clock.now() + patienceMs)]);
  if (isOpen(settled) && word === 'refused') throw tooLate();
  return answerOfAborted(settled);
}

async function askToAbort({ link }: CardsDeps, payment: Command): Promise<Outcome | undefined> {
  const first = link.presence.of(payment.deviceId)?.liveOn[0] ?? 'mqtt';
  const answer = await link.ask(payment.deviceId, {
    name: 'Abort',
    args: { target: payment.id },
    timeoutMs: administrativeTimeoutMs,
    first,
  });
  return answer?.outcome;
}

/** 0 when the payment's own answer says that it was not made, 22 when it was too late [D18]. */
function answerOfAborted(payment: Command): DeviceAnswer {
  if (payment.state === 'done') throw tooLate();
  if (isOpen(payment)) {
    throw new GatewayError(
      'Timeout_or_no_response',
      'The terminal has not said yet whether the payment was stopped; its outcome is being settled.',
    );
  }
  return payment.report === null ? {} : { report: payment.report };
}

function tooLate(): GatewayError {
  return cannotApply('It is too late to stop the payment; learn its outcome by repeating Pay, and void it if it was approved.');
}

// CancelTransaction [D18]: a known operationId is voided; otherwise a payment that is still on the terminal under this documentNr is aborted.
//
// An abort asks; the payment's own answer tells. If we die after asking, the request is noted on the payment, and whoever settles
// it as refused also cancels its invoice [D19].
import { GatewayError } from '../kernel/error-codes.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { type Command, isOpen } from '../ledger/command.ts';
import { markAbortRequested } from '../ledger/store.ts';
import { administrativeTimeoutMs, cannotApply, checkVoid, noSuchOperation, sameDocument } from './rules.ts';
import { findOperation, findPaymentOfDocument, lockPayment, refundedOf } from './store.ts';
import { type CardsDeps, requireTerminal, runOnTerminal, type TerminalAnswer, type TerminalCall } from './terminal.ts';

export interface CancelRequest extends TerminalCall {
  documentNr: string;
  operationId: string;
  token: string;
  amountBani: Bani;
}

export async function cancelTransaction(deps: CardsDeps, request: CancelRequest): Promise<TerminalAnswer> {
  const device = await requireTerminal(deps, request);
  const { merchantId, operationId, token, amountBani } = request;
  const documentNr = sameDocument(request.documentNr);
  const payment = await findOperation(deps.database.queries, { merchantId, deviceId: device.id, operationId, documentNr });
  if (!payment) {
    const running = await findPaymentOfDocument(deps.database.queries, merchantId, documentNr);
    if (running?.deviceId !== device.id || !isOpen(running)) throw noSuchOperation();
    return abort(deps, running);
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

async function abort(deps: CardsDeps, payment: Command): Promise<TerminalAnswer> {
  const deadlineMs = deps.clock.now() + administrativeTimeoutMs;
  await markAbortRequested(deps.database.queries, payment.id);
  const first = deps.link.presence.of(payment.deviceId)?.liveOn[0] ?? 'mqtt';
  const answer = await deps.link.ask(payment.deviceId, {
    name: 'Abort',
    args: { target: payment.id },
    timeoutMs: administrativeTimeoutMs,
    first,
  });
  if (answer?.outcome === 'refused') throw tooLate();
  const settled = await deps.ledger.follow(payment, deadlineMs);
  if (settled.state === 'done') throw tooLate();
  if (isOpen(settled)) {
    throw new GatewayError(
      'Timeout_or_no_response',
      'The terminal has not said yet whether the payment was stopped; its outcome is being settled.',
    );
  }
  return settled.report === null ? {} : { report: settled.report };
}

function tooLate(): GatewayError {
  return cannotApply('It is too late to stop the payment; learn its outcome by repeating Pay, and void it if it was approved.');
}

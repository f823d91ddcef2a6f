// CancelTransaction [D18]: a known operationId is voided; otherwise a payment that is still on the terminal under this documentNr is aborted.
//
// An abort asks; the payment's own answer tells. If we die after asking, the request is noted on the payment, and whoever settles
// it as refused also cancels its invoice [D19].
import { GatewayError } from '../kernel/error-codes.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { type Command, isOpen } from '../ledger/command.ts';
import { requireKept } from '../ledger/removed.ts';
import type { DeviceAnswer } from '../ledger/rules.ts';
import { requireDevice, runOnDevice } from '../ledger/run-on-device.ts';
import { markAbortRequested } from '../ledger/store.ts';
import type { Outcome } from '../link/protocol.ts';
import { administrativeTimeoutMs, checkVoid, noSuchOperation, sameDocument } from './rules.ts';
import { findOperation, findPaymentOfDocument, isOperationKnown, lockPayment, refundedOf } from './store.ts';
import type { CardsDeps, TerminalCall } from './terminal.ts';

/** A terminal that says that it is too late may have ended the payment just now: its answer is on the way. */
const lastWordMs = 2_000;

export interface CancelRequest extends TerminalCall {
  documentNr: string;
  operationId: string;
  token: string;
  amountBani: Bani;
}

export async function cancelTransaction(deps: CardsDeps, request: CancelRequest): Promise<DeviceAnswer> {
  const { merchantId, deviceId, operationId, token, amountBani } = request;
  const { queries } = deps.database;
  const documentNr = sameDocument(request.documentNr);
  const earlier = await deps.ledger.findByKey(request);
  if (earlier?.name === 'Pay') return abort(deps, request, earlier);
  const payment = await findOperation(queries, { merchantId, deviceId, operationId, documentNr });
  if (!payment && !earlier) return abort(deps, request, await requireRunning(deps, request, documentNr));
  return runOnDevice(deps, 'terminal', request, {
    plan() {
      if (!payment) throw noSuchOperation();
      requireKept(payment);
      return {
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
      };
    },
  });
}

/** The payment under this documentNr that is still on the terminal; 20 without one, and when the operationId is another payment's. */
async function requireRunning(deps: CardsDeps, request: CancelRequest, documentNr: string): Promise<Command> {
  const { merchantId, deviceId, operationId } = request;
  const { queries } = deps.database;
  await requireDevice(deps, 'terminal', request);
  if (await isOperationKnown(queries, { merchantId, deviceId, operationId })) throw noSuchOperation();
  const running = await findPaymentOfDocument(queries, merchantId, documentNr);
  if (running?.deviceId !== deviceId || !isOpen(running)) throw noSuchOperation();
  return running;
}

async function abort(deps: CardsDeps, request: CancelRequest, payment: Command): Promise<DeviceAnswer> {
  const { ledger, clock, database } = deps;
  if (!isOpen(payment)) return answerOfAborted(payment);
  if (!(await markAbortRequested(database.queries, payment.id))) throw tooLate(payment);
  await ledger.keepKey(request, payment.id);
  const settling = ledger.follow(payment, clock.now() + administrativeTimeoutMs);
  // The payment's own answer may come before the Abort's, or instead of it.
  const word = await Promise.race([askToAbort(deps, payment), settling.then(() => undefined)]);
  const patienceMs = word === 'refused' ? lastWordMs : administrativeTimeoutMs;
  const settled = await Promise.race([settling, ledger.follow(payment, clock.now() + patienceMs)]);
  if (isOpen(settled) && word === 'refused') throw tooLate(payment);
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
  if (payment.state === 'done') throw tooLate(payment);
  if (isOpen(payment)) {
    throw new GatewayError(
      'Timeout_or_no_response',
      'The terminal has not said yet whether the payment was stopped; its outcome is being settled, and GET Device/Operation/Status with this OID tells it.',
      { fields: { OID: payment.id } },
    );
  }
  return { OID: payment.id, ...(payment.report === null ? {} : { report: payment.report }) };
}

function tooLate(payment: Command): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    'It is too late to stop the payment; learn its outcome by GET Device/Operation/Status with this OID, and void it if it was approved.',
    { fields: { OID: payment.id } },
  );
}

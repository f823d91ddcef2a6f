// CancelTransaction [D18]: voids the payment with the operationId; otherwise aborts the payment that is still on the terminal under the
// documentNr; without any payment, withdraws the unpaid invoice whose OID is the documentNr [D142].
import { GatewayError } from '../kernel/error-codes.ts';
import { parseUuid, sameNumber } from '../kernel/ids.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { operationOf } from '../kernel/operations.ts';
import { type DeviceAnswer, disputed, fieldsOf } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { findPaymentOfDocument } from '../ledger/claims.ts';
import { type Command, isOpen } from '../ledger/command.ts';
import { newestUnder } from '../ledger/operation-status.ts';
import { requireKept } from '../ledger/removed.ts';
import { requireDevice, runOnDevice } from '../ledger/run-on-device.ts';
import { type Follower, type Standing, standingOf } from '../ledger/standing.ts';
import { followersOf, lastIssueOf } from '../ledger/store.ts';
import { abort, abortHashOf } from './abort.ts';
import { findUndeliveredAbort } from './abort-store.ts';
import type { CardsDeps } from './cards-deps.ts';
import { cannotApply, chargedByRegister, checkVoid, howToReturn, noSuchOperation } from './rules.ts';
import { findOperation, isOperationKnown, lockUndisputed } from './store.ts';

export interface CancelRequest extends DeviceCall {
  documentNr: string;
  operationId: string;
  /** The id of the payment, if the caller knows it. */
  paymentId?: string | undefined;
  token: string;
  amountBani: Bani;
  /** The key does not open POS, so only an invoice can be cancelled. */
  isForInvoices?: boolean;
}

export interface CancelAnswer extends DeviceAnswer {
  /** Of an invoice that was withdrawn: its state before. */
  PreviousStatus?: number;
}

export async function cancelTransaction(deps: CardsDeps, request: CancelRequest): Promise<CancelAnswer> {
  const { merchantId, deviceId, operationId, token, amountBani } = request;
  const { queries } = deps.database;
  const documentNr = sameNumber(request.documentNr);
  const earlier = await deps.ledger.findByKey(request);
  if (request.isForInvoices) return withdrawOnly(deps, request, documentNr, earlier);
  if (earlier?.name === 'Pay') {
    const next = await triedAgain(deps, earlier, documentNr);
    if (next) throw keyOfEarlierTry(next, await followersOf(queries, next));
    return abort(deps, request, earlier);
  }
  const abortHash = abortHashOf(request);
  const undelivered =
    abortHash === undefined ? undefined : await findUndeliveredAbort(queries, { merchantId, deviceId, documentNr, abortHash });
  if (undelivered && !(await triedAgain(deps, undelivered, documentNr))) return abort(deps, request, undelivered);
  const { paymentId } = request;
  const payment = await findOperation(queries, { paymentId, merchantId, deviceId, operationId, documentNr });
  if (payment) deps.ledger.outcomeDelivery.inferred(payment, request.origin?.caller);
  if (!payment && !earlier) {
    const previous = await withdraw(deps, request, documentNr);
    if (previous !== undefined && previous !== 'held') return { PreviousStatus: previous };
    await requireDevice(deps, 'terminal', request);
    if (previous === 'held') await requirePaidHere(deps, request, documentNr);
    return abort(deps, request, await requireRunning(deps, request, documentNr));
  }
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: true,
    async plan() {
      if (!payment) throw noSuchOperation();
      requireKept(payment, await followersOf(queries, payment));
      return {
        name: 'CancelTransaction',
        args: { documentNr, operationId, token, amount: baniToLei(amountBani) },
        amountBani,
        documentNr,
        operationId,
        targetId: payment.id,
        beside: 'its document',
        async guard(queries) {
          const { payment: locked, followers } = await lockUndisputed(deps.database, queries, payment.id);
          checkVoid(locked, followers, amountBani);
        },
      };
    },
  });
}

/** An operationId of another payment is a mistake of a caller that means that payment: no invoice is withdrawn. */
async function withdraw(deps: CardsDeps, request: CancelRequest, documentNr: string): Promise<number | 'held' | undefined> {
  const { merchantId, idempotency, origin } = request;
  const oid = parseUuid(documentNr);
  if (oid === undefined || (await isOperationKnown(deps.database.queries, request))) return undefined;
  return deps.invoices.withdraw({ oid, merchantId, by: origin?.caller, idempotency });
}

/** If the payment is on another terminal, 20 would be wrong: a till would take cash for a charged invoice [D245]. */
async function requirePaidHere({ database }: CardsDeps, { merchantId, deviceId }: CancelRequest, documentNr: string): Promise<void> {
  const payment = await findPaymentOfDocument(database.queries, merchantId, documentNr);
  if (!payment || payment.deviceId === deviceId) return;
  const followers = await followersOf(database.queries, payment);
  if (standingOf(payment, followers) === 'disputed') throw disputed(fieldsOf(payment, followers));
  const advice = isOpen(payment) ? 'Stop it there.' : howToReturn(payment, followers);
  const sentence = `A card payment for this invoice is open or was made on another terminal, so the invoice cannot be cancelled; a call about the payment must name that terminal. ${advice}`;
  throw cannotApply(sentence, fieldsOf(payment, followers));
}

async function withdrawOnly(
  deps: CardsDeps,
  request: CancelRequest,
  documentNr: string,
  earlier: Command | undefined,
): Promise<CancelAnswer> {
  const previous = earlier ? undefined : await withdraw(deps, request, documentNr);
  if (previous === undefined) {
    const sentence = 'APIKey does not open the module POS, and documentNr is not the OID of an invoice that can be cancelled.';
    throw new GatewayError('API_Key_Wrong_Product', sentence);
  }
  if (previous === 'held') {
    throw cannotApply(
      'A card payment for this invoice is open or was made, so the invoice cannot be cancelled; to stop or void the payment, use a key that opens POS.',
    );
  }
  return { PreviousStatus: previous };
}

/** A newer payment under this documentNr on the same terminal: the caller would take the answer "stopped" as about this one. */
async function triedAgain({ database }: CardsDeps, payment: Command, documentNr: string): Promise<Command | undefined> {
  const holder = await findPaymentOfDocument(database.queries, payment.merchantId, documentNr);
  if (holder?.deviceId !== payment.deviceId) return undefined;
  const { id } = await lastIssueOf(database.queries, payment);
  return holder.id === id ? undefined : holder;
}

function keyOfEarlierTry(next: Command, followers: readonly Follower[]): GatewayError {
  const sentence =
    'This Idempotency-Key belongs to the abort of an earlier attempt, and the payment was begun again since. To stop or void it, use a new Idempotency-Key.';
  return cannotApply(sentence, fieldsOf(next, followers));
}

/**
 * The payment under this documentNr that is still on the terminal; 20 if there is none, or if the operationId is another payment's. If it
 * has ended meanwhile, 22 with its State, so that no till takes cash for a charged sale [D141].
 */
async function requireRunning(deps: CardsDeps, request: CancelRequest, documentNr: string): Promise<Command> {
  const { merchantId, deviceId, operationId } = request;
  const { queries } = deps.database;
  if (await isOperationKnown(queries, { merchantId, deviceId, operationId })) throw noSuchOperation();
  const payment = await newestUnder(queries, merchantId, 'document_nr', documentNr);
  if (payment && !operationOf(payment.name).isPayment) throw chargedByRegister(payment);
  if (payment?.deviceId !== deviceId) throw noSuchOperation();
  if (!isOpen(payment)) throw endedMeanwhile(payment, await followersOf(queries, payment));
  return payment;
}

const endedSentences: Record<Exclude<Standing, 'open' | 'disputed'>, string> = {
  done: 'The payment was approved in the meantime: it is charged.',
  closed: 'The payment was approved and its document is closed: it is charged.',
  voided: 'The payment is voided already: nothing is charged any more.',
  refunded: 'The payment was approved and refunded in full already.',
  refused: 'The payment was refused: nothing was charged, and there is nothing to cancel.',
  never: 'The payment did not begin: nothing was charged, and there is nothing to cancel.',
};

function endedMeanwhile(payment: Command, followers: readonly Follower[]): GatewayError {
  const standing = standingOf(payment, followers);
  const fields = fieldsOf(payment, followers);
  if (standing === 'open' || standing === 'disputed') return disputed(fields);
  const advice = standing === 'done' || standing === 'closed' ? ` ${howToReturn(payment, followers)}` : '';
  return cannotApply(endedSentences[standing] + advice, fields);
}

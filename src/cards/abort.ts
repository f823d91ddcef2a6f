// Stopping a payment that is still on the terminal [D18]. An Abort is only a request; the payment's own answer decides.
//
// The payment is marked before the terminal is asked: its settlement as not done then also cancels its invoice [D19].
// If the terminal refuses, the mark is removed before the answer 22: if the bank declines later, that was not this abort.
// The answer is 0 only after the invoice is cancelled, too.
//   crash after the mark .............. the mark stays: the caller wanted to stop the payment and has no other answer
//   crash after the mark's removal .... the caller was not answered 0, and nothing is cancelled
//   two aborts at once ................ each removes only its own mark, so a refusal of the older one keeps the mark of the newer one;
//                                       an older one that succeeds marks the payment again
//   caller disconnected, or got 3 ..... the same request again gets the outcome [D58]
//   payment expired by a wrong clock .. the command as which it was issued again is aborted, unless the mark prevented the reissue
//   database failure .................. before the Abort is sent: 2, and no mark stays that this call could remove; after it: 3 [D59],
//                                       a mark that could not be removed stays, and 22 was not answered
import { isDatabaseDown } from '../database/errors.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { type DeviceAnswer, disputed, fieldsOf } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { type Command, isOpen, namesOf } from '../ledger/command.ts';
import { standingOf } from '../ledger/standing.ts';
import { findCommand, followersOf, lastIssueOf } from '../ledger/store.ts';
import type { Outcome } from '../link/protocol.ts';
import { confirmAbort, forgetAbortCaller, markAbortRequested, withdrawAbort } from './abort-store.ts';
import type { CardsDeps } from './cards-deps.ts';
import { abortTimeoutMs } from './rules.ts';

/** If the terminal refuses the Abort, it may have just ended the payment: its answer is on the way. */
const finalAnswerMs = 2_000;

export async function abort(deps: CardsDeps, request: DeviceCall, asked: Command): Promise<DeviceAnswer> {
  const payment = await lastIssueOf(deps.database.queries, asked);
  const isOver = !isOpen(payment);
  const fields = { OID: payment.id, ...(isOver && !request.idempotency ? { Repeated: true } : {}) };
  const ended = isOver ? payment : await askAndWait(deps, request, payment);
  if (ended && ended.id !== payment.id) return abortNext(deps, request, ended);
  if (ended && isOpen(ended)) throw stillUnclear(fields);
  // A payment that ended during this call has none yet.
  const followers = isOver ? await followersOf(deps.database.queries, payment) : [];
  const answered = { ...fieldsOf(ended ?? payment, followers), ...fields };
  if (ended && standingOf(ended, followers) === 'disputed') throw disputed(answered);
  recordAnswered(deps, request, payment);
  if (!ended || ended.state === 'done' || ended.abortRequestedAtMs === null) throw tooLate(answered);
  return { ...answered, ...(ended.report === null ? {} : { report: ended.report }) };
}

/** Aborts the reissued command. An Abort of the first one may have been sent, so from here on a failure of the gateway is 3 [D59]. */
async function abortNext(deps: CardsDeps, request: DeviceCall, reissued: Command): Promise<DeviceAnswer> {
  try {
    return await abort(deps, request, reissued);
  } catch (error) {
    throw isDatabaseDown(error) ? stillUnclear({ OID: reissued.id }) : error;
  }
}

/** The payment after the Abort, or the command as which it was issued again. Undefined: the terminal refused, and the payment continues. */
async function askAndWait(deps: CardsDeps, request: DeviceCall, payment: Command): Promise<Command | undefined> {
  const { ledger, database, random } = deps;
  const abortId = random.uuid();
  const abortHash = abortHashOf(request);
  await ledger.keepKey(request, payment.id);
  if (!(await markAbortRequested(database.queries, payment.id, abortId, abortHash))) {
    const settled = (await findCommand(database.queries, payment.id)) ?? payment;
    return lastIssueOf(database.queries, settled);
  }
  const settling = ledger.waitFor(payment, abortTimeoutMs);
  const asking = askToAbort(deps, payment).catch(async (error: unknown) => {
    // Too many calls wait, so nothing was sent: if the bank declines the payment later, that was not this abort.
    await withdrawAbort(database.queries, payment.id, abortId);
    throw error;
  });
  // The payment's own answer may come before the Abort's, or instead of it.
  const word = await Promise.race([asking, settling.then(() => undefined)]);
  try {
    const isRefused = word === 'refused' || word === 'unsupported';
    if (isRefused) await withdrawAbort(database.queries, payment.id, abortId);
    const settled = await Promise.race([settling, ledger.waitFor(payment, isRefused ? finalAnswerMs : abortTimeoutMs)]);
    if (isOpen(settled)) return isRefused ? undefined : settled;
    if (settled.reissuedAs !== null) return await lastIssueOf(database.queries, settled);
    return settled.state === 'done' ? settled : await confirm(deps, settled);
  } catch (error) {
    deps.logger.error({ err: error, ...namesOf(payment) }, 'an Abort was sent, and its outcome could not be stored');
    return payment;
  }
}

/** The payment was not made. Before that is answered, its invoice is cancelled too, unless the settlement has done so. */
async function confirm({ database, invoices, callbacks }: CardsDeps, payment: Command): Promise<Command> {
  if (payment.abortRequestedAtMs !== null) return payment;
  const oid = parseUuid(payment.documentNr);
  const confirmed = await database.transaction(async (queries) => {
    if (oid !== undefined) await invoices.lock(queries, oid, payment.merchantId);
    const marked = await confirmAbort(queries, payment.id);
    if (marked?.documentNr != null)
      await invoices.cancelUnpaidInvoice(queries, marked.documentNr, marked.merchantId, 'The card payment was aborted.');
    return marked;
  });
  callbacks.wake();
  return confirmed ?? payment;
}

async function askToAbort({ link }: CardsDeps, payment: Command): Promise<Outcome | undefined> {
  const preferredChannel = link.presence.of(payment.deviceId)?.liveOn[0] ?? 'mqtt';
  const answer = await link.ask(payment.deviceId, {
    name: 'Abort',
    args: { target: payment.id },
    timeoutMs: abortTimeoutMs,
    preferredChannel,
  });
  return answer?.outcome;
}

/** Identifies a repeat of an abort without a key. */
export function abortHashOf({ idempotency, hashRequest }: DeviceCall): string | undefined {
  return idempotency ? undefined : hashRequest?.();
}

/** From now on the same request is a new one; if that cannot be stored, it gets the same answer once more. */
function recordAnswered({ database, logger }: CardsDeps, request: DeviceCall, payment: Command): void {
  const abortHash = abortHashOf(request);
  if (abortHash === undefined) return;
  const forget = (isReceived: boolean) => (isReceived ? forgetAbortCaller(database.queries, payment.id, abortHash) : undefined);
  (request.recipient?.received ?? Promise.resolve(true))
    .then(forget)
    .catch((error: unknown) => logger.warn({ err: error, ...namesOf(payment) }, 'an answered abort could not be recorded as such'));
}

function stillUnclear(fields: object): GatewayError {
  const sentence = 'It is not known yet whether the payment was stopped. Ask GET Device/Operation/Status with this OID.';
  return new GatewayError('Timeout_or_no_response', sentence, { fields });
}

function tooLate(fields: object): GatewayError {
  const sentence =
    'It is too late to stop the payment. Ask GET Device/Operation/Status with this OID for its outcome, and void it if it was approved.';
  return new GatewayError('The_status_cannot_be_applied', sentence, { fields });
}

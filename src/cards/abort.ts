// Stopping a payment that is still on the terminal [D18]. An abort asks; the payment's own answer tells.
//
// The request is marked on the payment before the terminal is asked: a settlement as not made then also cancels its invoice [D19].
// If the terminal refuses, the mark is taken back before the answer 22: what the bank declines later was not our abort.
// 0 is only said when the invoice is cancelled, too.
//   we die after the mark ............ the mark stays: the caller wanted it stopped, and has no other answer
//   we die after the withdrawal ...... the caller was not answered 0, and nothing is cancelled
//   two at once ...................... each takes back its own mark only, so the newer one's request outlives the older one's refusal;
//                                      an older one that succeeds marks the payment again
//   the caller hung up, or got 3 ..... the same request again gets how it ended [D58]
//   it expired by a wrong clock ...... what it went out as once more is aborted, unless the mark kept it from going out
//   the database fails ............... before the Abort goes out 2, and no mark is left that this call could take back; after it 3 [D59]:
//                                      a mark that could not be taken back stays, and 22 was not answered
import { isDatabaseDown } from '../database/errors.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { type DeviceAnswer, disputed, fieldsOf } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { type Command, isOpen, namesOf } from '../ledger/command.ts';
import { findCommand, lastIssueOf } from '../ledger/store.ts';
import type { Outcome } from '../link/protocol.ts';
import { confirmAbort, forgetAbortCaller, markAbortRequested, withdrawAbort } from './abort-store.ts';
import type { CardsDeps } from './cards-deps.ts';
import { abortTimeoutMs } from './rules.ts';

/** A terminal that says that it is too late may have ended the payment just now: its answer is on the way. */
const lastWordMs = 2_000;

export async function abort(deps: CardsDeps, request: DeviceCall, asked: Command): Promise<DeviceAnswer> {
  const payment = await lastIssueOf(deps.database.queries, asked);
  const isOver = !isOpen(payment);
  const fields = { OID: payment.id, ...(isOver && !request.idempotency ? { Repeated: true } : {}) };
  const ended = isOver ? payment : await askAndWait(deps, request, payment);
  if (ended && ended.id !== payment.id) return abortNext(deps, request, ended);
  if (ended && isOpen(ended)) throw stillUnclear(fields);
  if (ended?.state === 'disputed') throw disputed({ ...fieldsOf(ended), ...fields });
  noteTold(deps, request, payment);
  const answered = { ...fieldsOf(ended ?? payment), ...fields };
  if (!ended || ended.state === 'done' || ended.abortRequestedAtMs === null) throw tooLate(answered);
  return { ...answered, ...(ended.report === null ? {} : { report: ended.report }) };
}

/** What it went out as once more. An Abort may have gone out for the first one: from here on a failure of ours is 3 [D59]. */
async function abortNext(deps: CardsDeps, request: DeviceCall, reissued: Command): Promise<DeviceAnswer> {
  try {
    return await abort(deps, request, reissued);
  } catch (error) {
    throw isDatabaseDown(error) ? stillUnclear({ OID: reissued.id }) : error;
  }
}

/**
 * The payment as it stands afterwards, or what it went out as once more; undefined when the terminal said no and the payment goes on.
 */
async function askAndWait(deps: CardsDeps, request: DeviceCall, payment: Command): Promise<Command | undefined> {
  const { ledger, clock, database, random } = deps;
  const abortId = random.uuid();
  const abortHash = abortHashOf(request);
  await ledger.keepKey(request, payment.id);
  if (!(await markAbortRequested(database.queries, payment.id, abortId, abortHash))) {
    const settled = (await findCommand(database.queries, payment.id)) ?? payment;
    return lastIssueOf(database.queries, settled);
  }
  const settling = ledger.waitFor(payment, clock.now() + abortTimeoutMs);
  const asking = askToAbort(deps, payment).catch(async (error: unknown) => {
    // Too many calls wait, so nothing went out: a payment that the bank declines later was not stopped by us.
    await withdrawAbort(database.queries, payment.id, abortId);
    throw error;
  });
  // The payment's own answer may come before the Abort's, or instead of it.
  const word = await Promise.race([asking, settling.then(() => undefined)]);
  try {
    const isRefused = word === 'refused' || word === 'unsupported';
    if (isRefused) await withdrawAbort(database.queries, payment.id, abortId);
    const settled = await Promise.race([settling, ledger.waitFor(payment, clock.now() + (isRefused ? lastWordMs : abortTimeoutMs))]);
    if (isOpen(settled)) return isRefused ? undefined : settled;
    if (settled.reissuedAs !== null) return await lastIssueOf(database.queries, settled);
    return settled.state === 'done' ? settled : await confirm(deps, settled);
  } catch (error) {
    deps.logger.error({ err: error, ...namesOf(payment) }, 'an Abort was sent and how it ended could not be written down');
    return payment;
  }
}

/** The payment was not made, and we are about to say so: its invoice goes too, unless that has happened with the settlement. */
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

/** By what a repeat of it is recognised if it brings no key. */
export function abortHashOf({ idempotency, hashRequest }: DeviceCall): string | undefined {
  return idempotency ? undefined : hashRequest?.();
}

/** The same request again is a new one from now on; if that cannot be written, it only gets the same answer once more. */
function noteTold({ database, logger }: CardsDeps, request: DeviceCall, payment: Command): void {
  const abortHash = abortHashOf(request);
  if (abortHash === undefined) return;
  const forget = (isReceived: boolean) => (isReceived ? forgetAbortCaller(database.queries, payment.id, abortHash) : undefined);
  (request.recipient?.received ?? Promise.resolve(true))
    .then(forget)
    .catch((error: unknown) => logger.warn({ err: error, ...namesOf(payment) }, 'that an abort was answered could not be written'));
}

function stillUnclear(fields: object): GatewayError {
  const sentence = 'It is not known yet whether the payment was stopped; GET Device/Operation/Status with this OID tells its outcome.';
  return new GatewayError('Timeout_or_no_response', sentence, { fields });
}

function tooLate(fields: object): GatewayError {
  const sentence =
    'It is too late to stop the payment; learn its outcome by GET Device/Operation/Status with this OID, and void it if it was approved.';
  return new GatewayError('The_status_cannot_be_applied', sentence, { fields });
}

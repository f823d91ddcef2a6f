// What a device says about a command [D304]. Its answer is compared once with the journal that it comes from:
//
//   open .......... done from any journal; not executed only from the journal under whose id it was sent, and only if it was not accepted.
//                   Everything else is for a person
//   settled ....... the same again has no effect. `done` about what counts as not executed, or a denial of a person's "done": disputed.
//                   A denial of the device's own "done", or a second operation: it stays done, and is for a person [D49]
//   CloseDoc ...... moves no money, so `done` after all settles it without a person [D143]
import { quoted, shortened } from '../../kernel/device-texts.ts';
import { isExactNumber } from '../../kernel/exact-json.ts';
import { formatLei, parseAmount } from '../../kernel/money.ts';
import { operationOf } from '../../kernel/operations.ts';
import { isLongerThan, isPlainText } from '../../kernel/receipt.ts';
import type { Draft, Ending, Op, OpState, Report, Review, Source } from '../case.ts';
import type { Of, ReportEvent } from '../event.ts';
import { isAbort, isCloseDoc, isOpen, isPayment, isPrint, isUnexecuted } from './facts.ts';
import { changed, nothing, type Ruled } from './ruled.ts';

export function report(c: Draft, event: ReportEvent): Ruled {
  const op = c.ops[event.id];
  if (!op) return nothing;
  return isOpen(op) ? judge(c, op, event) : compare(c, op, event);
}

/** A device without a journal got one copy, and its answers refer to that copy; but its `never` proves nothing. */
const isOwn = (op: Op, { outcome, journalId }: ReportEvent): boolean =>
  op.journalId === null ? outcome !== 'never' : journalId === op.journalId;

const settledAs: Readonly<Record<Exclude<Ending, 'unknown'>, 'done' | 'refused' | 'never'>> = {
  done: 'done',
  refused: 'refused',
  unsupported: 'refused',
  busy: 'never',
  expired: 'never',
  never: 'never',
};

function judge(c: Draft, op: Op, event: ReportEvent): Ruled {
  const { outcome, source } = event;
  const doubt = outcome === 'done' ? doubtOf(op, event.report ?? {}) : undefined;
  const why = doubt ?? unusable(op, event);
  if (why === undefined && outcome !== 'unknown') return settle(c, op, settledAs[outcome], source, event);
  const isEnded = doubt !== undefined || (outcome === 'unknown' && isOwn(op, event));
  if (op.state === 'unknown' && op.review?.reason === why && !op.review?.isClosed && (op.isEndedUnknown || !isEnded)) return nothing;
  op.state = 'unknown';
  op.isEndedUnknown ||= isEnded;
  op.review = reviewOf(c, op, why ?? '');
  return changed(op.id);
}

/** Why the answer settles nothing; undefined: it settles. */
function unusable(op: Op, event: ReportEvent): string | undefined {
  const { outcome, reason, wasAccepted } = event;
  if (outcome === 'done') return undefined;
  if (outcome === 'unknown') return `The device cannot tell how the command ended${reason ? `: ${reason}` : '.'}`;
  const isNever = settledAs[outcome] === 'never';
  if (isNever && (op.acceptedAt !== null || wasAccepted)) return 'The device had accepted the command and now says that it never began.';
  // It, or other hardware, has reported an end that could not be believed.
  if (isNever && op.isEndedUnknown) return 'The device had finished the command and now says that it never began.';
  if (isOwn(op, event)) return undefined;
  const says = isNever ? 'that the command never began' : `"${outcome}"`;
  return `The device says ${says}, but its journal is not the one the command was sent under.`;
}

const reviewOf = (c: Draft, op: Op, reason: string): Review => ({
  since: op.review && !op.review.isClosed ? op.review.since : c.now,
  reason,
  isClosed: false,
});

/** The one settlement. Its date is that of the money and does not move afterwards [D303]. */
export function settle(c: Draft, op: Op, state: OpState, source: Source, event: ReportEvent | undefined): Ruled {
  op.state = state;
  op.settledAt ??= c.now;
  op.settledBy = source;
  op.outcome = event?.outcome ?? null;
  op.report = event?.report ?? null;
  op.reason = event?.reason ?? null;
  if (op.review) op.review = { ...op.review, isClosed: true };
  if (event?.wasAccepted) op.acceptedAt ??= c.now;
  if (event && isOwn(op, event)) op.isConfirmed = true;
  if (state === 'done' && event?.report) takeNumbers(op, event.report);
  return changed(op.id);
}

/** Fields of a report of `done` that later calls search by. */
function takeNumbers(op: Op, said: Report): void {
  if (isPayment(op)) {
    op.operationId = said['operationId'] as string;
    op.rrn = said['rrn'] as string;
  }
  const receiptId = textOf(said['receiptId']);
  if (isPrint(op) && receiptId !== undefined)
    op.receiptId = isLongerThan(receiptId, maxLength.receiptId) || !isPlainText(receiptId) ? null : receiptId;
}

/** A number may have more digits than JavaScript can hold. */
function textOf(value: unknown): string | undefined {
  if (isExactNumber(value)) return value.rawJSON;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Characters that a number of the bank or of a receipt may have. */
const maxLength = { operationId: 128, rrn: 64, receiptId: 128 };

/** A sentence if a report of `done` is implausible, so that a person must check it. */
function doubtOf(op: Op, said: Report): string | undefined {
  if (isPayment(op) && !(isName(said['rrn'], maxLength.rrn) && isName(said['operationId'], maxLength.operationId)))
    return 'The terminal reported an approval without a usable rrn and operationId.';
  const hasAmount = op.kind !== 'Abort' && operationOf(op.kind).device === 'terminal' && 'amount' in operationOf(op.kind).args.properties;
  if (!hasAmount || (said['amount'] === undefined && !isPayment(op)) || parseAmount(said['amount']) === op.amountBani) return undefined;
  const what = isPayment(op) ? `an approval of ${quoted(said['amount'])}` : quoted(said['amount']);
  return `The terminal reported ${what} instead of ${formatLei(op.amountBani ?? 0)}.`;
}

/** A number that later calls can name, and that both databases can store and find. */
const isName = (value: unknown, maxCharacters: number): boolean =>
  typeof value === 'string' && value !== '' && !isLongerThan(value, maxCharacters) && isPlainText(value);

function compare(c: Draft, op: Op, event: ReportEvent): Ruled {
  const { outcome } = event;
  const own = isOwn(op, event);
  if (outcome !== 'done' && !own) return step(c, op, 'answered by other hardware', outcome);
  const contradiction = shortOf(event);
  const doubt = outcome === 'done' ? (secondOperation(op, event) ?? doubtOf(op, event.report ?? {})) : undefined;
  // Other hardware has said it before; now the one says it that can know.
  const isFirstOwn = own && !op.isConfirmed && outcome === 'done' && isUnexecuted(op);
  if (agrees(op, outcome, doubt) || (contradiction === op.contradiction && !isFirstOwn)) return confirmed(c, op, event, own);
  const isDenied = outcome !== 'done' && op.outcome === 'done';
  if (isDenied || (outcome === 'done' && op.state === 'done') || op.removedAt !== null)
    return flag(c, op, contradiction, doubt ?? denial(op, outcome), event);
  if (outcome === 'done' && isCloseDoc(op) && !(op.state === 'disputed' && op.disputedFrom === 'done'))
    return settle(c, op, 'done', event.source, event);
  return dispute(c, op, contradiction, [denial(op, outcome), doubt], event);
}

function agrees(op: Op, outcome: Ending, doubt: string | undefined): boolean {
  if (outcome === 'unknown') return true;
  return outcome === 'done' ? op.state === 'done' && doubt === undefined : isUnexecuted(op);
}

/** The device's own answer confirms a person's decision, and completes it once with the numbers that the person did not have [D308]. */
function confirmed(c: Draft, op: Op, event: ReportEvent, own: boolean): Ruled {
  step(c, op, own ? 'answered again' : 'answered by other hardware', event.outcome);
  const isNews = own && !op.isConfirmed;
  if (isNews) op.isConfirmed = true;
  const isCompleted = op.outcome !== null && op.outcome !== 'unknown';
  if (op.settledBy !== 'person' || op.state === 'disputed' || isCompleted || op.removedAt !== null)
    return isNews ? changed(op.id) : nothing;
  if (event.outcome === 'done' && op.state !== 'done') return isNews ? changed(op.id) : nothing;
  op.outcome = event.outcome;
  if (event.outcome === 'done' && event.report && doubtOf(op, event.report) === undefined) {
    op.report = event.report;
    takeNumbers(op, event.report);
  }
  return changed(op.id);
}

function flag(c: Draft, op: Op, contradiction: string, why: string, event: ReportEvent): Ruled {
  op.contradiction = contradiction;
  op.review = reviewOf(c, op, why);
  step(c, op, 'contradiction', why, event.report);
  return changed(op.id);
}

/** The operation keeps its names and locks nothing; every call about it is 3 until a person resolves it [D143]. */
function dispute(c: Draft, op: Op, contradiction: string, why: readonly (string | undefined)[], event?: ReportEvent): Ruled {
  if (op.state !== 'disputed') op.disputedFrom = op.state as 'done' | 'refused' | 'never';
  op.state = 'disputed';
  op.contradiction = contradiction;
  // What its caller has received is not its outcome: after the dispute, the same request finds it again [D58].
  op.receivedAt = null;
  op.review = reviewOf(c, op, why.filter((sentence) => sentence !== undefined).join(' '));
  if (event) {
    op.outcome = event.outcome;
    if (event.outcome === 'done') op.report = event.report ?? null;
    if (event.outcome === 'done' && event.report && doubtOf(op, event.report) === undefined) takeNumbers(op, event.report);
    if (isOwn(op, event)) op.isConfirmed = true;
  } else op.acceptedAt ??= c.now;
  step(c, op, 'contradiction', op.review.reason, event?.report);
  return changed(op.id);
}

function denial({ state, disputedFrom }: Op, outcome: Ending): string {
  return `The device now says "${outcome}", but the command was settled as "${state === 'disputed' ? disputedFrom : state}".`;
}

/** Numbers of the bank and of the fiscal memory: two different ones for one command mean two operations [D49]. */
const operationNumbers = ['operationId', 'receiptId', 'documentNumber', 'number'] as const;
const numberIn = (said: Report | null | undefined, name: string): string | undefined => {
  const text = textOf(said?.[name]);
  return text === undefined ? undefined : shortened(text, 200);
};

function secondOperation(op: Op, { report: said }: ReportEvent): string | undefined {
  for (const name of operationNumbers) {
    const [before, now] = [numberIn(op.report, name), numberIn(said, name)];
    if (before === undefined || now === undefined || before === now) continue;
    const first = op.state === 'done' ? `for a command that was settled with ${before}` : `beside ${before}`;
    return `The device reports a second operation, ${now}, ${first}.`;
  }
  return undefined;
}

/** The answer in short: the same one again has no effect. */
const shortOf = ({ outcome, report: said }: ReportEvent): string =>
  [outcome, ...operationNumbers.flatMap((name) => numberIn(said, name) ?? [])].join(' ');

function step(c: Draft, { id }: Op, name: string, detail: string, report?: Report): Ruled {
  c.added.steps.push({ operationId: id, step: name, detail, isCounted: true, ...(report && { report }) });
  return nothing;
}

/**
 * The late write of an acceptance: of an open command it is only kept. One that counts as never begun, or that a person decided without its
 * journal, may be executed after all: disputed. `isRunning`: the device was asked, and it executes what counts as not executed.
 */
export function accepted(c: Draft, { id, isRunning }: Of<'Accepted'>): Ruled {
  const op = c.ops[id];
  if (!op || op.removedAt !== null) return nothing;
  if (isOpen(op)) {
    if (op.acceptedAt !== null) return nothing;
    op.acceptedAt = c.now;
    return changed(op.id);
  }
  const isNotBegun = op.state === 'never' || op.isUnconfirmed || (isRunning === true && isUnexecuted(op));
  // It may have been accepted before the decision: that it is still executed is news.
  if (!isNotBegun || (op.acceptedAt !== null && isRunning !== true) || op.contradiction !== null) return nothing;
  return dispute(c, op, 'accepted', [`The device says that it is carrying the command out, but it was settled as "${op.state}".`]);
}

/** answerBy has passed: the outcome is not known from now on, and its device is asked. */
export function deadline(c: Draft, { id, isContactLost }: Of<'Deadline'>): Ruled {
  const op = c.ops[id];
  if (!op || op.state !== 'sent' || (c.now < op.answerBy && isContactLost !== true)) return nothing;
  op.state = 'unknown';
  return changed(id);
}

export const overdueAfterMs = 15 * 60_000;

/** For this long it is not known how it ended: it goes on the review list, unless it is there already. */
export function overdue(c: Draft, { id }: Of<'Overdue'>): Ruled {
  const op = c.ops[id];
  if (!op || isAbort(op) || !isOpen(op) || op.review !== null || c.now < op.answerBy + overdueAfterMs) return nothing;
  op.review = reviewOf(c, op, 'The device has not reported the outcome since its deadline passed.');
  return changed(id);
}

/** No copy left, and none will. */
export function notSent(c: Draft, { id, reason }: Of<'NotSent'>): Ruled {
  const op = c.ops[id];
  if (!op || !isOpen(op)) return nothing;
  // Another gateway knows that the device has it.
  if (op.acceptedAt !== null) return nothing;
  settle(c, op, 'never', 'gateway', undefined);
  op.reason = reason;
  op.isConfirmed = true;
  return changed(op.id);
}

const lastIsAnotherSentence = 'The device keeps no journal, and its last transaction is another one.';

/** Only a person can tell; and a person's decision holds [D304]. */
export function lastIsAnother(c: Draft, { id, journalId }: Of<'LastIsAnother'>): Ruled {
  const op = c.ops[id];
  if (!op || op.journalId !== null) return nothing;
  if (!isOpen(op)) {
    // Hardware that keeps a journal is another one.
    if (op.isConfirmed || journalId !== undefined) return nothing;
    op.isConfirmed = true;
    return changed(op.id);
  }
  if (op.review !== null) return nothing;
  op.state = 'unknown';
  op.review = reviewOf(c, op, lastIsAnotherSentence);
  return changed(op.id);
}

/** The terminal refused to stop: the request has ended and has no later effect, while the payment goes on [D18]. */
export function abortRefused(c: Draft, { id }: Of<'AbortRefused'>): Ruled {
  const abort = c.ops[id];
  if (!abort || !isOpen(abort)) return nothing;
  abort.state = 'refused';
  abort.settledBy = 'answer';
  abort.settledAt = c.now;
  abort.isStopRefused = true;
  return changed(abort.id);
}

// The next steps that a person may take for a sale, their effects, and why the others are not possible. Pure; the ledger checks again when a
// step is taken.
import { isoTime } from '../../../kernel/moments.ts';
import { type Bani, baniToLei } from '../../../kernel/money.ts';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import { isInReview, isOpen } from '../../../ledger/command.ts';
import { awaitsClose, committedRefundsOf, keepsMoney, mayBeRefunded, standingOf, wasDone } from '../../../ledger/standing.ts';
import { type Params, type Text, text } from '../texts.ts';
import { readReport } from './command-steps.ts';
import type { Sale, StoryCallback, StoryCommand } from './sale-model.ts';
import { decidableFromMs } from './sale-unclear.ts';

export type Action = 'refund' | 'void' | 'close' | 'closeByHand' | 'ask' | 'decide' | 'resend';

export interface NextStep {
  action: Action;
  isAllowed: boolean;
  whyNot?: Text | undefined;
  maxBani?: Bani | undefined;
  /** The device contradicts its settlement: an operator resolves the dispute, or confirms having seen the settlement [D143]. */
  closesReview?: boolean | undefined;
  /** With `closesReview`: the settlement stays, whatever is decided. */
  keepsSettlement?: boolean | undefined;
  /** With `closesReview`: what the device contradicts with, for the decision. */
  contradiction?: string | undefined;
  /** Of `decide`: a payment whose numbers are not known [D308]. */
  asksNumbers?: boolean | undefined;
  /** Of `resend`: the callback and its state. */
  callbackId?: string | undefined;
  notice?: string | undefined;
  consequence: Text;
}

/** Each callback without remaining attempts can be sent again. */
export function resendSteps(callbacks: readonly StoryCallback[]): NextStep[] {
  return callbacks
    .filter(({ state }) => state === 'dead')
    .map((callback) => ({
      action: 'resend',
      isAllowed: true,
      callbackId: callback.id,
      notice: noticeOf(callback),
      consequence: text('consequence.resend'),
    }));
}

/** The state in a callback, if its URL contains it; otherwise its sequence number. */
export function noticeOf({ url, sequence }: Pick<StoryCallback, 'url' | 'sequence'>): string {
  const state = /\b(NewItem|Scanned|Payed|Expired|Cancelled|Completed|Failed|Refused)\b/.exec(url)?.[1];
  return state ?? String(sequence);
}

export function nextStepsOf(sale: Sale, nowMs: number): NextStep[] {
  const { command } = sale;
  const device = command.deviceName;
  const amount = command.amountBani === null ? undefined : baniToLei(command.amountBani);
  const steps: NextStep[] = [];
  if (operationOf(command.name).isPayment) {
    const leftBani = leftBaniOf(sale);
    steps.push(
      step('refund', whyNoRefund(sale, leftBani), text('consequence.refund', { device, card: cardOf(sale) }), leftBani),
      step('void', whyNoVoid(sale), text('consequence.void', { device, amount, card: cardOf(sale) }), command.amountBani ?? undefined),
      step('close', whyNotOpen(sale), text('consequence.close', { device })),
      step('closeByHand', whyNotOpen(sale), text('consequence.closeByHand', { device })),
    );
  }
  steps.push(step('ask', whyNoAsk(sale), text('consequence.ask', { device })), {
    ...step('decide', whyNoDecision(sale, nowMs), text('consequence.decide', { device, amount }), undefined, {
      from: isoTime(decidableFromMs(command)),
    }),
    ...(lacksNumbers(command) && { asksNumbers: true }),
    ...(isInReview(command) && !isOpen(command) && reviewStep(command)),
  });
  return [...resendSteps(sale.callbacks), ...steps];
}

/** A decision that the payment was made asks for its numbers: without them its document ends [D308]. */
export function lacksNumbers({ name, operationId }: { name: OperationName; operationId: string | null | undefined }): boolean {
  return operationOf(name).isPayment === true && (operationId === null || operationId === undefined);
}

/** The decision about a settled command: it resolves a dispute; otherwise the settlement stays, and the person has seen the other report. */
export function reviewStep(command: Parameters<typeof standingOf>[0] & Pick<StoryCommand, 'contradiction'>) {
  const isDisputed = standingOf(command) === 'disputed';
  return {
    closesReview: true,
    ...(isDisputed ? {} : { keepsSettlement: true }),
    contradiction: command.contradiction ?? undefined,
    consequence: text(isDisputed ? 'consequence.resolve' : 'consequence.seen'),
  };
}

function step(action: Action, whyNot: string | undefined, consequence: Text, maxBani?: Bani, params?: Params): NextStep {
  const isAllowed = whyNot === undefined;
  return { action, isAllowed, whyNot: isAllowed ? undefined : text(whyNot, params), maxBani: isAllowed ? maxBani : undefined, consequence };
}

/** Refunds with an open or disputed outcome count as made. */
export function leftBaniOf(sale: Sale): Bani {
  const { command, followers } = sale;
  if (!operationOf(command.name).isPayment || !keepsMoney(command)) return 0;
  return (command.amountBani ?? 0) - committedRefundsOf(followers);
}

function whyNoPayment({ command, followers }: Sale): string | undefined {
  const standing = standingOf(command, followers);
  if (standing === 'open' || standing === 'disputed') return 'whyNot.notKnown';
  if (command.removedAtMs !== null) return 'whyNot.removed';
  if (!wasDone(command)) return 'whyNot.notCharged';
  if (command.operationId === null || command.rrn === null) return 'whyNot.noNumbers';
  return keepsMoney(command) ? undefined : 'whyNot.voided';
}

function whyNoRefund(sale: Sale, leftBani: Bani): string | undefined {
  const why = whyNoPayment(sale);
  if (why !== undefined) return why;
  if (sale.command.bankDayClosedAtMs !== null) return 'whyNot.bankDayClosed';
  if (awaitsClose(sale.command)) return 'whyNot.documentOpen';
  return leftBani <= 0 ? 'whyNot.nothingLeft' : undefined;
}

function whyNoVoid(sale: Sale): string | undefined {
  const why = whyNoPayment(sale);
  if (why !== undefined) return why;
  return mayBeRefunded(sale.followers) ? 'whyNot.refunded' : undefined;
}

function whyNotOpen({ command, followers }: Sale): string | undefined {
  const standing = standingOf(command, followers);
  if (standing === 'open' || standing === 'disputed') return 'whyNot.notKnown';
  if (!wasDone(command)) return 'whyNot.notCharged';
  return awaitsClose(command) ? undefined : 'whyNot.closed';
}

function whyNoAsk({ command }: Sale): string | undefined {
  if (command.removedAtMs !== null) return 'whyNot.removed';
  return command.journalId === null && !isOpen(command) ? 'whyNot.noJournal' : undefined;
}

/** While the device may still act, its report takes precedence over a decision [D63]. */
function whyNoDecision({ command }: Sale, nowMs: number): string | undefined {
  if (!isOpen(command)) return isInReview(command) ? undefined : 'whyNot.settled';
  return nowMs < decidableFromMs(command) ? 'whyNot.running' : undefined;
}

function cardOf({ command }: Sale): string | undefined {
  const { maskedCard } = readReport(command.report);
  return typeof maskedCard === 'string' ? maskedCard.slice(-4) : undefined;
}

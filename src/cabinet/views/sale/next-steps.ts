// The next steps that a person may take for a sale, their effects, and why the others are not possible, as the core says. Pure; the core checks
// again when a step is taken.
import { type Bani, baniToLei } from '../../../kernel/money.ts';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import { isInReview, isOpen } from '../../../ledger/command.ts';
import { standingOf } from '../../../ledger/standing.ts';
import { type Text, text } from '../texts.ts';
import { readReport } from './command-steps.ts';
import type { Action, Sale, StoryCallback, StoryCommand } from './sale-model.ts';

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

export function nextStepsOf(sale: Sale): NextStep[] {
  const { command } = sale;
  const device = command.deviceName;
  const amount = command.amountBani === null ? undefined : baniToLei(command.amountBani);
  const steps: NextStep[] = [];
  if (operationOf(command.name).isPayment) {
    steps.push(
      step(sale, 'refund', text('consequence.refund', { device, card: cardOf(sale) }), sale.said.leftBani),
      step(sale, 'void', text('consequence.void', { device, amount, card: cardOf(sale) }), command.amountBani ?? undefined),
      step(sale, 'close', text('consequence.close', { device })),
      step(sale, 'closeByHand', text('consequence.closeByHand', { device })),
    );
  }
  steps.push(step(sale, 'ask', text('consequence.ask', { device })), {
    ...step(sale, 'decide', text('consequence.decide', { device, amount })),
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

function step({ said }: Sale, action: Exclude<Action, 'resend'>, consequence: Text, maxBani?: Bani): NextStep {
  const whyNot = said.refusals[action];
  const isAllowed = whyNot === undefined;
  return { action, isAllowed, whyNot, maxBani: isAllowed ? maxBani : undefined, consequence };
}

function cardOf({ command }: Sale): string | undefined {
  const { maskedCard } = readReport(command.report);
  return typeof maskedCard === 'string' ? maskedCard.slice(-4) : undefined;
}

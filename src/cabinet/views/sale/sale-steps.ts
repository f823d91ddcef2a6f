// The timeline of a sale: the command, later commands that refer to it, receipt, invoice, and each callback attempt. Pure.
import { baniToLei } from '../../../kernel/money.ts';
import { standingOf, wasDone } from '../../../ledger/standing.ts';
import { text } from '../texts.ts';
import { commandSteps, movesMoney, personOf } from './command-steps.ts';
import { noticeOf } from './next-steps.ts';
import type { InvoiceEvent, Sale, Step, StoryAttempt, StoryCallback, StoryCommand } from './sale-model.ts';

export function saleSteps(sale: Sale, keyNames: ReadonlyMap<string, string>): Step[] {
  const { command } = sale;
  const steps = [
    ...commandSteps(command, sale.events, keyNames.get(command.caller?.replace(/^key /, '') ?? '')),
    ...[...sale.followers, ...sale.linked].map(relatedStep),
    ...sale.invoiceEvents.map(invoiceStep),
    ...callbackSteps(sale.callbacks, sale.attempts),
  ];
  // The sort is stable: steps with equal times keep their order.
  return steps.sort((one, other) => one.atMs - other.atMs);
}

/** Another command of the same sale, as one step: when it was settled, or begun if it is still open. */
export function relatedStep(command: StoryCommand): Step {
  const isOpen = command.settledAtMs === null;
  const person = personOf(command);
  return {
    atMs: command.settledAtMs ?? command.issuedAtMs,
    actor: person === undefined ? 'erp' : 'person',
    from: person === undefined ? 'erp' : 'person',
    to: 'device',
    kind: 'related',
    isMoney: wasDone(command) && movesMoney(command),
    isLost: standingOf(command) === 'never' || undefined,
    text: text(`step.related.${command.name}.${command.state}`, {
      amount: command.amountBani === null ? undefined : baniToLei(command.amountBani),
      device: command.deviceName,
      receiptId: command.receiptId,
      actor: person,
      reason: command.reason,
      durationMs: isOpen ? undefined : (command.settledAtMs ?? 0) - command.issuedAtMs,
    }),
    detail: command.id,
  };
}

export function invoiceStep({ atMs, event, detail }: InvoiceEvent): Step {
  const by = typeof detail['by'] === 'string' ? detail['by'] : undefined;
  const isPaid = event === 'Payed' || event === 'payment-refused';
  return {
    atMs,
    actor: isPaid || event === 'Scanned' ? 'device' : 'gateway',
    from: isPaid || event === 'Scanned' ? 'device' : 'gateway',
    to: 'gateway',
    kind: `invoice${event.replaceAll('-', '')}`,
    isMoney: isPaid,
    text: text(`step.invoice.${event}`, {
      by,
      reason: typeof detail['reason'] === 'string' ? detail['reason'] : undefined,
      receiptId: typeof detail['receiptId'] === 'string' ? detail['receiptId'] : undefined,
    }),
  };
}

export function callbackSteps(callbacks: readonly StoryCallback[], attempts: readonly StoryAttempt[]): Step[] {
  const steps: Step[] = [];
  for (const callback of callbacks) {
    const own = attempts.filter(({ callbackId }) => callbackId === callback.id);
    for (const [index, attempt] of own.entries()) steps.push(attemptStep(callback, attempt, index === own.length - 1));
    if (own.length === 0) {
      steps.push({
        atMs: callback.createdAtMs,
        actor: 'callback',
        from: 'gateway',
        to: 'erp',
        kind: 'callbackWaiting',
        isMoney: false,
        text: text('step.callbackWaiting', { notice: noticeOf(callback) }),
        detail: callback.id,
      });
    }
  }
  return steps;
}

function attemptStep(callback: StoryCallback, attempt: StoryAttempt, isLast: boolean): Step {
  const isDelivered = attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
  const isDead = isLast && callback.state === 'dead';
  const kind = isDelivered ? 'callbackDelivered' : isDead ? 'callbackDead' : 'callbackFailed';
  const nextInMs =
    isLast && callback.state === 'pending' && callback.nextAttemptAtMs !== null ? callback.nextAttemptAtMs - attempt.atMs : undefined;
  return {
    atMs: attempt.atMs,
    actor: 'callback',
    from: 'gateway',
    to: 'erp',
    kind,
    isMoney: false,
    isLost: isDelivered ? undefined : true,
    text: text(`step.${kind}`, {
      notice: noticeOf(callback),
      status: attempt.status,
      error: attempt.error,
      durationMs: attempt.durationMs,
      attempt: attempt.attempt,
      nextInMs,
    }),
    detail: callback.id,
  };
}

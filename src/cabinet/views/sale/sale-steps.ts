// The timeline of a sale: the command, later commands that refer to it, receipt, invoice, and each callback attempt. Pure.
import type { InvoiceEvent } from '../../../invoices/store.ts';
import { baniToLei } from '../../../kernel/money.ts';
import { standingOf, wasDone } from '../../../ledger/standing.ts';
import { type Params, text } from '../texts.ts';
import { callerOf, commandSteps, movesMoney, personOf } from './command-steps.ts';
import { noticeOf } from './next-steps.ts';
import type { Sale, Step, StoryAbort, StoryAttempt, StoryCallback, StoryCommand } from './sale-model.ts';
import { stepFrom } from './step.ts';

export function saleSteps(sale: Sale, keyNames: ReadonlyMap<string, string>): Step[] {
  const { command } = sale;
  const steps = [
    ...commandSteps(command, sale.events, keyNames.get(command.caller?.replace(/^key /, '') ?? '')),
    ...[...sale.followers, ...sale.linked].map(relatedStep),
    ...sale.aborts.map(abortStep),
    ...sale.invoiceEvents.map(invoiceStep),
    ...callbackSteps(sale.callbacks, sale.attempts),
  ];
  // The sort is stable: steps with equal times keep their order.
  return steps.sort((one, other) => one.atMs - other.atMs);
}

/** Another command of the same sale, as one step: when it was settled, or begun if it is still open. */
export function relatedStep(command: StoryCommand): Step {
  const from = callerOf(command);
  return {
    atMs: command.settledAtMs ?? command.issuedAtMs,
    actor: from,
    from,
    to: 'device',
    kind: 'related',
    isMoney: wasDone(command) && movesMoney(command),
    isLost: standingOf(command) === 'never' || undefined,
    text: text(`step.related.${command.name}.${command.state}`, {
      amount: command.amountBani === null ? undefined : baniToLei(command.amountBani),
      device: command.deviceName,
      receiptId: command.receiptId,
      actor: personOf(command),
      reason: command.reason,
      durationMs: command.settledAtMs === null ? undefined : command.settledAtMs - command.issuedAtMs,
    }),
    detail: command.id,
  };
}

/** A request to stop the payment: no operation of the device, and no money. */
export function abortStep({ caller, issuedAtMs, state, deviceName }: StoryAbort): Step {
  const from = callerOf({ caller });
  const params = { device: deviceName, actor: personOf({ caller }) };
  const isLost = standingOf({ state, documentState: null, amountBani: null }) === 'never' || undefined;
  return stepFrom(from, 'device', `abort.${state}`, params, { atMs: issuedAtMs, kind: 'abort', isLost });
}

export function invoiceStep({ atMs, event, detail }: InvoiceEvent): Step {
  const isPaid = event === 'Payed' || event === 'payment-refused';
  const texts = Object.entries(detail).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const { by, reason, receiptId }: Partial<Record<string, string>> = Object.fromEntries(texts);
  return stepFrom(
    isPaid || event === 'Scanned' ? 'device' : 'gateway',
    'gateway',
    `invoice.${event}`,
    { by, reason, receiptId },
    {
      atMs,
      kind: `invoice${event.replaceAll('-', '')}`,
      isMoney: isPaid,
    },
  );
}

export function callbackSteps(callbacks: readonly StoryCallback[], attempts: readonly StoryAttempt[]): Step[] {
  const steps: Step[] = [];
  for (const callback of callbacks) {
    const own = attempts.filter(({ callbackId }) => callbackId === callback.id);
    for (const [index, attempt] of own.entries()) steps.push(attemptStep(callback, attempt, index === own.length - 1));
    if (own.length === 0) {
      steps.push(callbackStep(callback, 'callbackWaiting', {}, { atMs: callback.createdAtMs }));
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
  const { atMs, callbackId: _callbackId, ...params } = attempt;
  return callbackStep(callback, kind, { ...params, nextInMs }, { atMs, isLost: isDelivered ? undefined : true });
}

function callbackStep(callback: StoryCallback, kind: string, params: Params, more: Partial<Step> & Pick<Step, 'atMs'>): Step {
  return stepFrom('gateway', 'erp', kind, { notice: noticeOf(callback), ...params }, { actor: 'callback', detail: callback.id, ...more });
}

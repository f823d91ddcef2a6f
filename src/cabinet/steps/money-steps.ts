// Safe operations on a sale by a person: refund, void, close, ask the device again. Each is executed like the same call of an ERP, with the
// person instead of the key, under the Idempotency-Key that its dialog generated when it opened.
//
// If the process dies before the command's row is committed, nothing was sent, and a repeat with the same key starts it. After the commit a
// repeat joins the command or gets its answer. A double click has the same key: one command. The ledger checks a late repeat again.
// The audit entry is written first: an entry without an effect is harmless, an effect without an entry is not.
import { createHash } from 'node:crypto';
import { type AuditEntry, writeAudit } from '../../access/audit.ts';
import type { Cards } from '../../cards/cards.ts';
import type { Queries } from '../../database/database.ts';
import type { Origin } from '../../http/origin.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Bani } from '../../kernel/money.ts';
import { operationOf } from '../../kernel/operations.ts';
import type { DeviceAnswer } from '../../ledger/answers.ts';
import type { Command } from '../../ledger/command.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { mayHaveHappened, wasDone } from '../../ledger/standing.ts';

export interface PersonalCall {
  commandId: string;
  actor: string;
  origin: Origin;
  idempotency: { key: string; requestHash: string };
}

export interface MoneyStepsDeps {
  database: { queries: Queries };
  ledger: Pick<Ledger, 'find' | 'findByKey' | 'askDevice' | 'timelineOf'>;
  cards: Pick<Cards, 'refund' | 'cancelTransaction' | 'closeDoc'>;
}

type Entry = AuditEntry & { merchantId: string };

interface Deps extends Pick<MoneyStepsDeps, 'cards'> {
  ledger: Pick<Ledger, 'find'>;
  /** Before anything is begun. */
  note(call: PersonalCall, entry: Entry): Promise<void>;
}

const answerSteps: ReadonlySet<string> = new Set(['answered', 'recalled', 'last transaction reported']);

/** Steps that are executed, and noted in the audit log. */
export function createMoneySteps({ database, ledger, cards }: MoneyStepsDeps) {
  /** The answers of the device to questions about the command, from its timeline. */
  async function countAnswers(commandId: string): Promise<number> {
    const answers = (await ledger.timelineOf(commandId)).filter(({ step }) => answerSteps.has(step));
    return answers.reduce((sum, { further = 1 }) => sum + further, 0);
  }

  async function note(call: PersonalCall, entry: Entry): Promise<void> {
    const { merchantId } = entry;
    // A repeat of the same click writes no second entry.
    if (await ledger.findByKey({ merchantId, idempotency: keyOf(call) })) return;
    await writeAudit(database.queries, entry);
  }

  return {
    ...createReturns({ ledger, cards, note }),
    /** Reads the device's journal. Changes nothing unless the device reports an open outcome or contradicts a settled one. */
    async ask(commandId: string, actor: string): Promise<{ command: Command; isAnswered: boolean }> {
      const command = await ledger.find(commandId);
      if (!command) throw noSuchCommand();
      await writeAudit(database.queries, { actor, action: 'command.ask', subject: commandId, merchantId: command.merchantId });
      const before = await countAnswers(commandId);
      const asked = await ledger.askDevice(command, actor);
      return { command: asked, isAnswered: (await countAnswers(commandId)) > before };
    },
  };
}

/** What returns money or ends a document; in a dry run, nothing is noted and `cards` begins nothing. */
export function createReturns({ ledger, cards, note }: Deps) {
  /** The payment with the numbers that identify it at the terminal. */
  async function requirePayment(commandId: string): Promise<Command & { operationId: string; rrn: string }> {
    const payment = await ledger.find(commandId);
    if (!payment) throw noSuchCommand();
    const { operationId, rrn } = payment;
    if (!operationOf(payment.name).isPayment) throw cannot('Only a payment can be refunded, voided or closed.');
    if (!wasDone(payment)) throw cannot(mayHaveHappened(payment) ? 'Its outcome is not known yet.' : 'Nothing was charged.');
    if (operationId === null || rrn === null) throw cannot('The bank’s numbers are not known.');
    return { ...payment, operationId, rrn };
  }

  const audited = (call: PersonalCall, merchantId: string, action: string, detail: Record<string, unknown>) =>
    note(call, { actor: call.actor, action, subject: call.commandId, merchantId, detail });

  function callOf(payment: Command & { operationId: string }, call: PersonalCall) {
    const { merchantId, deviceId, operationId } = payment;
    const documentNr = documentOf(payment);
    return { paymentId: payment.id, merchantId, deviceId, operationId, documentNr, idempotency: keyOf(call), origin: call.origin };
  }

  return {
    async refund(call: PersonalCall, amountBani: Bani): Promise<DeviceAnswer> {
      const payment = await requirePayment(call.commandId);
      await audited(call, payment.merchantId, 'command.refund', { amountBani });
      return cards.refund({ ...callOf(payment, call), rrn: payment.rrn, amountBani, currency: 'MDL' });
    },
    async void(call: PersonalCall): Promise<DeviceAnswer> {
      const payment = await requirePayment(call.commandId);
      const { token } = (payment.report === null ? {} : JSON.parse(payment.report)) as { token?: unknown };
      await audited(call, payment.merchantId, 'command.void', { amountBani: payment.amountBani });
      return cards.cancelTransaction({
        ...callOf(payment, call),
        token: typeof token === 'string' ? token : '',
        amountBani: payment.amountBani ?? 0,
      });
    },
    async close(call: PersonalCall): Promise<DeviceAnswer> {
      const payment = await requirePayment(call.commandId);
      await audited(call, payment.merchantId, 'command.close', {});
      return cards.closeDoc(callOf(payment, call));
    },
  };
}

/** Bank numbers are reused: the terminal distinguishes payments by rrn or token, and by a unique documentNr. */
function documentOf({ documentNr, id }: Command): string {
  return documentNr ?? id;
}

/** With the same key, another command or another amount is another request. */
export function keyOf({ idempotency, commandId }: PersonalCall): { key: string; requestHash: string } {
  const requestHash = createHash('sha256').update(`${idempotency.requestHash} ${commandId}`).digest('hex');
  return { key: idempotency.key, requestHash };
}

function noSuchCommand(): GatewayError {
  return new GatewayError('Record_not_exist', 'There is no such command.');
}

function cannot(sentence: string): GatewayError {
  return new GatewayError('The_status_cannot_be_applied', sentence);
}

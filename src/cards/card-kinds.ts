// What card operations add to the ledger: which reports are doubtful, and which documents and invoices a state change concerns.
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { parseUuid } from '../kernel/ids.ts';
import { baniToLei } from '../kernel/money.ts';
import { namesWhere } from '../kernel/operations.ts';
import type { Command } from '../ledger/command.ts';
import type { CommandKinds } from '../ledger/command-kind.ts';
import { isDocumentClosed, wasDone } from '../ledger/standing.ts';
import { closeDocument, findCommand } from '../ledger/store.ts';
import type { CardsDeps } from './cards-deps.ts';
import { findPaymentOf } from './pay.ts';
import { doubtAmount, doubtApproval } from './rules.ts';
import { findCloseOf, hasVoidedPayment, markOnReceipt, reopenBankDay, reviveDocument, settleBankDay, voidDocument } from './store.ts';

const wasVoided = 'The card payment was voided.';

/** The hooks, by operation. */
export function cardKinds({ database, invoices, callbacks }: CardsDeps): CommandKinds {
  /** The payment was not made: its abort is confirmed, or a void takes effect that left the invoice, because this payment was disputed. */
  async function cancelIfEnded(queries: Queries, payment: Command): Promise<void> {
    if (payment.abortRequestedAtMs !== null) return cancelInvoiceOf(queries, payment, 'The card payment was aborted.');
    if (payment.contradiction !== null && (await hasVoidedPayment(queries, payment))) await cancelInvoiceOf(queries, payment, wasVoided);
  }

  // [D19] A payment belongs to an invoice if its documentNr is the invoice's OID.
  async function cancelInvoiceOf(queries: Queries, payment: Command, reason: string): Promise<void> {
    if (payment.documentNr !== null) await invoices.cancelUnpaidInvoice(queries, payment.documentNr, payment.merchantId, reason);
  }

  async function lockInvoiceOf(queries: Queries, { documentNr, merchantId }: Command): Promise<void> {
    const oid = parseUuid(documentNr);
    if (oid !== undefined) await invoices.lock(queries, oid, merchantId);
  }

  /** Returns what cannot be undone [D143]: nothing of a payment that is disputed, or was not made either. */
  async function revive(queries: Queries, { targetId, disputedFrom }: Command, ended: 'closed' | 'voided'): Promise<string | undefined> {
    const payment = targetId === null ? undefined : await findCommand(queries, targetId);
    if (!payment) return undefined;
    const from = disputedFrom === 'done' ? ended : 'open';
    const to = await reviveDocument(database.engine, queries, payment.id, from);
    if (!wasDone(payment) || (from === 'open' && to === undefined)) return undefined;
    const isClosedByTerminal = (await findCloseOf(queries, payment.id))?.state === 'done';
    return to === 'open' || isClosedByTerminal
      ? undefined
      : 'The terminal has begun other operations since: the document of the payment stays closed.';
  }

  /** The payment stands again: its refund or void was not made. An invoice that a void cancelled stays Cancelled. */
  async function endOfTarget(queries: Queries, { targetId }: Command): Promise<string | undefined> {
    const payment = targetId === null ? undefined : await findCommand(queries, targetId);
    return payment && wasDone(payment) ? endedInvoiceOf(invoices, queries, payment) : undefined;
  }

  const kinds: CommandKinds = {
    Pay: {
      findHolder: (payment) => findPaymentOf({ database }, payment),
      hold: lockInvoiceOf,
      doubt: doubtApproval,
      reportOfDecision: ({ amountBani }, found) => ({ ...found, amount: baniToLei(amountBani ?? 0), source: 'person' }),
      extract: (report) => ({ operationId: report['operationId'] as string, rrn: report['rrn'] as string }),
      onState: { refused: cancelIfEnded, never: cancelIfEnded },
      /** The void was done while the payment was disputed, so it could neither mark the payment nor cancel its invoice. */
      async onExecuted(queries, payment) {
        const isVoided = payment.documentState === 'voided';
        await markOnReceipt(queries, payment.id, isVoided ? nowMs : null);
        if (!isVoided) return endedInvoiceOf(invoices, queries, payment);
        await cancelInvoiceOf(queries, payment, wasVoided);
        return undefined;
      },
      onReversed: async (queries, payment) => reversedPayment(invoices, queries, payment),
      afterState({ state, abortRequestedAtMs, contradiction, documentState }) {
        const isNotMade = state === 'refused' || state === 'never';
        // Only in these cases an invoice may have been cancelled.
        if ((isNotMade && (abortRequestedAtMs !== null || contradiction !== null)) || documentState === 'voided') callbacks.wake();
      },
    },
    CloseDoc: {
      findHolder: async ({ targetId }) => (targetId === null ? undefined : endOfDocument(database.queries, targetId)),
      async onExecuted(queries, { id, targetId }) {
        if (targetId !== null) await closeDocument(queries, targetId, id);
        return undefined;
      },
      onReversed: async (queries, close) => revive(queries, close, 'closed'),
    },
    CloseDay: {
      onState: { done: settleBankDay },
      async onReversed(queries, command) {
        await reopenBankDay(queries, command);
        return undefined;
      },
    },
    Refund: {
      hold: lockInvoiceOf,
      onReversed: async (queries, refund) => endOfTarget(queries, refund),
    },
    CancelTransaction: {
      hold: lockInvoiceOf,
      onReversed: async (queries, taking) => {
        const remaining = [await revive(queries, taking, 'voided'), await endOfTarget(queries, taking)];
        return remaining.filter((sentence) => sentence !== undefined).join(' ') || undefined;
      },
      onState: {
        async done(queries, command) {
          const payment = command.targetId === null ? undefined : await voidDocument(queries, command.targetId, command.id);
          if (payment) await cancelInvoiceOf(queries, payment, wasVoided);
        },
      },
      afterState({ state }) {
        if (state === 'done') callbacks.wake();
      },
    },
  };
  // Another amount than was asked for is for an operator to judge, whatever the operation is.
  const withAmount = namesWhere(({ device, args }) => device === 'terminal' && 'amount' in args.properties);
  const doubts = withAmount.map((name) => [name, { doubt: doubtAmount, ...kinds[name] }] as const);
  return { ...kinds, ...Object.fromEntries(doubts) };
}

/** The CloseDoc of the payment, or the payment itself if its document was closed without one, by hand for example. */
async function endOfDocument(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const close = await findCloseOf(queries, paymentId);
  const payment = close ? undefined : await findCommand(queries, paymentId);
  return payment && wasDone(payment) && isDocumentClosed(payment) ? payment : close;
}

/** The payment was made, and its invoice has ended otherwise, which cannot be undone. */
async function endedInvoiceOf(invoices: CardsDeps['invoices'], queries: Queries, payment: Command): Promise<string | undefined> {
  const oid = parseUuid(payment.documentNr);
  const how = oid === undefined ? undefined : await invoices.endWithout(queries, oid, payment);
  return how === undefined ? undefined : `The invoice ${oid} stays ${how} although its card payment was made.`;
}

/** The payment was not made, but a receipt contains it, or its invoice was completed with it. */
async function reversedPayment(invoices: CardsDeps['invoices'], queries: Queries, payment: Command): Promise<string | undefined> {
  const isOnReceipt = await markOnReceipt(queries, payment.id, nowMs);
  const oid = parseUuid(payment.documentNr);
  const hasPaid = oid !== undefined && (await invoices.wasPaidAt(queries, oid, payment));
  const remaining = [
    ...(isOnReceipt ? ['A receipt with this payment was begun: if it was printed, correct it on the register.'] : []),
    ...(hasPaid ? [`The invoice ${oid} stays Payed although its card payment was not made.`] : []),
  ];
  return remaining.join(' ') || undefined;
}

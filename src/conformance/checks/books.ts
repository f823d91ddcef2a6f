// Compares the money: the bank's day and the register's totals must contain each done command exactly once.
// The run begins with `open` and ends with `close`; all charges are refunded before.
import type { JsonObject } from '../../link/protocol.ts';
import { type Check, on } from '../check.ts';
import { describe, type Exam } from '../exam.ts';
import { missingFields } from '../report-fields.ts';
import { must, untested } from '../verdict.ts';
import { carryOut, doneOf, paidReceipt } from '../work.ts';
import { notVoided } from './money-back.ts';

const notTwice = 'An id that the journal has is not executed a second time';
/** Sums of amounts with two decimals, compared in whole bani. */
const bani = (lei: number) => Math.round(lei * 100);
const sumOf = (exam: Exam, ...names: string[]) => doneOf(exam, ...names).length * exam.amount;

interface Totals {
  sales: number;
  cashIn: number;
  cashOut: number;
  card: number | undefined;
}

/** undefined: this register does not report totals. */
async function readTotals(exam: Exam): Promise<Totals | undefined> {
  const { ending } = await carryOut(exam, { name: 'Report', args: { fiscal: false } });
  must(ending.outcome === 'done', `The X report ended ${describe(ending)}.`);
  const missing = missingFields('Report', ending.report);
  must(missing.length === 0, `The report of Report lacks ${missing.join(', ')}.`);
  const { sales, cashIn, cashOut, card } = (ending.report?.['totals'] ?? {}) as JsonObject;
  if (typeof sales !== 'number' || typeof cashIn !== 'number' || typeof cashOut !== 'number') return undefined;
  return { sales, cashIn, cashOut, card: typeof card === 'number' ? card : undefined };
}

async function closeBankDay(exam: Exam): Promise<{ id: string; count: number; amount: number }> {
  const { order, ending } = await carryOut(exam, { name: 'CloseDay', args: {} });
  must(ending.outcome === 'done', `CloseDay ended ${describe(ending)}.`);
  const missing = missingFields('CloseDay', ending.report);
  must(missing.length === 0, `The report of CloseDay lacks ${missing.join(', ')}.`);
  return { id: order.id, count: ending.report?.['count'] as number, amount: ending.report?.['amount'] as number };
}

/** The totals before the run. */
const before = new WeakMap<Exam, Totals | 'closed'>();

export const openingChecks: readonly Check[] = [
  {
    id: 'books-open',
    clause: on.commands('**CloseDay**: `amount` is net of refunds'),
    kind: 'terminal',
    does: 'closes the bank day, so that the following operations can be counted',
    mustSee: 'done, with count and amount',
    async run(exam) {
      await closeBankDay(exam);
      before.set(exam, 'closed');
    },
  },
  {
    id: 'totals-open',
    clause: on.commands('**Report**: `fiscal` true prints a Z, which closes the day; false an X.'),
    kind: 'register',
    does: 'makes an X report, so that the following operations can be counted',
    mustSee: 'done, with number and totals',
    async run(exam) {
      const totals = await readTotals(exam);
      if (totals) before.set(exam, totals);
    },
  },
];

export const closingChecks: readonly Check[] = [
  {
    id: 'prints-paid',
    clause: on.commands('It is printed under its code and counted under `card` in X, Z and `totals`, and no bank is asked for it.'),
    kind: 'register',
    does: 'prints a receipt with a card payment that was made on a terminal, if the register has the feature `paid`',
    mustSee: 'done without a card, and counted under card',
    async run(exam) {
      if (!exam.bench.presences.some(({ presence }) => presence.features?.includes('paid'))) untested('Its presence does not list `paid`.');
      exam.person.tell('Do not present a card now.');
      const opened = await readTotals(exam);
      const { ending } = await carryOut(exam, paidReceipt(exam));
      must(ending.outcome === 'done', `The receipt ended ${describe(ending)}.`);
      const closed = await readTotals(exam);
      if (opened?.card === undefined || closed?.card === undefined) untested('The totals of this register do not have card.');
      const grown = closed.card - opened.card;
      must(
        bani(grown) === bani(exam.amount),
        `The register counts ${grown.toFixed(2)} under card where ${exam.amount.toFixed(2)} was printed.`,
      );
    },
  },
  {
    id: 'gives-back',
    clause: on.commands('**Refund**, **CancelTransaction**: `operationId` is the one that Pay reported.'),
    kind: 'terminal',
    does: 'refunds every payment that was made, and sends each refund twice',
    mustSee: 'done with rrn, operationId and amount, and the same ending again',
    async run(exam) {
      const payments = notVoided(exam);
      if (payments.length === 0) untested('Nothing was charged.');
      for (const { order, report } of payments) {
        const { documentNr } = order.args;
        const { operationId, rrn } = report;
        const args = { documentNr, operationId, rrn, amount: exam.amount, currency: 'MDL' };
        const { order: refund, ending } = await carryOut(exam, { name: 'Refund', args });
        must(
          ending.outcome === 'done',
          `The refund ${refund.id} ended ${describe(ending)}: the payment is still charged, refund it by hand.`,
        );
        const missing = missingFields('Refund', ending.report);
        must(missing.length === 0, `The report of Refund lacks ${missing.join(', ')}.`);
        const again = await exam.repeat(refund);
        must(again.outcome === 'done', `The second copy was answered ${describe(again)}.`);
      }
    },
  },
  {
    id: 'books-close',
    clause: on.promise(1, notTwice),
    kind: 'terminal',
    does: 'closes the bank day and compares it with the operations answered done',
    mustSee: 'the payments that were not voided less the refunds, to the ban, and their number',
    async run(exam) {
      if (!before.has(exam)) untested('The bank day was not closed at the beginning.');
      const payments = notVoided(exam).length;
      const expected = payments * exam.amount - sumOf(exam, 'Refund');
      const { id, count, amount } = await closeBankDay(exam);
      must(
        bani(amount) === bani(expected),
        `CloseDay ${id}: the bank counts ${amount.toFixed(2)} where ${expected.toFixed(2)} was answered: something was charged, refunded or voided without a report, or was reported and not done.`,
      );
      must(count === payments, `CloseDay ${id} counts ${count} payments where ${payments} were made and not voided.`);
    },
  },
  {
    id: 'totals-close',
    clause: on.promise(1, notTwice),
    kind: 'register',
    does: 'takes the cash out again, makes an X report and compares it with the operations answered done',
    mustSee: 'every receipt and every movement of cash exactly once',
    async run(exam) {
      const opened = before.get(exam);
      for (let left = doneOf(exam, 'MoneyIn').length; left > 0; left -= 1) {
        const { ending } = await carryOut(exam, { name: 'MoneyOut', args: { amount: exam.amount } });
        must(ending.outcome === 'done', `MoneyOut ended ${describe(ending)}.`);
      }
      const totals = await readTotals(exam);
      if (opened === undefined || opened === 'closed' || totals === undefined)
        untested('The totals of this register do not have sales, cashIn and cashOut.');
      const expected = { sales: sumOf(exam, 'PrintReceipt'), cashIn: sumOf(exam, 'MoneyIn'), cashOut: sumOf(exam, 'MoneyOut') };
      for (const field of ['sales', 'cashIn', 'cashOut'] as const) {
        const grown = totals[field] - opened[field];
        must(
          bani(grown) === bani(expected[field]),
          `The register counts ${grown.toFixed(2)} in ${field} where ${expected[field].toFixed(2)} was answered.`,
        );
      }
    },
  },
];

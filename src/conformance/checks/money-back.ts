// Operations on a payment of the terminal: closing its document, refunds and voids, and refunds that must be refused. Only payments of this
// run are used.
import { type Check, on } from '../check.ts';
import { describe, type Exam, type Order } from '../exam.ts';
import { missingFields } from '../report-fields.ts';
import { must, untested } from '../verdict.ts';
import { carryOut, doneOf, lastDone, plainWork } from '../work.ts';

const unknownOperation =
  'An `operationId` that you never reported is `refused`, and so is a Refund above the remaining amount of the payment.';

/** The earlier payment, with its bank numbers. */
function paymentOf(exam: Exam): { order: Order; documentNr: unknown; operationId: unknown; rrn: unknown } {
  const { order, ending } = lastDone(exam);
  const { operationId, rrn } = ending.report ?? {};
  return { order, documentNr: order.args['documentNr'], operationId, rrn };
}

async function mustBeRefused(exam: Exam, name: string, args: Record<string, unknown>): Promise<void> {
  const { order, ending } = await carryOut(exam, { name, args });
  must(ending.outcome === 'refused', `${name} ${order.id} ${JSON.stringify(args)} ended ${describe(ending)} instead of refused.`);
}

/** Makes a payment, and returns the command that voids it. */
export async function payToVoid(exam: Exam) {
  const { order: payment, ending: paid } = await carryOut(exam, plainWork(exam));
  must(paid.outcome === 'done', `Pay ${payment.id} ended ${describe(paid)}.`);
  const { operationId, token } = paid.report ?? {};
  if (typeof token !== 'string') untested('The report of Pay has no token, so nothing can be voided.');
  return { name: 'CancelTransaction', args: { documentNr: payment.args['documentNr'], operationId, token, amount: exam.amount } };
}

export const moneyBackChecks: readonly Check[] = [
  {
    id: 'close-doc',
    clause: on.commands('**CloseDoc**: closes the document of this payment; `done`, also if your bank has no documents.'),
    kind: 'terminal',
    does: 'closes the document of the payment that was made',
    mustSee: 'accepted, then done',
    async run(exam) {
      const { documentNr, operationId } = paymentOf(exam);
      const { order, ending } = await carryOut(exam, { name: 'CloseDoc', args: { documentNr, operationId } });
      must(ending.outcome === 'done', `CloseDoc ${order.id} of operation ${String(operationId)} ended ${describe(ending)}.`);
    },
  },
  {
    id: 'last-payment',
    clause: on.commands(
      'If it was not a Pay, Refund or CancelTransaction, a terminal may add `lastPayment`, the same fields of the last such command, which the API then returns.',
    ),
    kind: 'terminal',
    does: 'asks for the last transaction after CloseDoc',
    mustSee: 'the CloseDoc, and in lastPayment, if the terminal reports it, the payment before it',
    async run(exam) {
      const { order, operationId } = paymentOf(exam);
      const { outcome, report = {} } = await exam.ask('LastTransaction');
      must(outcome === 'done', `It was answered ${outcome}.`);
      if (report['kind'] !== 'CloseDoc') untested('CloseDoc was not the last command that ran.');
      const { lastPayment } = report;
      if (lastPayment === undefined) untested('It reports no lastPayment; the API answers from the ledger then.');
      const reported = (typeof lastPayment === 'object' && lastPayment !== null ? lastPayment : {}) as Record<string, unknown>;
      must(
        reported['commandId'] === order.id &&
          reported['kind'] === 'Pay' &&
          reported['state'] === 'approved' &&
          reported['operationId'] === operationId,
        `lastPayment is ${JSON.stringify(lastPayment)}; the last payment is Pay ${order.id}, approved, operation ${String(operationId)}.`,
      );
    },
  },
  {
    id: 'close-doc-unknown',
    clause: on.commands(unknownOperation),
    kind: 'terminal',
    does: 'closes the document of an operation that does not exist',
    mustSee: 'refused',
    run: (exam) => mustBeRefused(exam, 'CloseDoc', { documentNr: exam.newId(), operationId: `no-${exam.newId()}` }),
  },
  {
    id: 'refund-unknown',
    clause: on.commands(unknownOperation),
    kind: 'terminal',
    does: 'refunds an operation that does not exist',
    mustSee: 'refused',
    run: (exam) =>
      mustBeRefused(exam, 'Refund', {
        ...{ documentNr: exam.newId(), operationId: `no-${exam.newId()}`, rrn: '000000000000' },
        ...{ amount: exam.amount, currency: 'MDL' },
      }),
  },
  {
    id: 'refund-too-much',
    clause: on.commands(unknownOperation),
    kind: 'terminal',
    does: 'refunds twice as much as was paid',
    mustSee: 'refused',
    async run(exam) {
      const { order: _payment, ...named } = paymentOf(exam);
      await mustBeRefused(exam, 'Refund', { ...named, amount: exam.amount * 2, currency: 'MDL' });
    },
  },
  {
    id: 'void',
    clause: on.commands('**CancelTransaction**: voids a whole payment; after `done` no CloseDay counts it.'),
    kind: 'terminal',
    does: 'makes a second payment and voids it',
    mustSee: 'done with operationId and amount; the bank day at the end shows whether it is true',
    async run(exam) {
      const { name, args } = await payToVoid(exam);
      const { order, ending } = await carryOut(exam, { name, args });
      must(ending.outcome === 'done', `CancelTransaction ${order.id} of operation ${String(args.operationId)} ended ${describe(ending)}.`);
      const missing = missingFields('CancelTransaction', ending.report);
      must(missing.length === 0, `The report of CancelTransaction ${order.id} lacks ${missing.join(', ')}.`);
    },
  },
];

/** Payments that were not voided and must still be refunded. */
export function notVoided(exam: Exam): ReturnType<typeof doneOf> {
  const voided = new Set(doneOf(exam, 'CancelTransaction').map(({ order }) => order.args['operationId']));
  return doneOf(exam, 'Pay').filter(({ report }) => !voided.has(report['operationId']));
}

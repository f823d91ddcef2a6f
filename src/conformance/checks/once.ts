// One command that runs to its end, and repeats that must not run it again.
import { type Check, on } from '../check.ts';
import { describe, type Exam, type Order } from '../exam.ts';
import { missingFields } from '../report-fields.ts';
import { must } from '../verdict.ts';
import { carryOut, cashReceipt, doneOf, isSameEnding, lastDone, plainWork } from '../work.ts';

const notTwice = 'An id that the journal has is not executed a second time';

async function runsOnce(exam: Exam, order: Order): Promise<void> {
  await exam.pause(exam.pace.silenceMs);
  const outcomes = exam.bench.answersTo(order.id).map(({ answer }) => answer.outcome);
  must(outcomes[0] === 'accepted', `The first answer was ${outcomes[0]} and not accepted.`);
  must(outcomes.length === 2, `${order.name} was answered ${outcomes.join(', ')}: accepted and one ending are right.`);
}

function reportsRight(exam: Exam, order: Order): void {
  const report = exam.endingOf(order.id)?.report ?? {};
  const missing = missingFields(order.name, report);
  must(missing.length === 0, `The report of ${order.name} lacks ${missing.join(', ')}, or they are of another form.`);
  const said = report['amount'] ?? report['total'];
  must(said === undefined || said === exam.amount, `The report has the amount ${String(said)} instead of ${exam.amount}.`);
}

export const onceChecks: readonly Check[] = [
  {
    id: 'runs',
    clause: on.commands('They are answered `accepted` at once and then exactly once more.'),
    does: 'sends one ledger command',
    mustSee: 'accepted within 3 s, then done, and nothing more',
    async run(exam) {
      const { order, ending } = await carryOut(exam, plainWork(exam));
      must(ending.outcome === 'done', `It ended ${describe(ending)}; the following checks need one approved command.`);
      await runsOnce(exam, order);
    },
  },
  {
    id: 'prints',
    kind: 'register',
    clause: on.commands("**PrintReceipt**: `receipt` is the ERP's own object"),
    does: 'prints a receipt that is paid in cash, and sends it a second time',
    mustSee: 'accepted, done with receiptId, fiscalNumber and total, and the same ending again',
    async run(exam) {
      const { order, ending } = await carryOut(exam, cashReceipt(exam));
      must(ending.outcome === 'done', `It ended ${describe(ending)}.`);
      reportsRight(exam, order);
      await runsOnce(exam, order);
      const again = await exam.repeat(order);
      must(isSameEnding(again, ending), `The second copy was answered ${describe(again)}.`);
    },
  },
  {
    id: 'report',
    clause: on.answer('It has the fields of the table and any others'),
    does: 'checks the report of the command that was done',
    mustSee: 'every field of the table, and the requested amount',
    async run(exam) {
      reportsRight(exam, lastDone(exam).order);
    },
  },
  {
    id: 'doubled-after-the-end',
    clause: on.promise(1, notTwice),
    does: 'sends a command that has ended a second time',
    mustSee: 'the same ending with the same report, and no accepted',
    async run(exam) {
      const { order, ending } = lastDone(exam);
      const again = await exam.repeat(order);
      must(isSameEnding(again, ending), `It was answered ${describe(again)} instead of ${describe(ending)}.`);
    },
  },
  {
    id: 'doubled-on-the-other-channel',
    clause: on.promise(1, 'one journal for all channels'),
    does: 'sends a command that has ended on one channel a second time on the other, and recalls it there',
    mustSee: 'the same ending, and Recall: final',
    async run(exam) {
      const channel = exam.other();
      const { order, ending } = lastDone(exam);
      const again = await exam.repeat(order, { channel });
      must(isSameEnding(again, ending), `On ${channel} it was answered ${describe(again)}.`);
      const { state } = await exam.recall(order.id, { channel });
      must(state === 'final', `On ${channel} Recall says ${state}.`);
    },
  },
  {
    id: 'doubled-late',
    clause: on.promise(1, 'It is read first, before `startBy` and `busy` are checked.'),
    does: 'sends a command that has ended a second time, with a startBy that has passed',
    mustSee: 'the same ending, and not expired',
    async run(exam) {
      const { order, ending } = lastDone(exam);
      const again = await exam.repeat(order, { startInMs: -5_000 });
      must(isSameEnding(again, ending), `It was answered ${describe(again)} instead of ${describe(ending)}.`);
    },
  },
  {
    id: 'recall-final',
    clause: on.promise(3, '**Recall always works**, whatever the device is doing.'),
    does: 'recalls a command that has ended',
    mustSee: 'final, with the outcome and the report of its ending',
    async run(exam) {
      const { order, ending } = lastDone(exam);
      const { state, outcome, report } = await exam.recall(order.id);
      must(state === 'final' && outcome !== undefined, `Recall says ${state}.`);
      must(
        isSameEnding({ outcome, report: report ?? {} }, ending),
        `Recall reports ${outcome} ${JSON.stringify(report)} instead of ${describe(ending)}.`,
      );
    },
  },
  {
    id: 'last-transaction',
    clause: on.commands('**LastTransaction**: the last ledger command that ran'),
    does: 'asks for the last transaction',
    mustSee: 'the command that ended last, approved',
    async run(exam) {
      const last = doneOf(exam, plainWork(exam).name, 'PrintReceipt').at(-1) ?? lastDone(exam);
      const { outcome, report = {} } = await exam.ask('LastTransaction');
      must(outcome === 'done', `It was answered ${outcome}.`);
      must(report['commandId'] === last.order.id, `commandId is ${String(report['commandId'])} and should be ${last.order.id}.`);
      must(report['state'] === 'approved', `state is ${String(report['state'])}.`);
      must(report['kind'] === last.order.name, `kind is ${String(report['kind'])}.`);
    },
  },
  {
    id: 'abort-of-what-is-over',
    clause: on.commands('If the bank is already being asked or the Pay has ended, the Abort is `refused`.'),
    does: 'aborts a command that has ended done',
    mustSee: 'refused, and Recall: still final done',
    async run(exam) {
      const { order, ending } = lastDone(exam);
      const { outcome } = await exam.ask('Abort', { target: order.id });
      must(outcome === 'refused', `Abort of the command that was done was answered ${outcome}.`);
      const recalled = await exam.recall(order.id);
      must(recalled.outcome === ending.outcome, `After it Recall says ${JSON.stringify(recalled)}.`);
    },
  },
];

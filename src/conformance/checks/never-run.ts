// Commands that must not run: refused, late, for another kind of device, or with a tombstone. Each ending is written and final.
import { type Check, on } from '../check.ts';
import { describe, type Exam, type Order } from '../exam.ts';
import { must } from '../verdict.ts';
import { plainWork } from '../work.ts';

/** The ending replaces `accepted`, is repeated for the same id, and is reported by Recall. */
async function endsAtOnce(exam: Exam, order: Order, outcome: string): Promise<void> {
  const first = await exam.nextAnswer(order.id, 0);
  must(first !== undefined, `${order.name} was not answered.`);
  exam.see(`${order.name}: ${describe(first)}`);
  must(first.outcome === outcome, `It was answered ${describe(first)} instead of ${outcome}.`);
  const again = await exam.repeat(order);
  must(again.outcome === outcome, `The same id again, in time, was answered ${describe(again)} instead of ${outcome}.`);
  const recalled = await exam.recall(order.id);
  must(recalled.state === 'final' && recalled.outcome === outcome, `Recall says ${JSON.stringify(recalled)} instead of final ${outcome}.`);
}

export const neverRunChecks: readonly Check[] = [
  {
    id: 'wrong-arguments',
    clause: on.commands('is `refused` with a `reason`, without `accepted`; that is its outcome, written and final'),
    does: 'sends ledger commands without an amount, with an amount below zero and with a third decimal',
    mustSee: 'refused, the same when it is sent again, and Recall: final refused',
    async run(exam) {
      const { name, args } = plainWork(exam);
      for (const amount of [undefined, -1, 1.001]) {
        const order = await exam.order(name, { ...args, amount });
        await endsAtOnce(exam, order, 'refused');
      }
    },
  },
  {
    id: 'unsupported-is-written',
    clause: on.commands('`unsupported` is its outcome, written into the journal, and final'),
    does: 'sends a ledger command of the other kind of device',
    mustSee: 'unsupported, the same when it is sent again, and Recall: final unsupported',
    async run(exam) {
      const name = exam.kind === 'terminal' ? 'MoneyIn' : 'Pay';
      const args = { amount: exam.amount, ...(name === 'Pay' && { currency: 'MDL' }) };
      await endsAtOnce(exam, await exam.order(name, args), 'unsupported');
    },
  },
  {
    id: 'late',
    clause: on.promise(2, 'After `startBy` nothing begins: `expired`.'),
    does: 'sends a command whose startBy has passed, then the same id with a new startBy',
    mustSee: 'expired both times, and Recall: final expired',
    async run(exam) {
      const { name, args } = plainWork(exam);
      await endsAtOnce(exam, await exam.order(name, args, { startInMs: -5_000 }), 'expired');
    },
  },
  {
    id: 'recall-unknown',
    clause: on.promise(3, 'For an unknown id the tombstone `never` is written first and answered afterwards'),
    does: 'recalls an id that was never sent, twice',
    mustSee: 'never, both times',
    async run(exam) {
      const target = exam.newId();
      for (const time of ['first', 'second']) {
        const { state } = await exam.recall(target);
        must(state === 'never', `The ${time} Recall says ${state}.`);
      }
    },
  },
  {
    id: 'recalled-then-sent',
    clause: on.promise(3, 'if the command arrives later, `never` is its answer'),
    does: 'recalls an id, then sends the command, on every channel',
    mustSee: 'never, and nothing runs',
    async run(exam) {
      const { name, args } = plainWork(exam);
      const id = exam.newId();
      await exam.recall(id);
      await keepsTombstone(exam, { id, name, args });
    },
  },
  {
    id: 'abort-unknown',
    clause: on.commands('For an unknown id write a tombstone as for Recall; the Abort is then `done`.'),
    does: 'aborts an id that was never sent, then sends the command',
    mustSee: 'done, then never; Recall: never',
    async run(exam) {
      const { name, args } = plainWork(exam);
      const id = exam.newId();
      const answer = await exam.ask('Abort', { target: id });
      must(answer.outcome === 'done', `Abort of an id never seen was answered ${describe(answer)}.`);
      await keepsTombstone(exam, { id, name, args });
      const { state } = await exam.recall(id);
      must(state === 'never', `Recall says ${state}.`);
    },
  },
  {
    id: 'no-target',
    clause: on.commands('It is always `done`, with the `state`, and may be repeated; only a Recall without a `target` is `refused`'),
    does: 'sends Recall and Abort without a target',
    mustSee: 'refused',
    async run(exam) {
      for (const name of ['Recall', 'Abort']) {
        const { outcome } = await exam.ask(name);
        must(outcome === 'refused', `${name} was answered ${outcome}.`);
      }
    },
  },
];

/** A command with a tombstone is answered `never` on every channel, and nothing follows. */
export async function keepsTombstone(exam: Exam, { id, name, args }: Order): Promise<void> {
  for (const channel of exam.bench.live) {
    const before = exam.bench.answersTo(id).length;
    await exam.order(name, args, { id, channel });
    const answer = await exam.nextAnswer(id, before);
    must(answer !== undefined, `The buried ${name} was not answered on ${channel}.`);
    exam.see(`the buried ${name} on ${channel}: ${describe(answer)}`);
    must(answer.outcome === 'never', `The buried ${name} was answered ${describe(answer)} on ${channel}.`);
  }
}

// Power cuts: the journal must survive, and a running command must get an ending.
import { type Check, on } from '../check.ts';
import { describe, type Exam } from '../exam.ts';
import { must, untested } from '../verdict.ts';
import { isSameEnding, lastDone, letWait, plainWork } from '../work.ts';
import { payToVoid } from './money-back.ts';
import { keepsTombstone } from './never-run.ts';

interface Restart {
  before: { bootId: string | undefined; journalId: string | undefined };
  after: { bootId: string | undefined; journalId: string | undefined };
}

const notRebooted = 'The power was not cut: give a --reboot-command, or run it in a terminal without --no-reboot to do it by hand.';

async function restart(exam: Exam): Promise<Restart> {
  const { reboot } = exam.person;
  if (reboot === undefined) untested(notRebooted);
  const before = exam.bench.presences.at(-1)?.presence;
  const received = exam.bench.presences.length;
  const channels = exam.bench.live.length;
  await reboot().catch((error: unknown) => untested(`The device could not be restarted: ${(error as Error).message}`));
  const after = await exam.bench.until(
    () => exam.bench.presences.slice(received).find(({ presence }) => presence.online && presence.bootId !== before?.bootId),
    exam.pace.rebootMs,
  );
  must(
    after !== undefined,
    exam.bench.presences.length > received
      ? 'The device came back with its old bootId; each start must have a new one.'
      : `The device was not back after ${exam.pace.rebootMs / 1000} s.`,
  );
  // Give every channel of the device time to reconnect as well.
  await exam.bench.until(() => (exam.bench.live.length >= channels ? true : undefined), exam.pace.backMs);
  return {
    before: { bootId: before?.bootId, journalId: before?.journalId },
    after: { bootId: after.presence.bootId, journalId: after.presence.journalId },
  };
}

export const rebootChecks: readonly Check[] = [
  {
    id: 'restart',
    clause: on.presence('Make a new `journalId` whenever the journal starts empty, and at no other time.'),
    does: 'cuts the power while nothing runs, then checks the journal: an ending, a tombstone, an expired command',
    mustSee: 'a new bootId, the same journalId, the same endings, and nothing runs again',
    async run(exam) {
      const { order, ending } = lastDone(exam);
      const { name, args } = plainWork(exam);
      const buried = { id: exam.newId(), name, args };
      await exam.recall(buried.id);
      const late = await exam.order(name, args, { startInMs: -5_000 });
      await exam.nextAnswer(late.id, 0);

      const { before, after } = await restart(exam);
      must(
        after.journalId === before.journalId,
        `journalId was ${String(before.journalId)} and is ${String(after.journalId)}: the journal is a new one.`,
      );
      const recalled = await exam.recall(order.id);
      must(
        recalled.state === 'final' && recalled.outcome !== undefined,
        `Recall of a command that was done before the restart says ${recalled.state}.`,
      );
      must(
        isSameEnding({ outcome: recalled.outcome, report: recalled.report ?? {} }, ending),
        `Recall says ${JSON.stringify(recalled)} instead of ${describe(ending)}.`,
      );
      const again = await exam.repeat(order);
      must(isSameEnding(again, ending), `The command that was done before the restart was answered ${describe(again)}.`);
      await keepsTombstone(exam, buried);
      const lateAgain = await exam.repeat(late);
      must(lateAgain.outcome === 'expired', `A command that was expired before the restart was answered ${describe(lateAgain)}.`);
    },
  },
  {
    id: 'restart-while-it-runs',
    clause: on.promise(6, 'A command that was not begun had no effect: `refused`.'),
    does: 'cuts the power while a command waits for the card',
    mustSee: 'the command ends refused, as its answer or by Recall, and does not run on',
    async run(exam) {
      const order = await letWait(exam);
      await restart(exam);
      const ended = await exam.bench.until(() => exam.endingOf(order.id), exam.pace.atOnceMs);
      if (ended) exam.see(`unasked: ${describe(ended)}`);
      const recalled = await exam.recall(order.id);
      must(recalled.state !== 'running', 'Recall says running: the interrupted command got no ending.');
      must(recalled.state !== 'never', 'Recall says never: the device forgot that it had accepted the command.');
      if (recalled.state === 'final' && recalled.outcome === 'done') untested('The customer paid before the power was cut.');
      must(
        recalled.state === 'final' && recalled.outcome === 'refused',
        `Recall says ${JSON.stringify(recalled)}; the command had not begun, so it must be refused.`,
      );
    },
  },
  {
    id: 'restart-at-the-bank',
    clause: on.promise(
      6,
      'After a power cut, a command that was begun and has no answer is looked up at the bank or in the fiscal memory.',
    ),
    kind: 'terminal',
    does: 'voids a payment and cuts the power as soon as the void was accepted, while the bank is asked',
    mustSee: 'done or refused, as its answer and by Recall; the bank day at the end shows whether it is true',
    async run(exam) {
      if (exam.person.reboot === undefined) untested(notRebooted);
      const { name, args } = await payToVoid(exam);
      const order = await exam.order(name, args);
      const first = await exam.nextAnswer(order.id, 0);
      must(first !== undefined, `${name} ${order.id} was not answered; accepted must be sent at once.`);
      await restart(exam);
      const unasked = await exam.bench.until(() => exam.endingOf(order.id), exam.pace.atOnceMs);
      if (unasked) exam.see(`unasked: ${describe(unasked)}`);
      const recalled = await exam.recall(order.id);
      must(recalled.state === 'final', `Recall of ${name} ${order.id} says ${recalled.state}: it was accepted before the power was cut.`);
      must(
        recalled.outcome === 'done' || recalled.outcome === 'refused',
        `${name} ${order.id} ended ${String(recalled.outcome)}: the bank knows its outcome.`,
      );
      const again = await exam.repeat(order);
      must(
        isSameEnding(again, { outcome: recalled.outcome, report: recalled.report ?? {} }),
        `${name} ${order.id} was answered ${describe(again)}; Recall said ${recalled.outcome}.`,
      );
    },
  },
];

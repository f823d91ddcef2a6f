// Events while a command waits for its customer: a repeat, another command, Recall and Status, an Abort, a lost connection, answerBy.
import { type Check, on } from '../check.ts';
import { describe } from '../exam.ts';
import { must, untested } from '../verdict.ts';
import { letWait, plainWork, stillRunning } from '../work.ts';

export const runningChecks: readonly Check[] = [
  {
    id: 'doubled-while-it-runs',
    clause: on.promise(1, 'answer `accepted` while it runs, later repeat the written outcome'),
    does: 'sends a running command again, on every channel',
    mustSee: 'accepted, each time',
    async run(exam) {
      const order = await letWait(exam);
      for (const channel of exam.bench.live) {
        const again = await exam.repeat(order, { channel });
        if (again.outcome === 'done' || again.outcome === 'refused') stillRunning(exam, order);
        must(again.outcome === 'accepted', `On ${channel} the running command was answered ${describe(again)}.`);
      }
    },
  },
  {
    id: 'recall-running',
    clause: on.promise(3, '**Recall always works**, whatever the device is doing.'),
    does: 'recalls a command that runs',
    mustSee: 'running',
    async run(exam) {
      const order = await letWait(exam);
      const { state } = await exam.recall(order.id);
      stillRunning(exam, order);
      must(state === 'running', `Recall of the running command says ${state}.`);
    },
  },
  {
    id: 'questions-while-it-runs',
    clause: on.promise(4, 'The four other commands are always served.'),
    does: 'asks Status and LastTransaction while a command runs',
    mustSee: 'done both times; the last transaction is the running one',
    async run(exam) {
      const order = await letWait(exam);
      const status = await exam.ask('Status');
      must(status.outcome === 'done', `Status was answered ${describe(status)}.`);
      const { outcome, report = {} } = await exam.ask('LastTransaction');
      stillRunning(exam, order);
      must(outcome === 'done', `LastTransaction was answered ${outcome}.`);
      must(report['commandId'] === order.id && report['state'] === 'running', `LastTransaction says ${JSON.stringify(report)}.`);
    },
  },
  {
    id: 'busy',
    clause: on.promise(4, 'A second ledger command gets `busy` until the first has ended.'),
    does: 'sends a second ledger command while one runs, and sends it again when the first has ended',
    mustSee: 'busy, and always busy for that id',
    async run(exam) {
      const order = await letWait(exam);
      const { name, args } = plainWork(exam);
      const second = await exam.order(name, args);
      const answer = await exam.nextAnswer(second.id, 0);
      stillRunning(exam, order);
      must(answer?.outcome === 'busy', `The second command was answered ${describe(answer)}.`);
      await exam.ask('Abort', { target: order.id });
      await exam.ending(order);
      const later = await exam.repeat(second);
      must(later.outcome === 'busy', `Sent again when the device was free, it was answered ${describe(later)}.`);
      const recalled = await exam.recall(second.id);
      must(recalled.state === 'final' && recalled.outcome === 'busy', `Recall says ${JSON.stringify(recalled)}.`);
    },
  },
  {
    id: 'abort',
    clause: on.commands('The Abort is then `done`, and the Pay ends `refused` by its own answer.'),
    does: 'aborts a command that waits for the card',
    mustSee: 'done to the Abort, refused to the command, and Recall: final refused',
    async run(exam) {
      const order = await letWait(exam);
      const abort = await exam.ask('Abort', { target: order.id });
      if (abort.outcome === 'refused')
        untested('The bank was asked before the Abort arrived; let the customer take three seconds or more.');
      must(abort.outcome === 'done', `Abort was answered ${describe(abort)}.`);
      const ending = await exam.ending(order, exam.pace.atOnceMs);
      must(ending.outcome === 'refused', `After the Abort was done the command ended ${describe(ending)}.`);
      const recalled = await exam.recall(order.id);
      must(recalled.state === 'final' && recalled.outcome === 'refused', `Recall says ${JSON.stringify(recalled)}.`);
    },
  },
  {
    id: 'answer-by',
    clause: on.promise(2, 'a device that still waits for the card then ends the command `refused`'),
    does: 'sends a command whose answerBy passes while no card is presented',
    mustSee: 'refused when answerBy has passed',
    async run(exam) {
      const order = await letWait(exam, { answerInMs: exam.pace.shortAnswerMs });
      const beganMs = exam.elapsedMs();
      const ending = await exam.ending(order, exam.pace.shortAnswerMs + exam.pace.atOnceMs);
      if (ending.outcome === 'done' && exam.elapsedMs() - beganMs < exam.pace.shortAnswerMs)
        untested('The customer paid before answerBy; let the customer take three seconds or more.');
      must(ending.outcome === 'refused', `It ended ${describe(ending)}.`);
    },
  },
  {
    id: 'recaller-gets-the-ending',
    clause: on.promise(7, 'The final answer is sent to the gateway that sent the command and to every gateway that recalled it meanwhile'),
    does: 'recalls a running command in the name of another gateway, over MQTT, and aborts it',
    mustSee: "the answer to Recall and the ending at that gateway's address",
    async run(exam) {
      if (!exam.bench.live.includes('mqtt') || exam.person.lockOut === undefined)
        untested('Only the broker of this run shows what is sent to others, over MQTT.');
      const replyTo = `${exam.gatewayId}-c`;
      const sentThere = () => exam.bench.drops.filter(({ field }) => field === `answers/${replyTo}`).length;
      const order = await letWait(exam);
      await exam.send('Recall', { target: order.id }, { channel: 'mqtt', replyTo });
      await exam.bench.until(() => (sentThere() > 0 ? true : undefined), exam.pace.atOnceMs);
      const before = sentThere();
      must(before > 0, `Recall of ${order.name} ${order.id} was not answered at answers/${replyTo}.`);
      await exam.ask('Abort', { target: order.id });
      await exam.ending(order);
      const arrived = await exam.bench.until(() => (sentThere() > before ? true : undefined), exam.pace.atOnceMs);
      must(arrived !== undefined, `The ending of ${order.name} ${order.id} did not arrive at answers/${replyTo}, which had recalled it.`);
    },
  },
  {
    id: 'answers-travel',
    clause: on.promise(7, 'If none works, it is sent as soon as one is back.'),
    does: 'keeps the device off every channel while a command ends by answerBy',
    mustSee: 'the device reconnects with the same bootId, sends presence first, and then the ending without a Recall',
    async run(exam) {
      const { lockOut } = exam.person;
      if (lockOut === undefined) untested('The brokers are not those of this run, so the device cannot be kept off them.');
      const { shortAnswerMs, backMs, atOnceMs } = exam.pace;
      const bootId = exam.bench.presences.at(-1)?.presence.bootId;
      const order = await letWait(exam, { answerInMs: shortAnswerMs });
      const receivedBefore = exam.bench.presences.length;
      await lockOut(shortAnswerMs + 2_000);
      const back = await exam.bench.until(() => exam.bench.presences[receivedBefore], backMs);
      must(back !== undefined, `The device was not back ${backMs / 1000} s after it could be.`);
      must(back.presence.bootId === bootId, 'It has a new bootId although it did not restart.');
      const ending = await exam.bench.until(() => exam.endingOf(order.id), atOnceMs);
      must(ending !== undefined, 'The waiting ending was not sent after the device had reconnected.');
      exam.see(`${order.name} ended ${describe(ending)}`);
    },
  },
];

// The basic protocol: the device sends presence, answers plain commands, and ignores invalid messages.
import { readPresence } from '../../link/messages.ts';
import { mqttTopics } from '../../link/protocol.ts';
import { type Check, on } from '../check.ts';
import { missingFields } from '../report-fields.ts';
import { must, untested } from '../verdict.ts';
import { plainWork } from '../work.ts';

/** More than 1 MiB in any encoding. */
const padding = 'x'.repeat(1024 * 1024);

export const wireChecks: readonly Check[] = [
  {
    id: 'presence-at-connect',
    clause: on.presence('At once after each connect, then every 30 s, on every channel that the device uses'),
    does: 'waits for the device to connect',
    mustSee: 'presence with clock, bootId, journalId and the kind of device',
    async run(exam) {
      const [first] = exam.bench.presences;
      must(first !== undefined, 'There was no presence that could be read.');
      const { kind, bootId, journalId } = first.presence;
      exam.see(JSON.stringify(first.presence));
      must(kind === exam.kind, `kind is ${String(kind)} and should be ${exam.kind}.`);
      must(bootId !== undefined, 'There is no bootId.');
      must(
        journalId !== undefined,
        'There is no journalId: this device keeps no journal, so the gateway sends it every command only once.',
      );
    },
  },
  {
    id: 'will',
    clause: on.channels('publish to `tillgate/devices/{DeviceID}/presence`, QoS 1, never retained; the goodbye above is the will'),
    does: 'checks the MQTT login',
    mustSee: 'a clean session with keep-alive, and a will with online false on the presence topic',
    async run(exam) {
      const login = exam.bench.logins.at(-1) ?? untested('The broker is not ours, or the device does not use MQTT.');
      const { will, isClean, keepaliveS } = login;
      must(will !== undefined, 'The login had no will.');
      must(will.topic === mqttTopics.presence(exam.bench.deviceId), `The will goes to ${will.topic}.`);
      must(readPresence(will.payload, exam.bench.deviceId).message?.online === false, 'The will does not contain {"online":false}.');
      must(!will.isRetained, 'The will is retained.');
      must(isClean, 'The session is not a clean one.');
      must(keepaliveS > 0 && keepaliveS <= 60, `Keep-alive is ${keepaliveS} s.`);
      exam.see(`will, clean session, keep-alive ${keepaliveS} s`);
    },
  },
  {
    id: 'status',
    clause: on.commands('**Status**: the physical state of the device.'),
    does: 'sends Status on every channel that the device uses',
    mustSee: 'done, once, with online, battery, paper and signal',
    async run(exam) {
      for (const channel of exam.bench.live) {
        const answer = await exam.ask('Status', {}, { channel });
        must(answer.outcome === 'done', `Status was answered ${answer.outcome} on ${channel}.`);
        const missing = missingFields('Status', answer.report);
        must(missing.length === 0, `The report of Status lacks ${missing.join(', ')}.`);
      }
    },
  },
  {
    id: 'unknown-field',
    clause: on.messages('New fields may appear at any time: ignore what you do not know.'),
    does: 'sends Status with fields of a later version',
    mustSee: 'the answer to Status',
    async run(exam) {
      const answer = await exam.ask('Status', { later: [1] }, { extra: { future: { deep: ['yes'] } } });
      must(answer.outcome === 'done', `It was answered ${answer.outcome}.`);
    },
  },
  {
    id: 'unknown-name',
    clause: on.commands('A name that is not in the table is answered `unsupported` as well'),
    does: 'sends a command that does not exist',
    mustSee: 'unsupported',
    async run(exam) {
      const answer = await exam.ask('Juggle');
      must(answer.outcome === 'unsupported', `It was answered ${answer.outcome}.`);
    },
  },
  {
    id: 'reply-to',
    clause: on.command("It becomes part of the answer's address"),
    does: 'sends Status in the name of another gateway, over MQTT',
    mustSee: "the answer at that gateway's address",
    async run(exam) {
      if (!exam.bench.live.includes('mqtt') || exam.person.lockOut === undefined)
        untested('Only the broker of this run shows what is sent to others, over MQTT.');
      const replyTo = `${exam.gatewayId}-b`;
      const id = await exam.send('Status', {}, { channel: 'mqtt', replyTo });
      const there = await exam.bench.until(() => exam.bench.drops.find(({ field }) => field === `answers/${replyTo}`), exam.pace.atOnceMs);
      must(exam.bench.answersTo(id).length === 0, 'The answer went to the first gateway.');
      must(there !== undefined, `Nothing arrived at answers/${replyTo}.`);
      exam.see(`an answer at answers/${replyTo}`);
    },
  },
  {
    id: 'broken-messages',
    clause: on.messages(
      'Either side silently drops and counts a message that it cannot parse, that is larger, or that has another number in `v`',
    ),
    does: 'sends commands of version 2, of version "1", with an id that is no UUID, and one that is no object',
    mustSee: 'no answer to any of them, and Status answered afterwards',
    async run(exam) {
      const { name, args } = plainWork(exam);
      const ids = [
        await exam.send(name, args, { extra: { v: 2 } }),
        await exam.send('Status', {}, { extra: { v: '1' } }),
        await exam.send('Status', {}, { id: 'seven' }),
      ];
      await exam.bench.send(exam.first(), ['Pay']);
      await exam.silence(...ids);
      await exam.ask('Status');
    },
  },
  {
    id: 'oversized',
    clause: on.messages('UTF-8 JSON, one object, at most 1 MiB'),
    does: 'sends a command of more than 1 MiB, then recalls it',
    mustSee: 'no answer, Status answered afterwards, and Recall: never',
    async run(exam) {
      const { name, args } = plainWork(exam);
      const id = await exam.send(name, { ...args, padding });
      exam.orders.push({ id, name, args });
      await exam.silence(id);
      const back = await exam.bench.until(() => exam.bench.live[0], exam.pace.backMs);
      must(back !== undefined, 'The device did not reconnect after it.');
      const { state } = await exam.recall(id);
      must(state === 'never', `Recall says ${state}: it was accepted.`);
    },
  },
  {
    id: 'no-limits',
    clause: on.command('A ledger command (below) without `startBy` or `answerBy` is invalid: drop it.'),
    does: 'sends a ledger command without startBy and one without answerBy',
    mustSee: 'no answer, and Recall: never',
    async run(exam) {
      const { name, args } = plainWork(exam);
      for (const field of ['startBy', 'answerBy']) {
        const id = await exam.send(name, args, { extra: { [field]: undefined } });
        exam.orders.push({ id, name, args });
        await exam.silence(id);
        const { state } = await exam.recall(id);
        must(state === 'never', `Recall of the one without ${field} says ${state}: it was accepted.`);
      }
    },
  },
];

// Rules for the whole run, checked at its end.
import { canonicalJson } from '../../kernel/canonical-json.ts';
import { maskReport } from '../../kernel/card-mask.ts';
import { maskCardNumbers } from '../../kernel/card-numbers.ts';
import { clockReadingMs } from '../../kernel/clock-reading.ts';
import type { ChannelName } from '../../link/channel.ts';
import { type Check, on } from '../check.ts';
import { describe, type Exam } from '../exam.ts';
import { must, untested } from '../verdict.ts';
import { doneOf, isSameEnding } from '../work.ts';

/** A date-time with a zone. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** Allowed spread of the clock difference, because of latency. */
const clockSpreadMs = 5_000;

interface Said {
  clock: string | undefined;
  journalId: string | undefined;
  atMs: number;
}

function everythingSaid(exam: Exam): Said[] {
  return [
    ...exam.bench.presences.flatMap(({ presence, atMs }) =>
      presence.online ? [{ clock: presence.clock, journalId: presence.journalId, atMs }] : [],
    ),
    ...exam.bench.answers.map(({ answer, atMs }) => ({ clock: answer.clock, journalId: answer.journalId, atMs })),
  ].sort((one, other) => one.atMs - other.atMs);
}

export const allAlongChecks: readonly Check[] = [
  {
    id: 'own-numbers',
    clause: on.commands('each payment and each refund has its own `rrn` and `operationId`.'),
    kind: 'terminal',
    does: 'compares the numbers of all payments and refunds of the run',
    mustSee: 'no rrn and no operationId twice',
    async run(exam) {
      const done = doneOf(exam, 'Pay', 'Refund');
      for (const field of ['rrn', 'operationId'] as const) {
        const first = new Map<unknown, string>();
        for (const { order, report } of done) {
          const earlier = first.get(report[field]);
          must(earlier === undefined, `${order.name} ${order.id} reports the ${field} ${String(report[field])} of ${earlier}.`);
          first.set(report[field], `${order.name} ${order.id}`);
        }
      }
      exam.see(`${done.length} payments and refunds`);
    },
  },
  {
    id: 'no-card-number',
    clause: on.commands('No report contains a full card number: `maskedCard` has at most the first six and the last four digits.'),
    does: 'searches every answer of the run for card numbers',
    mustSee: 'none',
    async run(exam) {
      for (const { answer } of exam.bench.answers) {
        const isMasked = canonicalJson(maskReport(answer.report ?? {})) === canonicalJson(answer.report ?? {});
        must(
          isMasked && maskCardNumbers(answer.reason ?? '') === (answer.reason ?? ''),
          `The answer to ${answer.id} contains a full card number.`,
        );
      }
    },
  },
  {
    id: 'not-retained',
    clause: on.channels('QoS 1, not retained'),
    does: 'checks the retain flag of every message over MQTT',
    mustSee: 'no retained message',
    async run(exam) {
      if (!exam.bench.logins.length) untested('Only the broker of this run sees the flag.');
      const [retained] = exam.bench.retained;
      must(retained === undefined, `A message to ${retained} was published with the retain flag, ${exam.bench.retained.length} in all.`);
    },
  },
  {
    id: 'ends-known',
    clause: on.promise(
      6,
      'After a power cut, a command that was begun and has no answer is looked up at the bank or in the fiscal memory.',
    ),
    does: 'searches for commands of the run that ended unknown',
    mustSee: 'none: the bank and the fiscal memory were available all the time',
    async run(exam) {
      const lost = exam.orders.find(({ id }) => exam.endingOf(id)?.outcome === 'unknown');
      must(lost === undefined, `${lost?.name} ${lost?.id} ended unknown.`);
    },
  },
  {
    id: 'presence-goes-on',
    clause: on.time('every 30 s; the gateway counts a device as live for 75 s after the last message on that channel'),
    does: 'waits for the next presence on every channel',
    mustSee: 'one within 35 s',
    async run(exam) {
      exam.first();
      const received = exam.bench.presences.length;
      const next = (channel: ChannelName) => exam.bench.presences.slice(received).find((presence) => presence.channel === channel);
      const waits = exam.bench.live.map(async (channel) => ({
        channel,
        came: await exam.bench.until(() => next(channel), exam.pace.presenceMs),
      }));
      for (const { channel, came } of await Promise.all(waits)) {
        must(came !== undefined, `On ${channel} there was no presence for ${exam.pace.presenceMs / 1000} s.`);
        exam.see(`presence on ${channel}`);
      }
    },
  },
  {
    id: 'one-journal',
    clause: on.answer('id of your [journal](#the-seven-promises); leave it out if you keep none'),
    does: 'compares the journalId of every message of the run',
    mustSee: 'one journalId',
    async run(exam) {
      const ids = new Set(everythingSaid(exam).map(({ journalId }) => journalId));
      must(!ids.has(undefined), 'Some messages have a journalId and some have none.');
      must(ids.size === 1, `There were ${ids.size} of them: ${[...ids].slice(0, 3).join(', ')}.`);
      exam.see(`journalId ${[...ids].join()}`);
    },
  },
  {
    id: 'clock',
    clause: on.messages('Times are ISO 8601 with a zone.'),
    does: 'compares the clock of every message of the run with ours',
    mustSee: 'date-times with a zone, from a clock that goes as fast as ours',
    async run(exam) {
      const readings = everythingSaid(exam);
      const unreadable = readings.find(({ clock }) => !isoTime.test(clock ?? ''));
      must(unreadable === undefined, `clock is ${JSON.stringify(unreadable?.clock)}.`);
      const offsets = readings.map(({ clock, atMs }) => (clockReadingMs(clock) ?? 0) - atMs);
      const spreadMs = Math.max(...offsets) - Math.min(...offsets);
      must(spreadMs <= clockSpreadMs, `Its clock moved by ${(spreadMs / 1000).toFixed(1)} s against ours during the run.`);
      exam.see(`spread ${spreadMs} ms`);
    },
  },
  {
    id: 'one-ending',
    clause: on.promise(1, 'Every outcome is written and then final, also `busy`, `expired` and `never`'),
    does: 'compares all answers to each command of the run',
    mustSee: 'one ending per command, also when repeated, no accepted after it, and no answer to an id that was never sent',
    async run(exam) {
      for (const { answer } of exam.bench.answers)
        must(exam.sentIds.has(answer.id), `${answer.id} was never sent and was answered ${describe(answer)}.`);
      for (const { id, name } of exam.orders) {
        const answers = exam.bench.answersTo(id).map(({ answer }) => answer);
        const [ending, ...later] = answers.slice(answers.findIndex(({ outcome }) => outcome !== 'accepted'));
        const other = later.find((answer) => ending?.outcome !== 'accepted' && ending && !isSameEnding(answer, ending));
        must(other === undefined, `${name} ${id} ended ${describe(ending)} and later was answered ${describe(other)}.`);
      }
      exam.see(`${exam.orders.length} commands`);
    },
  },
  {
    id: 'nothing-dropped',
    clause: on.answer('A message that names another device than its login is dropped'),
    does: 'checks the dropped messages of the device during the run',
    mustSee: 'nothing',
    async run(exam) {
      const drops = exam.bench.drops.filter(({ field }) => !field?.startsWith(`answers/${exam.gatewayId}-`));
      const [first] = drops;
      must(
        first === undefined,
        `${drops.length} were dropped; the first on ${first?.channel}: ${first?.reason}, ${first?.field === undefined ? '' : `${first.field}: `}${first?.why ?? ''}.`,
      );
      exam.see('nothing was dropped');
    },
  },
];

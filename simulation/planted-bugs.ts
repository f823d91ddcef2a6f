// Mistakes that a gateway could make, planted from outside, to show that the simulation would notice them.
// Where a good device hides the mistake, the plan is altered so that it cannot: no journals, more crashes.
import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import type { SqliteExecutor } from '../src/database/sqlite/driver.ts';
import type { Channel, ChannelListener } from '../src/link/channel.ts';
import type { Link } from '../src/link/link.ts';
import type { Plan } from './plan.ts';

export interface PlantedBug {
  name: string;
  alterChannel?: (channel: Channel) => Channel;
  alterLink?: (link: Link) => Link;
  alterDatabase?: (database: Database) => Promise<void>;
  alterSql?: (text: string) => string;
  /** What the dead process loses besides; runs before the next one starts. */
  onCrash?: (storage: SqliteExecutor, nowMs: number) => Promise<void>;
  alterPlan?: (plan: Plan) => Plan;
}

const minuteMs = 60_000;
const withoutJournals = (plan: Plan): Plan => ({ ...plan, devices: plan.devices.map((device) => ({ ...device, hasJournal: false })) });
const withJournals = (plan: Plan): Plan => ({ ...plan, devices: plan.devices.map((device) => ({ ...device, hasJournal: true })) });
const often = (plan: Plan, changes: Partial<Plan['every']>): Plan => ({ ...plan, every: { ...plan.every, ...changes } });
const lossy = (plan: Plan): Plan => ({ ...plan, weather: { ...plan.weather, lossRate: 0.05 } });

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'publishes before the commit',
    // Seen from outside: the process dies, the command is out, and its row is not there.
    async onCrash(storage, nowMs) {
      await storage.run(
        `delete from command_events where command_id in (select id from commands where state = 'sent' and issued_at > ? - 20000)`,
        [BigInt(nowMs)],
        'alone',
      );
      await storage.run(`delete from commands where state = 'sent' and issued_at > ? - 20000`, [BigInt(nowMs)], 'alone');
    },
    alterPlan: (plan) => often(plan, { 'gateway-crash': 4 * minuteMs }),
  },
  {
    name: 'sends again under a new id after a timeout',
    alterLink: (link) => ({
      ...link,
      async carry(delivery) {
        const result = await link.carry(delivery);
        if (result.kind !== 'timeout' && result.kind !== 'silent') return result;
        // With a time of its own, or the fence would hold it back.
        const fence = link.fence(delivery.deviceId, delivery.fence.answerWithinMs);
        return link.carry({ ...delivery, fence, id: delivery.id.replace(/^.{8}/, 'ffffffff') });
      },
    }),
    alterPlan: lossy,
  },
  {
    name: 'treats a timeout as failed',
    alterLink: (link) => ({
      ...link,
      async carry(delivery) {
        // It does not write down `accepted` either, which would keep it from settling so.
        const result = await link.carry({ ...delivery, onAccepted: () => {} });
        return result.kind === 'timeout' || result.kind === 'silent' ? { kind: 'not-sent', reason: 'No answer.' } : result;
      },
    }),
    alterPlan: lossy,
  },
  {
    name: 'believes every never, from whatever journal',
    alterLink: (link) => {
      const journals = new Map<string, string | undefined>();
      return {
        ...link,
        async carry(delivery) {
          journals.set(delivery.id, delivery.journalId);
          // It does not remember `accepted` either, which would give the lie away.
          const onStep: typeof delivery.onStep = (step) => (step.step === 'accepted' ? undefined : delivery.onStep(step));
          const result = await link.carry({ ...delivery, onStep, onAccepted: () => {} });
          return result.kind === 'ended' ? { ...result, journalId: delivery.journalId, wasAccepted: false } : result;
        },
        async ask(deviceId, question) {
          const answer = await link.ask(deviceId, question);
          const journalId = journals.get(String(question.args['target']));
          return answer && question.name === 'Recall' && journalId !== undefined ? { ...answer, journalId } : answer;
        },
      };
    },
    // Answers get lost, and so do the journals that would know them.
    alterPlan: (plan) => ({
      ...often(withJournals(plan), { 'journal-loss': minuteMs, 'device-cut': 2 * minuteMs, 'gateway-crash': Number.POSITIVE_INFINITY }),
      weather: { ...plan.weather, lossRate: 0.35, maxDelayMs: 300 },
    }),
  },
  {
    name: 'sends a second copy to a device without a journal',
    // It takes every device for one that keeps a journal.
    alterChannel: (channel) =>
      Object.assign(Object.create(channel) as Channel, {
        start: (listener: ChannelListener) =>
          channel.start({
            ...listener,
            presence: (name, deviceId, presence) => listener.presence(name, deviceId, { journalId: 'assumed', ...presence }),
          }),
      }),
    alterPlan: (plan) => withoutJournals(lossy(plan)),
  },
  {
    name: 'never asks again',
    alterLink: (link) => ({
      ...link,
      ask: async (deviceId, question) => (question.name === 'Recall' ? undefined : link.ask(deviceId, question)),
      onLateAnswer: () => () => {},
    }),
    alterPlan: (plan) => often(withJournals(lossy(plan)), { 'gateway-crash': 10 * minuteMs }),
  },
  {
    name: 'has no lock on the device',
    async alterDatabase(database) {
      await sql`drop index one_open_command_per_device`.execute(database.queries);
      await sql`drop index one_holder_per_device`.execute(database.queries);
    },
    alterPlan: (plan) => ({ ...withoutJournals(plan), devices: plan.devices.map((device) => ({ ...device, cashiers: 2 })) }),
  },
  {
    name: 'settles without a guard',
    alterSql: (text) => (text.startsWith('update "commands" set "state"') ? text.replace(` and state in ('sent', 'unknown')`, '') : text),
    alterPlan: (plan) => ({ ...withJournals(plan), weather: { ...plan.weather, duplicateRate: 0.3, maxDelayMs: 4_000 } }),
  },
  {
    name: 'loses callbacks in a crash',
    async onCrash(storage, nowMs) {
      await storage.run(
        `delete from callback_attempts where callback_id in (select id from callbacks where state = 'pending')`,
        [],
        'alone',
      );
      await storage.run(`delete from callbacks where state = 'pending' and created_at > ? - 60000`, [BigInt(nowMs)], 'alone');
    },
    alterPlan: (plan) => ({ ...often(plan, { 'gateway-crash': 3 * minuteMs }), failingCallbackRate: 0.5 }),
  },
];

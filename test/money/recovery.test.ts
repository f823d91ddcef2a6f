// What the new core does without a call: what its sweeps find, devices that are back, and late answers.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import type { LateAnswerListener, SeenListener } from '../../src/link/incoming.ts';
import type { Link } from '../../src/link/link.ts';
import type { DeviceSnapshot } from '../../src/link/sightings.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import type { Event } from '../../src/money/event.ts';
import { createLateAnswers, type LateAnswers } from '../../src/money/late-answers.ts';
import type { Asked } from '../../src/money/recall.ts';
import { createRecovery, type Recovery } from '../../src/money/recovery.ts';
import { createReturns } from '../../src/money/returns.ts';
import type { Ran } from '../../src/money/run.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const minuteMs = 60_000;
let clock: VirtualClock;
let database: Database;
let merchantId: string;
let events: Event[];
let fails: (event: Event) => boolean;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  events = [];
  fails = () => false;
});
afterEach(() => database.close());

const run = async (event: Event): Promise<Ran> => {
  events.push(event);
  if (fails(event)) throw new Error('This one fails.');
  return {} as Ran;
};

type Overrides = Parameters<typeof seedCommand>[3];
/** Each on a device of its own, because an open one locks it. */
async function operation(overrides: Overrides = {}): Promise<{ id: string; deviceId: string }> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const sent = { instance_id: 'here', journal_id: 'journal', answer_by: clock.now() + minuteMs };
  return { ...(await seedCommand(database.queries, merchantId, deviceId, { ...sent, ...overrides })), deviceId };
}
const decided = () =>
  operation({ state: 'refused', settled_by: 'person', settled_at: clock.now() - 1, is_to_confirm: 1, is_unconfirmed: 1 });
const abandoned = () => operation({ answer_by: clock.now() - 6_000, next_recall_at: clock.now() + 60 * minuteMs });

describe('recovery', () => {
  let recovery: Recovery;
  let asked: string[];
  let compared: string[];
  let executing: Set<string>;
  let seen: SeenListener;
  let late: LateAnswerListener;
  let looked: AnswerMessage[];

  beforeEach(() => {
    [asked, compared, executing, looked] = [[], [], new Set(), []];
    const answered = { said: 'nothing', isOwn: false } as const;
    const presence = { isLiveAnywhere: () => true, journalOf: () => 'journal' } as unknown as Link['presence'];
    recovery = createRecovery({
      ...{ database, clock, run, logger: quietLogger, instanceId: 'here' },
      link: {
        presence,
        onSeen(listener) {
          seen = listener;
          return () => {};
        },
        onLateAnswer(listener) {
          late = listener;
          return () => {};
        },
      },
      recall: {
        ask: async ({ id }) => (asked.push(id), answered),
        compare: async ({ id }) => (compared.push(id), answered),
      },
      lateAnswers: { take: async (_deviceId, answer) => void looked.push(answer) },
      sending: { has: (id) => executing.has(id), count: 0 },
    });
  });
  afterEach(() => recovery.stop());

  it('asks about what is due, ends what a dead call has left, tells people what stays open, and asks about decisions', async () => {
    const [due, dead] = [await operation(), await abandoned()];
    const long = { state: 'unknown', answer_by: clock.now() - 16 * minuteMs, next_recall_at: clock.now() + 60 * minuteMs } as const;
    const overdue = await operation(long);
    const decision = await decided();
    const own = await operation({ answer_by: clock.now() - 6_000 });
    executing.add(own.id);
    recovery.start();
    await clock.advance(10);
    expect(asked).toEqual([due.id]);
    expect(events).toEqual([
      { type: 'Deadline', id: dead.id },
      { type: 'Overdue', id: overdue.id },
    ]);
    expect(compared).toEqual([decision.id]);
    await clock.advance(2_000);
    expect(asked).toEqual([due.id, due.id]);
    // The next question about the decision is due when it is ten seconds old.
    expect(compared).toEqual([decision.id]);
  });

  it('an event that fails holds up no other one, and waits before it is tried again', async () => {
    const two = [await abandoned(), await abandoned()].map(({ id }) => id);
    const idOf = (event: Event | undefined) => (event && 'id' in event ? event.id : undefined);
    // Whichever comes first.
    fails = (event) => idOf(event) === idOf(events[0]);
    recovery.start();
    await clock.advance(4_500);
    const first = idOf(events[0]);
    const times = (id: string | undefined) => events.filter((event) => idOf(event) === id).length;
    expect([times(first), times(two.find((id) => id !== first))]).toEqual([1, 3]);
    await clock.advance(2_000);
    expect(times(first)).toBe(2);
  });

  it('each sweep runs, whatever becomes of the one before it', async () => {
    const [dead, decision] = [await abandoned(), await decided()];
    fails = ({ type }) => {
      if (type === 'Deadline') throw databaseDown('away');
      return false;
    };
    recovery.start();
    await clock.advance(10);
    expect(events).toEqual([{ type: 'Deadline', id: dead.id }]);
    expect(compared).toEqual([decision.id]);
  });

  it('asks a device that is back at once, and about decisions', async () => {
    const open = await operation({ state: 'unknown', next_recall_at: clock.now() + minuteMs });
    const decision = await decided();
    await database.queries
      .updateTable('commands')
      .set({ next_recall_at: clock.now() + minuteMs })
      .where('id', '=', decision.id)
      .execute();
    recovery.start();
    await clock.advance(10);
    expect([asked, compared]).toEqual([[], []]);
    const snapshot = {} as DeviceSnapshot;
    seen(open.deviceId, snapshot);
    seen(decision.deviceId, snapshot);
    await clock.advance(10);
    expect([asked, compared]).toEqual([[open.id], [decision.id]]);
    late(open.deviceId, { id: open.id } as AnswerMessage, 'mqtt');
    expect(looked).toEqual([{ id: open.id }]);
    recovery.stop();
    seen(open.deviceId, snapshot);
    await clock.advance(10_000);
    expect(asked).toEqual([open.id]);
  });
});

describe('devices that are back', () => {
  let looks: string[][];
  let rounds: string[];
  let looking: Promise<void>;
  let round: Promise<void>;

  const returns = () => {
    [looks, rounds, looking, round] = [[], [], Promise.resolve(), Promise.resolve()];
    return createReturns({
      logger: quietLogger,
      async leftBy(devices) {
        looks.push([...devices]);
        await looking;
        return { open: [] as Asked[], withDecisions: devices };
      },
      askOpen: () => {},
      async askAboutDecisions(deviceId) {
        rounds.push(deviceId);
        await round;
      },
    });
  };

  it('are looked up together, also those that come back meanwhile', async () => {
    const { isBack } = returns();
    const { promise, resolve } = Promise.withResolvers<void>();
    looking = promise;
    for (const deviceId of ['a', 'b', 'c', 'b']) isBack(deviceId);
    await clock.settle();
    resolve();
    await clock.settle();
    expect(looks).toEqual([['a'], ['b', 'c']]);
  });

  it('are asked once more for all their returns while they are asked', async () => {
    const { isBack } = returns();
    const { promise, resolve } = Promise.withResolvers<void>();
    round = promise;
    for (let times = 0; times < 3; times += 1) {
      isBack('a');
      await clock.settle();
    }
    expect(rounds).toEqual(['a']);
    round = Promise.resolve();
    resolve();
    await clock.settle();
    expect(rounds).toEqual(['a', 'a']);
    isBack('a');
    await clock.settle();
    expect(rounds).toHaveLength(3);
  });
});

describe('a late answer', () => {
  let answers: LateAnswers;
  let accepted: string[];
  let unmatched: object[];

  beforeEach(() => {
    [accepted, unmatched] = [[], []];
    answers = createLateAnswers({
      ...{ clock, database, run, logger: quietLogger },
      notes: { accepted: (id) => void accepted.push(id), wasAccepted: (id) => accepted.includes(id) },
      unmatched: { keepAnswer: async (answer) => void unmatched.push(answer) },
    });
  });
  const said = (id: string, outcome = 'done') => ({ id, outcome, report: {}, journalId: 'journal' }) as unknown as AnswerMessage;

  it('is an event of an operation of this device; of another one it is kept for a person', async () => {
    const { id, deviceId } = await operation();
    await answers.take(deviceId, said(id, 'accepted'));
    await answers.take(deviceId, said(id));
    const { deviceId: other } = await operation();
    await answers.take(other, said(id));
    expect(accepted).toEqual([id]);
    expect(events).toMatchObject([{ type: 'Report', id, outcome: 'done', source: 'late-answer', journalId: 'journal', wasAccepted: true }]);
    expect(unmatched).toMatchObject([{ id, deviceId: other, outcome: 'done' }]);
  });

  it('is looked at, however many came before it', async () => {
    const { id, deviceId } = await operation();
    for (let times = 0; times < 30; times += 1) await answers.take(deviceId, said(id));
    expect(events).toHaveLength(30);
  });
});

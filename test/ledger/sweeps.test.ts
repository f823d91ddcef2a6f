// What the background does about commands that stayed open, with a device's answers that a test holds in its hand.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import { Recovery } from '../../src/ledger/settling/recovery.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

type Deps = ConstructorParameters<typeof Recovery>[0];

let clock: VirtualClock;
let database: Database;
let recovery: Recovery;
let logger: ReturnType<typeof recordingLogger>;
let merchantId: string;
let inFlight: Set<string>;
let asked: { id: string; isDeviceBack: boolean | undefined; atMs: number }[];
let asking: () => Promise<Command>;
let rechecked: string[];
let live: Set<string>;
let rechecking: () => Promise<void>;
let tried: string[];
let unknown: string[];
/** What comes of the commands that cannot be ended. */
let refusals: Map<string, Error>;
let events: Omit<CommandEvent, 'atMs'>[];
let listeners: { lateAnswer?: (deviceId: string, answer: AnswerMessage) => void; seen?: (deviceId: string) => void };
let isDown: boolean;
/** Of one statement. */
let mostRows: number;
let afterLook: (() => Promise<unknown>) | undefined;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  const living = { host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: clock.now() * 2, stopped_at: null };
  const rows = ['here', 'there'].map((id) => ({ ...living, id }));
  await database.queries.insertInto('instances').values(rows).execute();
  inFlight = new Set();
  asked = [];
  asking = async () => ({}) as Command;
  rechecked = [];
  live = new Set();
  rechecking = async () => {};
  tried = [];
  unknown = [];
  refusals = new Map();
  events = [];
  listeners = {};
  isDown = false;
  mostRows = 0;
  afterLook = undefined;
  logger = recordingLogger();
  const failing = database.queries.withPlugin({
    transformQuery({ node }) {
      if (isDown) throw databaseDown('away');
      return node;
    },
    async transformResult({ result }) {
      mostRows = Math.max(mostRows, result.rows.length);
      const next = afterLook;
      afterLook = undefined;
      await next?.();
      return result;
    },
  });
  const deps = {
    database: { ...database, queries: failing },
    clock,
    logger,
    instanceId: 'here',
    inFlight: {
      has: (id: string) => inFlight.has(id),
      get count() {
        return inFlight.size;
      },
    },
    timeline: { add: (event: CommandEvent) => events.push(event) },
    recall: {
      ask({ id }: Command, isDeviceBack?: boolean) {
        asked.push({ id, isDeviceBack, atMs: clock.elapsed() });
        return asking();
      },
      recheck({ id }: Command) {
        rechecked.push(id);
        return rechecking();
      },
    },
    settlements: {
      async becomeUnknown({ id }: Command) {
        tried.push(id);
        const refusal = refusals.get(id);
        if (refusal) throw refusal;
        unknown.push(id);
      },
    },
    lateAnswers: { settle: () => Promise.reject(databaseDown('away')) },
    link: {
      presence: { journalOf: () => undefined, isLiveAnywhere: (id: string) => live.has(id) },
      onLateAnswer(listener: typeof listeners.lateAnswer) {
        listeners = { ...listeners, ...(listener && { lateAnswer: listener }) };
        return () => delete listeners.lateAnswer;
      },
      onSeen(listener: typeof listeners.seen) {
        listeners = { ...listeners, ...(listener && { seen: listener }) };
        return () => delete listeners.seen;
      },
    },
  };
  recovery = new Recovery(deps as unknown as Deps);
});

async function open(overrides: object = {}, deviceId?: string): Promise<string> {
  const device = deviceId ?? (await seedDevice(database.queries, merchantId)).id;
  const due = { state: 'unknown' as const, instance_id: 'here', answer_by: clock.now() + 300_000, ...overrides };
  return (await seedCommand(database.queries, merchantId, device, due)).id;
}
const askedIds = () => asked.map(({ id }) => id);

describe('the background', () => {
  it('queries at once and every two seconds, until it is stopped', async () => {
    const id = await open();
    recovery.start();
    await clock.advance(4_500);
    expect(asked).toEqual([0, 2_000, 4_000].map((atMs) => ({ id, isDeviceBack: false, atMs })));
    recovery.stop();
    await clock.advance(60_000);
    expect(asked).toHaveLength(3);
    expect([listeners, clock.pending]).toEqual([{}, 0]);
  });

  it('asks about no command in flight here, not due yet, or of a live instance', async () => {
    inFlight.add(await open());
    await open({ next_recall_at: clock.now() + 1_000_000 });
    await open({ instance_id: 'there' });
    const orphan = await open({ instance_id: 'dead' });
    recovery.start();
    await clock.advance(1);
    expect(askedIds()).toEqual([orphan]);
  });

  it('asks about fifty at a time, however many are in flight before them', async () => {
    for (let count = 0; count < 120; count += 1) inFlight.add(await open({ issued_at: count }));
    const others = [];
    for (let count = 0; count < 100; count += 1) others.push(await open({ issued_at: 1_000 + count }));
    recovery.start();
    await clock.advance(1);
    expect(askedIds()).toEqual(others.slice(0, 50));
    // In steps of fifty, beyond those in flight: not all that is due.
    expect(mostRows).toBe(200);
  });

  it('asks about nothing that was settled since it was found due', async () => {
    await open({ name: 'Refund' });
    afterLook = () => database.queries.updateTable('commands').set({ state: 'refused', settled_at: 1, settled_by: 'answer' }).execute();
    recovery.start();
    await clock.advance(1);
    expect(asked).toEqual([]);
  });

  it('asks nothing once it is stopped, even if the query was in progress', async () => {
    await open();
    recovery.start();
    recovery.stop();
    await clock.advance(1);
    expect(asked).toEqual([]);
  });

  it('marks a command that is open five seconds after its deadline as unknown, unless a call still carries it', async () => {
    const later = clock.now() + 60_000;
    const over = await open({ state: 'sent', next_recall_at: clock.now() * 2, answer_by: later });
    const carried = await open({ state: 'sent', next_recall_at: clock.now() * 2, answer_by: later });
    inFlight.add(carried);
    recovery.start();
    await clock.advance(65_000);
    expect(unknown).toEqual([]);
    await clock.advance(2_000);
    expect(unknown).toEqual([over]);
  });

  it('asks a returning device about a person’s decisions, one round at a time and once more for all returns meanwhile', async () => {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const decided = { state: 'refused', settled_at: clock.now(), settled_by: 'person', journal_id: 'j' } as const;
    const id = await open(decided, deviceId);
    await open({ ...decided, outcome: 'refused' }, deviceId);
    await open({ ...decided, journal_id: null }, deviceId);
    await open({ ...decided, settled_at: clock.now() - 8 * 24 * 3_600_000 }, deviceId);
    await open(decided);
    let answer = () => {};
    rechecking = () => new Promise<void>((resolve) => (answer = resolve));
    recovery.start();
    const comesBack = async () => {
      listeners.seen?.(deviceId);
      await clock.advance(1);
    };
    for (let returns = 0; returns < 4; returns += 1) await comesBack();
    expect(rechecked).toEqual([id]);
    answer();
    await clock.advance(1);
    expect(rechecked).toEqual([id, id]);
    answer();
    await clock.advance(1);
    expect(rechecked).toHaveLength(2);
    rechecking = () => Promise.reject(databaseDown('away'));
    await comesBack();
    await comesBack();
    expect(rechecked).toHaveLength(4);
    expect(logger.lines).toEqual([expect.objectContaining({ level: 'warn' }), expect.objectContaining({ level: 'warn' })]);
  });

  describe('about a person’s decision, if the device is connected and does not answer', () => {
    async function decision(overrides: object = {}, isLive = true) {
      const { id: deviceId } = await seedDevice(database.queries, merchantId);
      if (isLive) live.add(deviceId);
      return open({ state: 'refused', settled_at: clock.now(), settled_by: 'person', journal_id: 'j', ...overrides }, deviceId);
    }

    it('asks at growing intervals, up to an hour, and for a week', async () => {
      await decision();
      recovery.start();
      const times: number[] = [];
      rechecking = async () => void times.push(clock.elapsed());
      await clock.advance(170_000);
      // At once, after 10 s, and then whenever the decision is twice as old.
      expect(times).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000]);
      const grownOld = (days: number) =>
        database.queries
          .updateTable('commands')
          .set({ settled_at: clock.now() - days * 24 * 3_600_000, next_recall_at: null })
          .execute();
      await grownOld(6.9);
      await clock.advance(2_000);
      expect(times).toHaveLength(7);
      const row = await database.queries.selectFrom('commands').select('next_recall_at').executeTakeFirstOrThrow();
      expect(row.next_recall_at).toBe((times.at(-1) ?? 0) + clock.now() - clock.elapsed() + 3_600_000);
      await grownOld(7);
      await clock.advance(10_000);
      expect(times).toHaveLength(7);
    });

    it('asks about its own and those of a dead instance, not about those of a live one', async () => {
      const own = await decision();
      const orphan = await decision({ instance_id: 'dead' });
      await decision({ instance_id: 'there' });
      recovery.start();
      await clock.advance(1);
      expect(rechecked.toSorted()).toEqual([own, orphan].toSorted());
    });

    it('asks nothing that the device has answered, that no device can answer, or of an offline device', async () => {
      for (const not of [{ outcome: 'refused' }, { journal_id: null }, { removed_at: 1 }, { settled_by: 'answer' }]) await decision(not);
      await decision({}, false);
      recovery.start();
      await clock.advance(60_000);
      expect(rechecked).toEqual([]);
    });
  });

  it('asks about no further decision once it is stopped', async () => {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const decided = { state: 'refused', settled_at: clock.now(), settled_by: 'person', journal_id: 'j' } as const;
    for (let count = 0; count < 3; count += 1) await open(decided, deviceId);
    rechecking = async () => recovery.stop();
    recovery.start();
    listeners.seen?.(deviceId);
    await clock.advance(1);
    expect(rechecked).toHaveLength(1);
  });

  it('puts a command without an outcome 15 minutes after its deadline on the review list, once, and logs it', async () => {
    const id = await open({ answer_by: clock.now(), next_recall_at: clock.now() * 2 });
    recovery.start();
    await clock.advance(15 * 60_000);
    expect(events).toEqual([]);
    await clock.advance(10_000);
    expect(events).toEqual([{ commandId: id, step: 'review' }]);
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { commandId: id } }]);
  });

  it('continues after failed queries and questions', async () => {
    const id = await open();
    isDown = true;
    recovery.start();
    await clock.advance(3_000);
    isDown = false;
    asking = () => Promise.reject(databaseDown('away'));
    await clock.advance(4_000);
    expect(askedIds()).toEqual([id, id]);
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn', 'warn']);
  });
});

describe('a command that cannot be ended', () => {
  /** Its time is over; nobody is to be asked about it. It stays, since nothing is written here. */
  const over = () => open({ state: 'sent', next_recall_at: clock.now() * 2, answer_by: clock.now() - 10_000 });
  const overdue = () => open({ answer_by: clock.now() - 3_600_000, next_recall_at: clock.now() * 2 });
  const ofLevel = (wanted: string) => logger.lines.filter(({ level }) => level === wanted).map(({ fields }) => fields);

  it('blocks neither the end of others nor the review list', async () => {
    const [before, bad, behind, waiting] = [await over(), await over(), await over(), await overdue()];
    const refusal = new Error('This one.');
    refusals.set(bad, refusal);
    recovery.start();
    await clock.advance(1);
    expect(unknown.toSorted()).toEqual([before, behind].toSorted());
    expect(events).toEqual([{ commandId: waiting, step: 'review' }]);
    expect(ofLevel('error')).toEqual([expect.objectContaining({ commandId: bad, err: refusal, retryMs: 5_000 })]);
  });

  it('is retried at growing intervals, up to five minutes, and named no more often', async () => {
    const bad = await over();
    refusals.set(bad, new Error('This one.'));
    recovery.start();
    await clock.advance(3_600_000);
    // After 5, 10, 20 ... 160 s, and then every five minutes.
    expect(ofLevel('error')).toHaveLength(17);
    refusals.clear();
    await clock.advance(300_000);
    expect(unknown).toContain(bad);
  });

  it('does not delay the others, however many such commands there are', async () => {
    for (let count = 0; count < 120; count += 1) refusals.set(await over(), new Error('All of these.'));
    const good = await over();
    recovery.start();
    await clock.advance(5_000);
    expect(unknown).toContain(good);
    // So many are told in a minute.
    expect(ofLevel('error')).toHaveLength(20);
  });

  it('costs a query only its own row: as many more are read as are set aside, and fifty are tried', async () => {
    for (let count = 0; count < 200; count += 1) refusals.set(await over(), new Error('All of these.'));
    recovery.start();
    await clock.advance(1);
    expect([mostRows, tried.length]).toEqual([50, 50]);
    // Meanwhile they have ended after all.
    await database.queries.deleteFrom('commands').where('id', 'in', tried).execute();
    await clock.advance(2_000);
    expect([mostRows, tried.length]).toEqual([100, 100]);
  });

  it('because its row is locked comes after the others next time', async () => {
    const held = await over();
    const [second, waiting] = [await over(), await overdue()];
    refusals.set(held, databaseDown('The statement took too long.'));
    recovery.start();
    await clock.advance(2_001);
    expect(unknown).toContain(second);
    expect(events).toEqual([{ commandId: waiting, step: 'review' }]);
  });

  it('is not blamed when the database is down: that is one line for each query', async () => {
    for (let count = 0; count < 10; count += 1) refusals.set(await over(), databaseDown('away'));
    recovery.start();
    await clock.advance(1);
    expect(logger.lines).toHaveLength(1);
    isDown = true;
    await clock.advance(20_000);
    expect(ofLevel('error')).toEqual([]);
    expect(ofLevel('warn')).toHaveLength(11);
  });
});

describe('a device that appears', () => {
  it('is asked at once about its open commands of this instance, and about nothing else', async () => {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const notDue = { next_recall_at: clock.now() * 2 };
    const own = await open(notDue, deviceId);
    await open(notDue);
    recovery.start();
    await clock.advance(1);
    listeners.seen?.(deviceId);
    await clock.advance(1);
    expect(asked).toMatchObject([{ id: own, isDeviceBack: true }]);
    await database.queries.updateTable('commands').set({ instance_id: 'there' }).execute();
    listeners.seen?.(deviceId);
    await clock.advance(1);
    expect(asked).toHaveLength(1);
  });

  it('or answers late while the database is down ends nothing', async () => {
    recovery.start();
    await clock.advance(1);
    isDown = true;
    listeners.seen?.('d');
    listeners.lateAnswer?.('d', { v: 1, id: 'c', device: 'd', clock: '', outcome: 'done' });
    await clock.advance(1);
    expect(logger.lines.map(({ level, fields }) => [level, fields])).toMatchObject([
      ['warn', { commandId: 'c' }],
      ['warn', { devices: 1 }],
    ]);
  });
});

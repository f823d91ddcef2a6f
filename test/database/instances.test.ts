// Instances see each other by heartbeats in the database's clock.
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../src/database/dialect.ts';
import {
  deadAfterMs,
  deadInstances,
  heartbeatEveryMs,
  listInstances,
  livingInstances,
  startInstance,
} from '../../src/database/instances.ts';
import { engines, openTestDatabase, type TestDatabase, untilIdle } from '../support/engines.ts';
import { quietLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const describeInstance = (id: string) => ({ id, host: 'shop', pid: 7, embedded: '', version: '1.2.3' });

/** Time stands still until each heartbeat is written, however slow the machine. */
async function setUp(engine: Engine) {
  const opened: { database?: TestDatabase } = {};
  const clock = createVirtualClock(1_000_000, { settle: async () => opened.database && (await untilIdle(opened.database)) });
  const database = await openTestDatabase(engine, clock);
  opened.database = database;
  return { clock, database };
}

describe.each(engines)('instances on %s', (engine) => {
  it('are alive while they write heartbeats, and dead soon after the last one or at once after a stop', async () => {
    const { clock, database } = await setUp(engine);
    const { queries } = database;
    const deps = { database, clock, logger: quietLogger };
    const first = await startInstance(deps, describeInstance('first'));
    const second = await startInstance(deps, describeInstance('second'));
    await clock.advance(60_000);
    expect((await livingInstances(queries)).map(({ id, startedAt }) => [id, startedAt])).toEqual([
      ['first', 1_000_000],
      ['second', 1_000_000],
    ]);
    expect(await deadInstances(queries)).toEqual([]);

    await first.stop();
    expect((await livingInstances(queries)).map(({ id }) => id)).toEqual(['second']);
    expect(await deadInstances(queries)).toEqual(['first']);

    // What kill -9 would do: no more heartbeats, no farewell.
    await second.stop();
    await queries.updateTable('instances').set({ stopped_at: null }).where('id', '=', 'second').execute();
    database.shiftClock(heartbeatEveryMs);
    expect((await livingInstances(queries)).map(({ id }) => id)).toEqual(['second']);
    database.shiftClock(deadAfterMs - heartbeatEveryMs);
    expect((await livingInstances(queries)).map(({ id }) => id)).toEqual(['second']);
    expect(await deadInstances(queries)).toEqual(['first']);
    database.shiftClock(1);
    expect(await livingInstances(queries)).toEqual([]);
    expect(await deadInstances(queries)).toEqual(['first', 'second']);
    await database.close();
  });

  it('list what they wrote about themselves; one that was killed stays in the list for a day', async () => {
    const { clock, database } = await setUp(engine);
    let waitingCalls = 0;
    const readStatus = async () => ({
      http: 3,
      devices: 40,
      channels: { mqtt: true, queue: false },
      database: { busy: 1, idle: 2, waiting: 0 },
      waitingCalls,
      commands: 1,
      callbacks: 0,
    });
    const deps = { database, logger: quietLogger };
    const ahead = { ...clock, now: () => clock.now() + 7_000 };
    const first = await startInstance({ ...deps, clock, readStatus }, describeInstance('first'));
    const second = await startInstance({ ...deps, clock: ahead }, describeInstance('second'));
    waitingCalls = 5;
    await clock.advance(heartbeatEveryMs);
    const listed = await listInstances(database.queries);
    expect(listed.find(({ id }) => id === 'second')).toMatchObject({ state: 'running', version: '1.2.3', clockOffsetMs: 7_000 });
    expect(listed.find(({ id }) => id === 'first')).toMatchObject({
      state: 'running',
      clockOffsetMs: 0,
      startedAt: 1_000_000,
      heartbeatAt: 1_000_000 + heartbeatEveryMs,
      status: { waitingCalls: 5, channels: { mqtt: true, queue: false } },
    });
    expect(listed.find(({ id }) => id === 'second')?.status).toBeUndefined();

    await first.stop();
    await second.stop();
    expect(await listInstances(database.queries)).toEqual([]);
    // What kill -9 would do.
    await database.queries.updateTable('instances').set({ stopped_at: null }).where('id', '=', 'second').execute();
    database.shiftClock(deadAfterMs + 1);
    expect(await listInstances(database.queries)).toMatchObject([{ id: 'second', state: 'lost' }]);
    database.shiftClock(24 * 3_600_000);
    expect(await listInstances(database.queries)).toEqual([]);
    await database.close();
  });

  it('know whether they are alone, and notice another instance at once', async () => {
    const { clock, database } = await setUp(engine);
    const alone: boolean[] = [];
    const first = await startInstance(
      { database: { ...database, setAlone: (isAlone) => alone.push(isAlone) }, clock, logger: quietLogger },
      describeInstance('first'),
    );
    expect(alone).toEqual([]);
    await clock.advance(heartbeatEveryMs);
    expect(alone).toEqual([true]);
    const second = await startInstance({ database, clock, logger: quietLogger }, describeInstance('second'));
    expect(alone).toEqual([true, false]);
    await clock.advance(heartbeatEveryMs);
    expect(alone).toEqual([true, false, false]);
    await second.stop();
    await clock.advance(heartbeatEveryMs);
    expect(alone).toEqual([true, false, false, true]);
    await first.stop();
    await database.close();
  });

  it('continue their heartbeats after a database failure, and are removed after a month', async () => {
    const { clock, database } = await setUp(engine);
    let isBroken = false;
    const queries = new Proxy(database.queries, {
      get(target, name) {
        if (isBroken) throw new Error('down');
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const logger = recordingLogger();
    const instance = await startInstance({ database: { ...database, queries }, clock, logger }, describeInstance('only'));
    isBroken = true;
    await clock.advance(heartbeatEveryMs);
    expect(logger.lines.map((line) => line.level)).toEqual(['warn']);
    isBroken = false;
    await clock.advance(heartbeatEveryMs);
    expect(await livingInstances(database.queries)).toMatchObject([{ id: 'only', heartbeatAt: 1_000_000 + 2 * heartbeatEveryMs }]);
    await instance.stop();
    database.shiftClock(31 * 24 * 3_600_000);
    await (await startInstance({ database, clock, logger }, describeInstance('new'))).stop();
    expect(await deadInstances(database.queries)).toEqual(['new']);
    await database.close();
  });
});

// When a session ends, and who hears of it: here, on another instance, and when the wake-up between them got lost.
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPeople } from '../../../src/access/people/people.ts';
import { deleteUser, insertRow } from '../../../src/access/people/users.ts';
import { adminViewer } from '../../../src/http/viewer.ts';
import { systemRandom } from '../../../src/kernel/system.ts';
import { engines, openQuickDatabase, type TestDatabase, waitsForLock } from '../../support/engines.ts';
import { recordingLogger } from '../../support/quiet-logger.ts';
import { until } from '../../support/until.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const origin = { address: '127.0.0.1', agent: 'test' };

describe.each(engines)('sessions on %s', (engine) => {
  async function setUp({ sessionIdleMs = 2 * 3_600_000 } = {}) {
    const clock = createVirtualClock();
    const database = await openQuickDatabase(engine, clock);
    onTestFinished(() => database.close());
    const logger = recordingLogger();
    const start = (own: TestDatabase) => {
      const people = createPeople({
        database: own,
        clock,
        random: systemRandom,
        logger,
        isSandbox: true,
        maxUsers: 100,
        sessionIdleMs,
        requiresTotp: false,
        baseUrl: () => '',
      });
      onTestFinished(people.stop);
      return people;
    };
    const here = start(database);
    let there = here;
    // SQLite has one gateway a file, so its two are the same one twice.
    if (engine === 'postgres') {
      const other = await database.another();
      onTestFinished(() => other.close());
      there = start(other);
    }
    async function enter() {
      const entered = await here.enterSandbox(origin);
      if (!entered) throw new Error('This is a sandbox.');
      return entered;
    }
    return { clock, database, here, there, enter, logger };
  }

  it('notifies a stream on another instance at once, by the wake-up', async () => {
    const { here, there, enter } = await setUp();
    const { session, userId } = await enter();
    const other = await enter();
    const ended: string[] = [];
    there.onSessionEnded(session.id, () => ended.push('one'));
    there.onSessionEnded(session.id, () => ended.push('two'));
    there.onSessionEnded(other.session.id, () => ended.push('other'));
    expect(await there.findSession(session.token)).toMatchObject({ sessionId: session.id, userId });
    await here.endSession('test', session.id);
    // Time stands still: only the wake-up can have told.
    await until(() => ended.length > 0);
    expect(ended).toEqual(['one', 'two']);
    await until(async () => (await there.findSession(session.token)) === undefined);
    expect(await there.findSession(other.session.token)).toBeDefined();
  });

  it('notifies it within five seconds if the wake-up was lost, and refuses the session', async () => {
    const { clock, database, here, enter } = await setUp();
    const { session } = await enter();
    const timers = clock.pending;
    let ended = 0;
    here.onSessionEnded(session.id, () => {
      ended += 1;
    });
    expect(await here.findSession(session.token)).toBeDefined();
    await clock.advance(1_000);
    await database.queries.deleteFrom('sessions').execute();
    expect(await here.findSession(session.token)).toBeDefined();
    await clock.advance(5_000);
    // PostgreSQL answers in real time, so its next look may begin after time has stopped.
    if (engine === 'sqlite') expect(ended).toBe(1);
    await until(async () => {
      await clock.advance(100);
      return ended === 1;
    });
    expect(await here.findSession(session.token)).toBeUndefined();
    await clock.advance(60_000);
    expect(ended).toBe(1);
    if (engine === 'sqlite') expect(clock.pending).toBe(timers);
  });

  it('notifies it when the twelve hours are over, and not before', async () => {
    // An idle one ends earlier otherwise [D168].
    const { clock, database, here, enter } = await setUp({ sessionIdleMs: 24 * 3_600_000 });
    const { session } = await enter();
    let ended = 0;
    here.onSessionEnded(session.id, () => {
      ended += 1;
    });
    // The database says when a session is over. It leaps, so that the keeper need not look at all the hours between.
    database.shiftClock(12 * 3_600_000 - 20_000);
    await clock.advance(14_000);
    expect(ended).toBe(0);
    await until(async () => {
      await clock.advance(1_000);
      return ended === 1;
    });
  });

  it('notifies it at once of a session that has already ended, and no listener that has left', async () => {
    const { here, enter } = await setUp();
    const { session } = await enter();
    const ended: string[] = [];
    const leave = here.onSessionEnded(session.id, () => ended.push('gone'));
    leave();
    await here.endSession('test', session.id);
    here.onSessionEnded(session.id, () => ended.push('late'));
    await until(() => ended.length > 0);
    expect(ended).toEqual(['late']);
  });

  it('keeps querying while the database is down', async () => {
    const { clock, database, here, enter, logger } = await setUp();
    const { session } = await enter();
    let ended = 0;
    here.onSessionEnded(session.id, () => {
      ended += 1;
    });
    await clock.settle();
    await database.queries.schema.alterTable('sessions').renameTo('sessions_away').execute();
    await clock.advance(5_001);
    await until(() => logger.lines.length > 0);
    expect(ended).toBe(0);
    await database.queries.schema.alterTable('sessions_away').renameTo('sessions').execute();
    await database.queries.deleteFrom('sessions').execute();
    await clock.advance(5_001);
    await until(() => ended === 1);
  });

  it('does not query the database for an invalid token', async () => {
    const { database, here } = await setUp();
    const { queries } = database;
    await queries.schema.dropTable('sessions').execute();
    for (const text of ['', 'x', 'x'.repeat(44), `${'x'.repeat(42)}'`]) expect(await here.findSession(text)).toBeUndefined();
    await expect(here.findSession('x'.repeat(43))).rejects.toThrow();
  });

  it('leaves an operator when two remove each other, the second while the first is not yet committed', async () => {
    const { database } = await setUp();
    const { queries } = database;
    const operator = { role: 'operator', merchantId: null } as const;
    const ids: string[] = [];
    for (const name of ['olga', 'oleg'])
      ids.push(await insertRow(queries, systemRandom, { email: `${name}@tillgate.md`, name, standing: operator }));
    await queries.updateTable('users').set({ password_hash: 'set' }).execute();
    const [olga = '', oleg = ''] = ids;
    const removed = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const first = database.transaction(async (transaction) => {
      await deleteUser(engine, transaction, adminViewer, oleg);
      removed.resolve();
      await mayCommit.promise;
    });
    await removed.promise;
    let isOver = false;
    const second = database
      .transaction((transaction) => deleteUser(engine, transaction, adminViewer, olga))
      .then(
        () => 'removed',
        (error: { errorName?: string }) => error.errorName,
      )
      .finally(() => {
        isOver = true;
      });
    // The second stands in line, or has gone past the first, which the lock forbids.
    if (engine === 'postgres') await until(async () => isOver || (await waitsForLock(database)));
    mayCommit.resolve();
    await first;
    expect(await second).toBe('The_status_cannot_be_applied');
    expect(await queries.selectFrom('users').select('id').execute()).toEqual([{ id: olga }]);
  });
});

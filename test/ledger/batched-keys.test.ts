// First commits with Idempotency-Keys that share a commit, on both engines: a command and its key are written together or not at all, a key
// that stands for something leaves only its own command out, and a commit that breaks leaves no key that would keep a payment from being made.
import { randomUUID } from 'node:crypto';
import { type KyselyPlugin, sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimKey } from '../../src/access/idempotency.ts';
import { ConstraintViolation, databaseDown } from '../../src/database/errors.ts';
import { createInsertGroup, type InsertedCommand, type InsertGroup } from '../../src/ledger/insert-batch.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { withFailingInsert } from '../support/failing-insert.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { breakAndRepeat, rush } from './rush.ts';

const startMs = 100_000_000_000;
const dayMs = 24 * 60 * 60_000;

describe.each(engines)('a batch on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let inserts: InsertGroup;

  beforeEach(async () => {
    database = await openTestDatabase(engine, createVirtualClock(startMs));
    merchantId = (await seedMerchant(database.queries)).id;
    inserts = createInsertGroup(database);
  });
  afterEach(() => database.close());

  const device = async () => (await seedDevice(database.queries, merchantId)).id;
  const pay = async (key: string | undefined, overrides: Partial<InsertedCommand> = {}): Promise<InsertedCommand> => ({
    ...{ id: randomUUID(), merchantId, deviceId: await device(), instanceId: 'i', name: 'Pay', args: {}, amountBani: 150 },
    ...{ answerWithinMs: 1_000, journalId: 'j', documentNr: randomUUID() },
    ...(key === undefined ? {} : { idempotency: { key, requestHash: `hash of ${key}` } }),
    ...overrides,
  });
  const addAll = (commands: readonly InsertedCommand[]) => Promise.all(commands.map((command) => inserts.add(command)));
  const claim = (key: string, subjectId: string = randomUUID()) =>
    claimKey(database.queries, { merchantId, key, requestHash: 'h', subjectKind: 'command', subjectId });
  const keys = async () => {
    const rows = await database.queries
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('merchant_id', '=', merchantId)
      .orderBy('key')
      .execute();
    return new Map(rows.map((row) => [row.key, row]));
  };
  const written = async () => new Set((await database.queries.selectFrom('commands').select('id').execute()).map(({ id }) => id));

  const keyTaken = () => new ConstraintViolation('unique', 'the key is taken');
  let insertsSent: number;
  /** The same database, with a count of the inserts of commands. */
  const counted = (): TestDatabase => {
    insertsSent = 0;
    const plugin: KyselyPlugin = {
      transformQuery({ node, queryId }) {
        if (database.queries.getExecutor().compileQuery(node, queryId).sql.includes('insert into "commands"')) insertsSent += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    return {
      ...database,
      queries: database.queries.withPlugin(plugin),
      transaction: (work) => database.transaction((queries) => work(queries.withPlugin(plugin))),
    };
  };

  it('claims the key of each command that it writes, beside commands without one', async () => {
    const fresh = [await pay('a'), await pay(undefined), await pay('b')];
    expect((await addAll(fresh)).map((command) => command?.id)).toEqual(fresh.map(({ id }) => id));
    const claimed = [...(await keys())].map(([key, entry]) => [
      key,
      entry.request_hash,
      entry.subject_kind,
      entry.subject_id,
      entry.created_at,
    ]);
    expect(claimed).toEqual([
      ['a', 'hash of a', 'command', fresh[0]?.id, startMs],
      ['b', 'hash of b', 'command', fresh[2]?.id, startMs],
    ]);
  });

  it('leaves out a command whose key is used, however long ago, and no other', async () => {
    await claim('used', 'theirs');
    await claim('old', 'theirs');
    await database.queries
      .updateTable('idempotency_keys')
      .set({ created_at: startMs - dayMs - 1 })
      .where('key', '=', 'old')
      .execute();
    const another = (await seedMerchant(database.queries)).id;
    await claimKey(database.queries, { merchantId: another, key: 'mine', requestHash: 'h', subjectKind: 'command', subjectId: 'x' });
    const fresh = [await pay('mine'), await pay('used'), await pay(undefined), await pay('old')];
    expect((await addAll(fresh)).map((command) => command?.state)).toEqual(['sent', undefined, 'sent', undefined]);
    expect(await written()).toEqual(new Set([fresh[0]?.id, fresh[2]?.id]));
    const entries = await keys();
    expect(['mine', 'used', 'old'].map((key) => entries.get(key)?.subject_id)).toEqual([fresh[0]?.id, 'theirs', 'theirs']);
  });

  it('claims no key for a command that is rejected for another reason', async () => {
    const busy = await device();
    await seedCommand(database.queries, merchantId, busy, {});
    const outcomes = await addAll([await pay('refused', { deviceId: busy }), await pay('written')]);
    expect(outcomes.map((command) => command?.state)).toEqual([undefined, 'sent']);
    expect([...(await keys()).keys()]).toEqual(['written']);
  });

  it('separates two commands of one key: the second waits, and loses', async () => {
    const fresh = [await pay('one'), await pay('one'), await pay('other')];
    expect((await addAll(fresh)).map((command) => command?.state)).toEqual(['sent', undefined, 'sent']);
    expect(await written()).toEqual(new Set([fresh[0]?.id, fresh[2]?.id]));
    expect((await keys()).get('one')?.subject_id).toBe(fresh[0]?.id);
  });

  it('fails a bad row alone, and leaves its key unused', async () => {
    const fresh = [await pay('a'), await pay('bad', { amountBani: -1 }), await pay('b')];
    const outcomes = await Promise.allSettled(fresh.map((command) => inserts.add(command)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([...(await keys()).keys()].sort()).toEqual(['a', 'b']);
  });

  it.each([
    ['goes together once more', 1, 2],
    ['goes row by row when that happens again', 2, 5],
  ])('%s when a key was taken since it was seen unused, and leaves out that command alone', async (_how, times, statements) => {
    const fresh = [await pay('free'), await pay('contested'), await pay(undefined)];
    const failing = withFailingInsert(counted());
    inserts = createInsertGroup(failing.database);
    await claim('contested', 'theirs');
    failing.failNextInsertInto('commands', times, keyTaken);
    expect((await addAll(fresh)).map((command) => command?.state)).toEqual(['sent', undefined, 'sent']);
    expect(await written()).toEqual(new Set([fresh[0]?.id, fresh[2]?.id]));
    expect([...(await keys())].map(([key, { subject_id }]) => [key, subject_id])).toEqual([
      ['contested', 'theirs'],
      ['free', fresh[0]?.id],
    ]);
    expect([failing.failed(), insertsSent]).toEqual([times, statements]);
  });

  it.each([['fails for another reason', () => new ConstraintViolation('check', 'bad row'), 'k']])(
    'goes row by row at once when it %s',
    async (_why, error, key) => {
      const fresh = [await pay(key), await pay(undefined)];
      const failing = withFailingInsert(counted());
      inserts = createInsertGroup(failing.database);
      failing.failNextInsertInto('commands', 1, error);
      expect((await addAll(fresh)).map((command) => command?.state)).toEqual(['sent', 'sent']);
      expect(insertsSent).toBe(3);
    },
  );

  it('answers all callers that the second attempt is unclear, and retries nothing', async () => {
    const fresh = [await pay('free'), await pay(undefined)];
    const failing = withFailingInsert(counted());
    inserts = createInsertGroup(failing.database);
    failing.failNextInsertInto('commands', 2, (time) => (time === 1 ? keyTaken() : databaseDown('The database cannot be reached.')));
    const outcomes = await Promise.allSettled(fresh.map((command) => inserts.add(command)));
    expect(outcomes).toMatchObject([{ reason: { message: 'The database cannot be reached.' } }, { status: 'rejected' }]);
    expect([await written(), insertsSent]).toEqual([new Set(), 2]);
  });

  // A file of SQLite serves one gateway.
  if (engine === 'postgres') {
    it.each(['commit', 'rollback'] as const)('waits for a key that another gateway is just claiming: %s', async (end) => {
      const other = new pg.Client({ connectionString: database.place.url });
      await other.connect();
      await other.query('begin');
      const values = "values ($1, 'contested', 'h', 'command', 'theirs', $2)";
      await other.query(`insert into idempotency_keys (merchant_id, key, request_hash, subject_kind, subject_id, created_at) ${values}`, [
        merchantId,
        startMs,
      ]);
      const fresh = [await pay('contested'), await pay('free'), await pay(undefined)];
      const [contested, ...others] = fresh.map((command) => inserts.add(command));
      // Nobody else is kept.
      expect((await Promise.all(others)).map((command) => command?.state)).toEqual(['sent', 'sent']);
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await waiting.execute(database.queries)).rows.length > 0);
      expect((await written()).has(fresh[0]?.id ?? '')).toBe(false);
      await other.query(end);
      await other.end();
      expect((await contested)?.state).toBe(end === 'commit' ? undefined : 'sent');
      expect((await written()).has(fresh[0]?.id ?? '')).toBe(end === 'rollback');
      expect((await keys()).get('contested')?.subject_id).toBe(end === 'commit' ? 'theirs' : fresh[0]?.id);
    });
  }
});

describe('calls with keys', () => {
  const keyOf = (at: number) => ({ idempotency: { key: `key ${at}`, requestHash: `body ${at}` } });

  it('that are new are inserted without a lookup, and share a commit', async () => {
    const { world, payAll, charges } = await rush(keyOf);
    const before: string[] = [];
    world.hook = ({ kind, sql: text, when }) => {
      if (when === 'before' && kind === 'run') before.push(text);
      return undefined;
    };
    expect((await payAll()).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
    const inserts = before.filter((text) => text.includes('insert into "commands"'));
    // The new core writes few rows one by one [D329].
    if (isNewCore) expect(inserts.length).toBeLessThan(6);
    else expect(inserts).toHaveLength(3);
    expect(before.filter((text) => /^select .* from "(?:commands|idempotency_keys)"/.test(text))).toEqual([]);
    await world.stop();
  });

  it('repeated, are answered with the stored outcome', async () => {
    const { world, payAll, charges } = await rush(keyOf);
    const first = await payAll();
    const again = await payAll();
    expect(again.map(({ oid }) => oid)).toEqual(first.map(({ oid }) => oid));
    expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
    await world.stop();
  });

  it.each(['before', 'after'] as const)('whose commit breaks %s it is made send nothing, and repeating charges each once', (when) =>
    breakAndRepeat(when, ({ sql: text }) => text.includes('insert into "commands"'), keyOf),
  );

  it('that the device refused free the key for the next attempt, whatever its content', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    // The terminal says that it is busy.
    expect((await world.run(world.pay(terminal.id, 10.72, world.random.uuid(), keyOf(1)))).code).toBe(31);
    const other = { idempotency: { key: 'key 1', requestHash: 'another body' } };
    expect((await world.run(world.pay(terminal.id, 20, world.random.uuid(), other))).code).toBe(0);
    await world.stop();
  });
});

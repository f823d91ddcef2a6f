// The commit beside other transactions of PostgreSQL. Two gateways whose statements interleave at every place: the result is that of one unit
// after the other, and what is answered is true.
import { type CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Commit, createCommit } from '../../src/database/commit.ts';
import { atCommit, type Unit } from '../../src/database/commit-data.ts';
import { createStatements } from '../../src/database/commit-statements.ts';
import { GuardFailed } from '../../src/database/errors.ts';
import { all, assigned, begin, createTables, refill, settle, tables } from '../support/commit-tables.ts';
import { openTestDatabase, type TestDatabase, waitsForLock } from '../support/engines.ts';
import { until } from '../support/until.ts';

const settled = (state: string, guard: number): Unit => ({
  writes: [
    { table: 't_devices', key: ['t1'], guard: { command_id: 'a' }, set: { command_id: null } },
    { table: 't_commands', key: ['a'], guard, set: { state, settled_at: atCommit } },
    { table: 't_names', key: ['m', 'N'], guard: 1, set: { ops: state === 'done' ? 'a' : '' } },
  ],
  inserts: [{ table: 't_events', row: { command_id: 'a', step: state } }],
});

const cases: { name: string; first: Unit; second: Unit; seed: Unit[]; both: boolean }[] = [
  { name: 'two Pays under one number', first: begin('a', 't1', 'N'), second: begin('b', 't2', 'N'), seed: [], both: false },
  { name: 'two Pays on one device', first: begin('a', 't1', 'N'), second: begin('b', 't1', 'M'), seed: [], both: false },
  {
    name: 'two settlements of one command',
    first: settled('done', 1),
    second: settled('refused', 1),
    seed: [begin('a', 't1', 'N')],
    both: false,
  },
  { name: 'two Pays that share nothing', first: begin('a', 't1', 'N'), second: begin('b', 't2', 'M'), seed: [], both: true },
  {
    name: 'a settlement and a Pay under its number',
    first: settled('refused', 1),
    second: {
      ...begin('b', 't2', 'M'),
      writes: [...begin('b', 't2').writes, { table: 't_names', key: ['m', 'N'], guard: 1, set: { ops: 'a b' } }],
    },
    seed: [begin('a', 't1', 'N')],
    both: false,
  },
];

describe('two connections', () => {
  let commit: Commit;
  let one: TestDatabase;
  let two: TestDatabase;

  beforeAll(async () => {
    one = await openTestDatabase('postgres');
    two = await one.another();
    await createTables(one);
  });
  beforeEach(async () => {
    await refill(one, ['t1', 't2']);
    commit = createCommit(one, tables);
  });
  afterAll(async () => {
    await two.close();
    await one.close();
  });

  const listOf = (unit: Unit): CompiledQuery[] => createStatements('postgres', tables).all(one.queries, [unit], '4s').list;

  /** Executes the statements of `first` one by one, and commits `second` before the statement at this place. */
  async function interleave(first: Unit, second: Unit, at: number): Promise<{ first: string; second: string }> {
    let second$: Promise<string> | undefined;
    const start = async () => {
      const commit = createCommit(two, tables);
      let isOver = false;
      second$ = commit.add(second).then((result) => (typeof result === 'string' ? result : 'written'));
      void second$.finally(() => (isOver = true));
      await until(async () => isOver || (await waitsForLock(two)));
    };
    const ended = await one
      .transaction(async (queries) => {
        const list = listOf(first);
        for (const [place, statement] of list.entries()) {
          if (place === at) await start();
          await queries.executeQuery(statement);
        }
        if (at === list.length) await start();
        return 'written';
      })
      .catch((error: unknown) => {
        if (error instanceof GuardFailed || String(error).includes('unique')) return 'conflict';
        throw error;
      });
    return { first: ended, second: (await second$) ?? 'not started' };
  }

  const places = cases.flatMap((one) => Array.from({ length: listOfLength(one.first) + 1 }, (_, at) => ({ ...one, at })));
  it.each(places)('$name: the second commits before statement $at of the first', async ({ first, second, seed, both, at }) => {
    for (const unit of seed) await createCommit(one, tables).add(unit);
    const before = (await all(one, 't_events')).length;
    const results = await interleave(first, second, at);
    const written = Object.values(results).filter((result) => result === 'written').length;
    expect(written).toBe(both ? 2 : 1);
    // Each unit writes one event: what was answered is what is stored.
    expect((await all(one, 't_events')).length - before).toBe(written);
    if (at === 0 && !both) expect(results).toEqual({ first: 'conflict', second: 'written' });
    if (at === listOfLength(first) && !both) expect(results).toEqual({ first: 'written', second: 'conflict' });
  });

  it('prepares again what the server has forgotten, and what was prepared for an older table', async () => {
    await commit.add(begin('c1', 't1'));
    await sql`discard all`.execute(one.queries);
    expect(assigned(await commit.add(settle('c1', 1)))).toEqual([{}]);
    await sql`alter table t_commands alter column report type varchar(500)`.execute(one.queries);
    await sql`update t_devices set document_id = null`.execute(one.queries);
    expect(assigned(await commit.add(begin('c2', 't1')))).toEqual([{}, expect.objectContaining({ id: 'c2' }), {}]);
    expect((await all(one, 't_commands')).map(({ id, state }) => `${id} ${state}`)).toEqual(['c1 done', 'c2 open']);
  });

  it('waits alone for a row that another transaction has locked, and the others of its batch do not', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: hasLock } = Promise.withResolvers<void>();
    const holding = two.transaction(async (queries) => {
      await sql`update t_devices set document_id = document_id where id = 't1'`.execute(queries);
      hasLock();
      await released;
    });
    await locked;
    const waiting = commit.add(begin('c1', 't1'));
    const free = await commit.add(begin('c2', 't2'));
    expect(assigned(free)).toHaveLength(3);
    await until(() => waitsForLock(one));
    release();
    await holding;
    expect(assigned(await waiting)).toHaveLength(3);
  });

  it('is tried again when a deadlock ends it', async () => {
    const { promise: locked, resolve: hasLock } = Promise.withResolvers<void>();
    const { promise: waits, resolve: proceed } = Promise.withResolvers<void>();
    const unit: Unit = {
      writes: ['t1', 't2'].map((id) => ({ table: 't_devices', key: [id], guard: 0, set: { document_id: 'd' } })),
      inserts: [],
    };
    // The order of another program: t2 first.
    const wrong = two.transaction(async (queries) => {
      await sql`update t_devices set document_id = null where id = 't2'`.execute(queries);
      hasLock();
      await waits;
      await sql`update t_devices set document_id = null where id = 't1'`.execute(queries);
    });
    await locked;
    const result = commit.add(unit);
    await until(() => waitsForLock(one));
    proceed();
    await wrong;
    expect(await result).toMatchObject({ assigned: [] });
  });
});

/** Known before a database is open: the time, the writes of each table, the inserts of each table, what must be absent. */
function listOfLength({ writes, inserts, absent = [] }: Unit): number {
  const tablesOf = (items: readonly { table: string }[]) => new Set(items.map(({ table }) => table)).size;
  return 1 + tablesOf(writes) + tablesOf(inserts) + tablesOf(absent);
}

// Statements that are built once: bound anew at each call, on both engines, in and out of transactions, and never built by a value.
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { nowMs } from '../../src/database/dialect.ts';
import { keptStatement } from '../../src/database/kept-statement.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

const text = (value: string) => sql<string>`cast(${value} as text)`;

describe.each(engines)('on %s', (engine) => {
  test('a statement is built once, and each call binds its own values', async () => {
    const database = await openTestDatabase(engine);
    let built = 0;
    const both = keptStatement((queries, { first, second }: { first: string; second: string }) => {
      built += 1;
      return queries.selectNoFrom([text(second).as('second'), text(first).as('first'), text('same').as('third')]).compile();
    });
    const queries = database.queries.withoutPlugins();
    expect(await both(queries, { first: 'a', second: 'b' })).toEqual([{ second: 'b', first: 'a', third: 'same' }]);
    expect(await both(queries, { second: 'd', first: 'c' })).toEqual([{ second: 'd', first: 'c', third: 'same' }]);
    const inside = await database.transaction((tx) => both(tx.withoutPlugins(), { first: 'e', second: 'f' }));
    expect(inside).toEqual([{ second: 'f', first: 'e', third: 'same' }]);
    expect(built).toBe(1);
    await database.close();
  });

  test('a statement that a plugin rewrites each time, like the clock of these tests, is not kept', async () => {
    const database = await openTestDatabase(engine, { ...systemClock, now: () => 1_000 });
    const now = keptStatement((queries) => queries.selectNoFrom(nowMs.as('ms')).compile());
    expect(await now(database.queries, {})).toEqual([{ ms: 1_000 }]);
    database.shiftClock(500);
    expect(await now(database.queries, {})).toEqual([{ ms: 1_500 }]);
    await database.close();
  });

  test('another shape is another statement, and more shapes than are kept still work', async () => {
    const database = await openTestDatabase(engine);
    const some = keptStatement((queries, { value }: { value: string }, limit: number) =>
      queries
        .selectFrom(sql<{ value: string }>`(select ${text(value)} as value union all select 'other')`.as('both'))
        .select('value')
        .orderBy('value', 'desc')
        .limit(limit)
        .compile(),
    );
    const queries = database.queries.withoutPlugins();
    for (let round = 0; round < 2; round += 1)
      for (let limit = 1; limit <= 70; limit += 1)
        expect(await some(queries, { value: `z${limit}` }, limit)).toHaveLength(Math.min(limit, 2));
    await database.close();
  });
});

test.each([
  ['calculated with', (queries: Queries, { value }: { value: number }) => queries.selectNoFrom(sql`${value + 1}`.as('one')).compile()],
  ['part of a text', (queries: Queries, { value }: { value: number }) => queries.selectNoFrom(sql.raw(`${value}`).as('one')).compile()],
  [
    'written as JSON',
    (queries: Queries, { value }: { value: number }) => queries.selectNoFrom(sql`${JSON.stringify({ value })}`.as('one')).compile(),
  ],
])('a value that is %s while the statement is built is an error, not the same statement for every value', async (_, build) => {
  const database = await openTestDatabase('sqlite');
  await expect(keptStatement(build)(database.queries, { value: 1 })).rejects.toThrow('"value" may only be bound');
  await database.close();
});

// The rows of a batch inside a statement, on both engines.
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { batchRows, type LockWait, rowsText } from '../../src/database/batch-rows.ts';
import { DatabaseBusy } from '../../src/database/errors.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

const columns = { id: 'text', count: 'int8' } as const;

describe.each(engines)('the rows of a batch on %s', (engine) => {
  it('arrive unchanged, whatever their text', async () => {
    const database = await openTestDatabase(engine);
    const rows = [
      { id: `it's "quoted", \\ and țuică 🧾`, count: Number.MAX_SAFE_INTEGER },
      { id: '', count: -1 },
      { id: null, count: null },
    ];
    const read = (given: typeof rows) =>
      sql`select "x"."id", "x"."count" from ${batchRows(engine, 'x', columns, rowsText(columns, given), 'short')}`.execute(
        database.queries,
      );
    expect((await read(rows)).rows).toEqual(rows);
    expect((await read([])).rows).toEqual([]);
    const { parameters } = sql`select 1 from ${batchRows(engine, 'x', columns, rowsText(columns, rows.slice(1)), 'short')}`.compile(
      database.queries,
    );
    expect(parameters, 'what is null does not travel').toEqual(['[{"is_row":1,"id":"","count":-1},{"is_row":1}]']);
    expect(() => read([{ id: 'a\u0000b', count: 1 }])).toThrow('NUL');
    expect(() => read([{ id: 'a', count: 2 ** 60 }])).toThrow('not exact');
    await database.close();
  });
});

describe.runIf(engines.includes('postgres'))('the rows of a batch on postgres', () => {
  it('give up soon on a row that another transaction holds, and leave the connection as it was', async () => {
    const database = await openTestDatabase('postgres');
    const { queries } = database;
    const other = new pg.Client({ connectionString: database.place.url });
    await other.connect();
    await sql`create table counts (id text primary key, count bigint)`.execute(queries);
    await sql`insert into counts values ('a', 1), ('b', 1)`.execute(queries);
    await other.query(`begin`);
    await other.query(`update counts set count = 5 where id = 'b'`);
    await other.query(`insert into counts values ('c', 5)`);
    const held = ['a', 'b', 'c'].map((id) => ({ id, count: 2 }));
    const rows = batchRows('postgres', 'x', columns, rowsText(columns, held), 'short');
    const update = sql`update counts set count = "x"."count" from ${rows} where counts.id = "x"."id"`;
    await expect(update.execute(queries)).rejects.toThrow(DatabaseBusy);
    const insert = sql`insert into counts select "x"."id", "x"."count" from ${rows} on conflict do nothing`;
    await expect(insert.execute(queries)).rejects.toThrow(DatabaseBusy);
    const { rows: left } = await sql`select id, count, current_setting('lock_timeout') as wait from counts order by id`.execute(queries);
    expect(left).toEqual([
      { id: 'a', count: 1, wait: '0' },
      { id: 'b', count: 1, wait: '0' },
    ]);
    await other.query('rollback');
    await update.execute(queries);
    await other.end();
    await database.close();
  });

  it('of a statement that may wait keep its lock time-out', async () => {
    const database = await openTestDatabase('postgres');
    const patience = async (waits: LockWait) => {
      const rows = batchRows('postgres', 'x', columns, rowsText(columns, [{ id: 'a', count: 1 }]), waits);
      const read = await sql<{ wait: string }>`select current_setting('lock_timeout') as "wait" from ${rows}`.execute(database.queries);
      return read.rows[0]?.wait;
    };
    expect(await patience('short')).toBe('250ms');
    expect(await patience('statement')).toBe('0');
    await database.close();
  });
});

// The types that the stores are checked against, src/database/schema.ts, and the tables that the migrations make are one thing.
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

interface Column {
  name: string;
  type: 'integer' | 'text';
  isNullable: boolean;
}

type Tables = Record<string, Column[]>;

function readDeclared(): Tables {
  const text = readFileSync(new URL('../../src/database/schema.ts', import.meta.url), 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^ {2}(\w+): \{\n([^}]*)\}/gm)].map(([, table = '', fields = '']) => [
      table,
      [...fields.matchAll(/^ {4}(\w+): (.+);$/gm)].map(([, name = '', type = '']) => ({
        name,
        type: /\bnumber\b/.test(type) ? 'integer' : 'text',
        isNullable: type.endsWith('| null'),
      })),
    ]),
  );
}

async function readActual(database: Database): Promise<Tables> {
  const { rows } =
    database.engine === 'postgres'
      ? await sql<{ table: string; name: string; type: string; nullable: number }>`
          select table_name as "table", column_name as name, data_type as type, is_nullable = 'YES' as nullable
          from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`.execute(database.queries)
      : await sql<{ table: string; name: string; type: string; nullable: number }>`
          select m.name as "table", c.name, c.type, c."notnull" = 0 and c.pk = 0 as nullable
          from sqlite_master m, pragma_table_info(m.name) c
          where m.type = 'table' and m.name not like 'sqlite_%' order by m.name, c.cid`.execute(database.queries);
  const tables: Tables = {};
  for (const { table, name, type, nullable } of rows) {
    if (table === 'applied_migrations') continue;
    tables[table] ??= [];
    tables[table].push({
      name,
      type: /^(bigint|integer)$/i.test(type) ? 'integer' : (type.toLowerCase() as 'text'),
      isNullable: nullable === 1,
    });
  }
  return tables;
}

describe.each(engines)('the schema on %s', (engine) => {
  it('has the tables and columns that schema.ts declares, in that order', async () => {
    const database = await openTestDatabase(engine);
    const declared = readDeclared();
    expect(Object.keys(declared).length).toBeGreaterThan(10);
    expect(await readActual(database)).toEqual(declared);
    await database.close();
  });
});

it('makes every table strict on SQLite, so that a text never lands in a number', async () => {
  const database = await openTestDatabase('sqlite');
  const { rows } = await sql<{ name: string }>`
    select name from pragma_table_list where schema = 'main' and type = 'table' and strict = 0 and name not like 'sqlite_%'`.execute(
    database.queries,
  );
  expect(rows).toEqual([]);
  await database.close();
});

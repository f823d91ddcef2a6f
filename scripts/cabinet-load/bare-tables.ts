// Inserts many millions of rows into PostgreSQL: the tables are filled without indexes and constraints, which are built afterwards in one
// step each. All of it is one transaction, so a reader finds the tables unchanged or complete; a server that keeps no log for replicas need
// not log such rows either, since the tables were emptied in the same transaction.
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import type { Queries } from '../../src/database/database.ts';
import type { Schema } from '../../src/database/schema.ts';

/** Deletes the previous rows; `write` uses only the given queries, whose statements have no time-out. */
export async function fillBare(
  url: string,
  tables: readonly string[],
  { write, say }: { write(queries: Queries): Promise<void>; say(text: string): void },
): Promise<void> {
  const queries = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url, max: 1 }) }) });
  try {
    await queries.transaction().execute(async (within) => {
      await sql`set local maintenance_work_mem = '1GB'`.execute(within);
      const parts = await partsOf(within, tables);
      for (const { drop } of parts.toReversed()) await sql.raw(drop).execute(within);
      await sql.raw(`truncate ${tables.join(', ')}`).execute(within);
      await write(within);
      for (const { name, create } of parts) {
        await sql.raw(create).execute(within);
        say(name);
      }
    });
    // As after normal growth: a visibility map and statistics.
    for (const table of tables) await sql`vacuum analyze ${sql.table(table)}`.execute(queries);
  } finally {
    await queries.destroy();
  }
}

interface Part {
  name: string;
  drop: string;
  create: string;
}

/**
 * Indexes, then keys, then references to them, also from other tables: they can be created in this order and dropped in the reverse one.
 */
async function partsOf(queries: Queries, tables: readonly string[]): Promise<Part[]> {
  const ofTables = sql.raw(tables.map((name) => `'${name}'::regclass`).join(', '));
  const indexes = await sql<Part>`select relname as "name", format('drop index %I', relname) as "drop", pg_get_indexdef(oid) as "create"
    from pg_index join pg_class on oid = indexrelid
    where indrelid in (${ofTables}) and not exists (select 1 from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))
    order by relname`.execute(queries);
  const constraints =
    await sql<Part>`select conname as "name", format('alter table %s drop constraint %I', conrelid::regclass, conname) as "drop",
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as "create"
    from pg_constraint where contype in ('p', 'u', 'f') and (conrelid in (${ofTables}) or confrelid in (${ofTables}))
    order by contype = 'f', conname`.execute(queries);
  return [...indexes.rows, ...constraints.rows];
}

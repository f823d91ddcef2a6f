// Whether acknowledged commits would survive a power cut. A test with kill -9 cannot prove it, so the settings are checked.
import { sql } from 'kysely';
import type { Database } from './database.ts';

const mustBeOn: Record<string, string> = {
  fsync: 'a power cut can destroy the whole database',
  full_page_writes: 'a power cut can leave half-written pages',
};

/** One sentence for each dangerous setting. */
export async function checkDurability(database: Database): Promise<string[]> {
  return database.engine === 'postgres' ? await checkPostgres(database) : await checkSqlite(database);
}

async function checkPostgres({ queries }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit')`.execute(queries);
  return rows.flatMap(({ name, setting }) => {
    if (name === 'synchronous_commit') {
      // local, remote_write, remote_apply and on all wait for this server's own disk.
      return setting === 'off'
        ? ['PostgreSQL has synchronous_commit off: a power cut can lose payments that were acknowledged. Turn it on.']
        : [];
    }
    return setting === 'on' ? [] : [`PostgreSQL has ${name} off: ${mustBeOn[name]}. Turn it on.`];
  });
}

async function checkSqlite({ queries }: Database): Promise<string[]> {
  const journal = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(queries);
  const mode = journal.rows[0]?.journal_mode;
  if (mode === 'memory') return ['The database is in memory: nothing survives the end of the process.'];
  const sync = await sql<{ synchronous: number }>`pragma synchronous`.execute(queries);
  const problems: string[] = [];
  if (mode !== 'wal') problems.push(`The database file could not be put into WAL mode (it is in ${mode}): use a local disk.`);
  if ((sync.rows[0]?.synchronous ?? 0) < 2)
    problems.push('The database file is not synced at each commit: a power cut can lose payments that were acknowledged.');
  return problems;
}

// The checks of `tillgate doctor` on a database: reads on a read-only connection, also beside a running gateway and also if the migrations
// do not match; and, on PostgreSQL, a write that is rolled back. The connection's own time-outs bound every wait.
import { sql } from 'kysely';
import { StartRefused } from '../kernel/start-refused.ts';
import type { Database } from './database.ts';
import { checkDurability } from './durability.ts';
import { migrationsDir } from './migration-files.ts';
import { checkMigrated } from './migrations.ts';
import { connectReader, type OpenOptions } from './open.ts';
import { type PostgresOptions, tryWrite } from './postgres/database.ts';

export interface Inspection {
  /** For example "PostgreSQL 15.3". */
  product: string;
  /** Undefined: up to date. */
  migrationProblem: string | undefined;
  /** Settings with which a power cut loses acknowledged commits. */
  durabilityProblems: string[];
  rightsProblems: string[];
  /** PostgreSQL: its clock in milliseconds, and the uncertainty of the measurement. */
  clock: { nowMs: number; uncertainMs: number } | undefined;
  /** PostgreSQL: the limit of sessions, and their current number. */
  sessions: { most: number; taken: number } | undefined;
  /** PostgreSQL: the standbys that a commit waits for; '' if there are none. */
  synchronousStandbys: string | undefined;
}

export async function inspectDatabase(options: Omit<OpenOptions, 'role'>): Promise<Inspection> {
  const database = await connectReader(options);
  try {
    const common = {
      migrationProblem: await migrationProblem(database, options.migrationsDir ?? migrationsDir),
      durabilityProblems: await checkDurability(database),
    };
    if (options.url !== undefined) {
      const found = await inspectPostgres(database, () => options.clock.now());
      // A missing right, or a standby, explains a failing write already.
      const writeProblems = found.rightsProblems.length > 0 ? [] : await writeProblem({ ...options, url: options.url, role: 'gateway' });
      return { ...common, ...found, rightsProblems: [...found.rightsProblems, ...writeProblems] };
    }
    const none = { clock: undefined, sessions: undefined, synchronousStandbys: undefined };
    return { ...common, ...none, product: 'embedded database (SQLite)', rightsProblems: [] };
  } finally {
    await database.close();
  }
}

async function writeProblem(options: PostgresOptions): Promise<string[]> {
  try {
    await tryWrite(options);
    return [];
  } catch (error) {
    const { message, cause } = error as Error;
    return [`A test write failed: ${cause instanceof Error ? cause.message : message}`];
  }
}

async function migrationProblem({ engine, queries }: Database, dir: string): Promise<string | undefined> {
  try {
    await checkMigrated(engine, queries, dir);
    return undefined;
  } catch (error) {
    if (error instanceof StartRefused) return error.message;
    throw error;
  }
}

interface PostgresFacts {
  version: string;
  isStandby: number | boolean;
  mayCreate: number | boolean;
  most: number;
  taken: number;
  standbys: string;
}

async function inspectPostgres({ queries }: Database, now: () => number) {
  const before = now();
  const { rows: clocks } = await sql<{ now: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(queries);
  const uncertainMs = now() - before;
  const { rows } = await sql<PostgresFacts>`
    select split_part(current_setting('server_version'), ' ', 1) as version, pg_is_in_recovery() as "isStandby",
      has_schema_privilege(current_schema(), 'create') as "mayCreate",
      current_setting('max_connections')::bigint as most, (select count(*) from pg_stat_activity where backend_type = 'client backend') as taken,
      current_setting('synchronous_standby_names') as standbys`.execute(queries);
  const [facts] = rows;
  if (!facts) throw new Error('PostgreSQL answered without a row.');
  // Migrations change the tables, which only their owner may do.
  const { rows: foreign } = await sql<{ name: string }>`
    select tablename as name from pg_tables
    where schemaname = current_schema() and not pg_has_role(tableowner, 'usage') order by tablename limit 3`.execute(queries);
  const rightsProblems = [
    ...(facts.mayCreate ? [] : ['The user may not create tables in this database.']),
    ...(foreign.length === 0 ? [] : [`The user does not own ${foreign.map(({ name }) => name).join(', ')}.`]),
    ...(facts.isStandby ? ['The server is a standby, which is read-only.'] : []),
  ];
  return {
    product: `PostgreSQL ${facts.version}`,
    rightsProblems,
    clock: { nowMs: (clocks[0]?.now ?? 0) + uncertainMs / 2, uncertainMs: uncertainMs / 2 },
    sessions: { most: facts.most, taken: facts.taken },
    synchronousStandbys: facts.standbys,
  };
}

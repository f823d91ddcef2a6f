// The databases of tests on PostgreSQL. A test process copies them from a migrated template, and empties those that its tests return: to copy
// and drop a database costs the server 150 ms of processor time, to empty it some 5.
import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { migrationsDir, readMigrations } from '../../src/database/migration-files.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { quietLogger } from './quiet-logger.ts';

export const postgresUrl = process.env['TILLGATE_TEST_POSTGRES_URL'];

const emptied: string[] = [];
/** Some tests close a database twice. */
const inUse = new Set<string>();
/** The catalogue as the template has it. */
let shape: string | undefined;

/** A migrated database without rows. `isNew`: no test has used it; emptied tables keep their pages, which changes query plans. */
export async function takeDatabase(isNew: boolean): Promise<string> {
  const migrated = await preparedTemplate();
  const name = (isNew ? undefined : emptied.pop()) ?? (await copyOf(migrated));
  inUse.add(name);
  return name;
}

async function copyOf(migrated: string): Promise<string> {
  const name = newName();
  await asAdmin((admin) => admin.query(`create database ${name} template ${migrated}`));
  shape ??= await asKeeper(name, readShape);
  return name;
}

/** A later test gets it, unless its catalogue or statistics have changed, it has grown, or something is still connected. */
export async function returnDatabase(name: string): Promise<void> {
  if (!inUse.delete(name)) return;
  if (await asKeeper(name, makeEmpty).catch(() => false)) emptied.push(name);
  else await dropDatabase(name);
}

async function makeEmpty(client: pg.ClientBase): Promise<boolean> {
  if ((await readShape(client)) !== shape || (await isLarge(client)) || (await hasOtherClients(client))) return false;
  await deleteRows(client);
  return true;
}

/** For each database a connection that stays: the first query on a new one costs eight times as much as to empty the database. */
const keepers = new Map<string, pg.Pool>();

async function asKeeper<Result>(name: string, work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
  const keeper = keepers.get(name) ?? keptPool(urlOf(name), 1);
  keepers.set(name, keeper);
  return withClient(keeper, work);
}

async function inDatabase<Result>(name: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: urlOf(name) });
  // The server may be stopped by its test.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** What each object of a catalogue has as its number. */
const catalogues = {
  pg_class: 'oid',
  pg_attribute: 'attrelid',
  pg_constraint: 'oid',
  pg_index: 'indexrelid',
  pg_proc: 'oid',
  pg_statistic: undefined,
  pg_trigger: 'oid',
  applied_migrations: undefined,
  migration_promises: undefined,
};
/** The first number that the server's own objects do not have. */
const firstOwnObject = 16_384;

/** Tables, columns, indexes, functions, triggers, statistics, settings, and the rows that the migrations wrote. A change gives a row a new xmin. */
async function readShape(client: pg.ClientBase): Promise<string> {
  const sums = Object.entries(catalogues).map(([table, number]) => {
    const own = number === undefined ? '' : `where ${number} >= ${firstOwnObject}`;
    return `(select concat(count(*), ':', max(xmin::text::bigint)) from ${table} ${own})`;
  });
  const settings = `(select count(*) from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database()))`;
  const { rows } = await client.query<{ shape: string }>(`select concat_ws(' ', ${[...sums, settings].join(', ')}) as shape`);
  return rows[0]?.shape ?? '';
}

/** Deleted rows keep their space, which slows down what reads a table as a whole. */
async function isLarge(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return Number(rows[0]?.bytes) > 16 * 2 ** 20;
}

/** Sessions of clients that have just left end within milliseconds. */
async function hasOtherClients(client: pg.ClientBase): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const { rowCount } = await client.query(`
      select 1 from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`);
    if (rowCount === 0) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

/** All but the record of the migrations. Without triggers, so that the order of the tables does not matter. */
async function deleteRows(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(`
    select case relkind when 'S' then format('select setval(%L, 1, false)', oid::regclass) else format('delete from %I', relname) end as statement
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname not in ('applied_migrations', 'migration_promises')`);
  await client.query(`set session_replication_role = replica; ${rows.map(({ statement }) => statement).join('; ')}`);
}

let template: Promise<string> | undefined;

/** One migrated database that the others are copied from; asked for once by each test process. */
function preparedTemplate(): Promise<string> {
  template ??= prepareTemplate();
  return template;
}

/** Test processes that start together take turns. */
async function prepareTemplate(): Promise<string> {
  const checksums = readMigrations(migrationsDir).map((migration) => migration.checksum);
  const name = `tillgate_tests_${createHash('sha256').update(checksums.join()).digest('hex').slice(0, 16)}`;
  await asAdmin(async (admin) => {
    await admin.query('select pg_advisory_lock(20260102)');
    try {
      const { rows } = await admin.query('select 1 from pg_database where datname = $1', [name]);
      if (rows.length > 0) return;
      // Under another name until it is whole: a test process that dies in the middle leaves no half-made template.
      const draft = `${name}_draft`;
      await admin.query(`drop database if exists ${draft} with (force)`);
      await admin.query(`create database ${draft}`);
      const database = await openDatabase({ url: urlOf(draft), role: 'gateway', clock: systemClock, logger: quietLogger });
      await database.close();
      await inDatabase(draft, addDroppedChecks);
      await admin.query(`alter database ${draft} rename to ${name}`);
    } finally {
      await admin.query('select pg_advisory_unlock(20260102)');
    }
  });
  return name;
}

/** The checks of tables that keep them on SQLite alone, for speed [D242]: a mistake of the program fails a test on PostgreSQL as well. */
async function addDroppedChecks(client: pg.Client): Promise<void> {
  const schema = readMigrations(migrationsDir)
    .map(({ text }) => text)
    .join('\n');
  const tables = new Set([...schema.matchAll(/^alter table (\w+) drop constraint /gm)].map(([, table = '']) => table));
  for (const table of tables)
    for (const condition of checksIn(schema.match(new RegExp(`^create table ${table} \\($[\\s\\S]*?^\\);$`, 'm'))?.[0] ?? ''))
      await client.query(`alter table ${table} add check ${condition}`);
}

/** The conditions, with their parentheses. */
function checksIn(table: string): string[] {
  return [...table.matchAll(/\bcheck (?=\()/g)].map(({ 0: head, index }) => {
    const from = index + head.length;
    let depth = 0;
    for (let at = from; at < table.length; at += 1) {
      if (table[at] === '(') depth += 1;
      if (table[at] === ')') depth -= 1;
      if (depth === 0) return table.slice(from, at + 1);
    }
    throw new Error('The parentheses of a check do not close.');
  });
}

function newName(): string {
  return `tillgate_test_${randomUUID().replaceAll('-', '')}`;
}

export async function createEmpty(): Promise<string> {
  const name = newName();
  await asAdmin((admin) => admin.query(`create database ${name}`));
  return name;
}

export async function dropDatabase(name: string): Promise<void> {
  const keeper = keepers.get(name);
  keepers.delete(name);
  await keeper?.end();
  await asAdmin((admin) => admin.query(`drop database if exists ${name} with (force)`));
}

export function urlOf(databaseName: string): string {
  const url = new URL(postgresUrl ?? '');
  url.pathname = `/${databaseName}`;
  return url.href;
}

let admins: pg.Pool | undefined;

async function asAdmin<Result>(work: (admin: pg.ClientBase) => Promise<Result>): Promise<Result> {
  admins ??= keptPool(postgresUrl ?? '');
  return withClient(admins, work);
}

/** Connections are kept, because every one is a process of the server; they do not keep the test process alive. */
function keptPool(connectionString: string, max = 10): pg.Pool {
  const pool = new pg.Pool({ connectionString, max, allowExitOnIdle: true, idleTimeoutMillis: 0 });
  // A connection that a test has ended is replaced by the next call.
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function withClient<Result>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}

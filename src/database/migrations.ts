// Migrates a database to this program's version. Forward only; each migration and its mark are one transaction under a lock, so instances
// that start together run one after the other, and a crash leaves nothing half done.
// A gateway of the previous version may be running: a migration that loses a deadlock against it is rolled back and retried, and the
// gateway continues in between.
// A database that was created by other migration texts is refused. A newer database is refused too, unless each migration that this program
// does not know promises compatibility [D109].
import { type Kysely, sql } from 'kysely';
import type { Logger } from '../kernel/logger.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import type { Queries } from './database.ts';
import type { Engine } from './dialect.ts';
import { type Migration, readMigrations, statementsFor } from './migration-files.ts';
import { untilNotLost } from './until-not-lost.ts';

export interface AppliedMigration {
  version: number;
  name: string;
}

interface Marks {
  applied_migrations: { version: number; name: string; checksum: string; applied_at: number };
  migration_promises: { version: number; oldest_program: number };
}

/** The migration that creates the table of promises. */
const promisesName = 'schema';
/** The first migration of Tillgate 0.1 and older, whose schema was abandoned [D190]. */
const abandonedSchema = 'foundation';

// Arbitrary; no other program in the same database may use this advisory lock.
const advisoryLock = 7_455_283;

/** More tries than for other work: a change of tables waits for all statements that use them. A lost try takes about a second. */
const triesOfMigration = 10;

const preambles: Record<Engine, string[]> = {
  sqlite: [],
  postgres: [
    // Stable within a statement, so that it can be used with an index on times.
    `create or replace function now_ms() returns bigint language sql stable parallel safe
     as 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`,
  ],
};

const marksTable = `
  create table applied_migrations (
    version int8 primary key,
    name text not null,
    checksum text not null,
    applied_at int8 not null
  );`;

/** Applies the missing migrations and returns them, oldest first. */
export async function migrate(engine: Engine, db: Queries, dir: string, logger: Logger): Promise<AppliedMigration[]> {
  const migrations = readMigrations(dir);
  const queries = db as unknown as Kysely<Marks>;
  const applied: AppliedMigration[] = [];
  const applyNext = () =>
    begin(engine, queries).execute(async (tx) => {
      if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLock)})`.execute(tx);
      if (!(await hasMarks(engine, tx))) {
        for (const statement of [...preambles[engine], ...statementsFor(engine, marksTable)]) await sql.raw(statement).execute(tx);
      }
      const missing = await findMissing(tx, migrations);
      if (missing) await apply(engine, tx, missing, migrations);
      return missing;
    });
  const onLost = (attempt: number, error: Error) =>
    logger.warn({ attempt, of: triesOfMigration, err: error }, 'a migration lost a deadlock against a running gateway and will be retried');
  for (;;) {
    const next = await untilNotLost(applyNext, { tries: triesOfMigration, onLost });
    if (!next) return applied;
    applied.push({ version: next.version, name: next.name });
  }
}

/** For readers: throws if the database does not have this program's migrations. */
export async function checkMigrated(engine: Engine, db: Queries, dir: string): Promise<void> {
  const queries = db as unknown as Kysely<Marks>;
  const migrations = readMigrations(dir);
  const first = (await hasMarks(engine, queries)) ? await findMissing(queries, migrations) : migrations[0];
  if (!first) return;
  const missing = migrations.filter(({ version }) => version >= first.version).map(({ version, name }) => `${version} (${name})`);
  throw new StartRefused(
    `The database lacks migration${missing.length === 1 ? '' : 's'} ${missing.join(', ')}: start the gateway or run "tillgate migrate" first.`,
  );
}

/** Not the server's default isolation: after the wait for the lock, the commit of the instance before must be visible. */
function begin(engine: Engine, db: Kysely<Marks>) {
  return engine === 'postgres' ? db.transaction().setIsolationLevel('read committed') : db.transaction();
}

async function hasMarks(engine: Engine, db: Kysely<Marks>): Promise<boolean> {
  const found =
    engine === 'postgres'
      ? await sql`select 1 as found where to_regclass('applied_migrations') is not null`.execute(db)
      : await sql`select 1 as found from sqlite_master where type = 'table' and name = 'applied_migrations'`.execute(db);
  return found.rows.length > 0;
}

async function findMissing(db: Kysely<Marks>, migrations: Migration[]): Promise<Migration | undefined> {
  const marks = await db.selectFrom('applied_migrations').select(['version', 'name', 'checksum']).orderBy('version').execute();
  if (marks[0]?.name === abandonedSchema) {
    throw new StartRefused(
      'This database was created by Tillgate 0.1 or older, and this version cannot convert it. Keep it for that program, and start this one with a new database: another TILLGATE_DATABASE_URL or TILLGATE_DATA_DIR.',
    );
  }
  for (const mark of marks) {
    const migration = migrations[mark.version - 1];
    if (!migration) {
      if (await isPromised(db, mark.version, migrations)) continue;
      throw new StartRefused(
        `The database is newer than this program (it has migration ${mark.version} "${mark.name}", the program knows ${migrations.length}): run the newer program.`,
      );
    }
    if (migration.checksum !== mark.checksum) {
      throw new StartRefused(
        `Migration ${mark.version} "${mark.name}" was applied to this database with another text than this program has. Use the program that created the database.`,
      );
    }
  }
  return migrations[marks.length];
}

/** The first migration with a promise; Infinity for a program that is too old to know any. */
function firstPromise(migrations: Migration[]): number {
  return migrations.find(({ name }) => name === promisesName)?.version ?? Number.POSITIVE_INFINITY;
}

async function isPromised(db: Kysely<Marks>, version: number, migrations: Migration[]): Promise<boolean> {
  if (migrations.length < firstPromise(migrations)) return false;
  const found = await db.selectFrom('migration_promises').select('oldest_program').where('version', '=', version).executeTakeFirst();
  return found !== undefined && found.oldest_program <= migrations.length;
}

async function apply(engine: Engine, db: Kysely<Marks>, migration: Migration, migrations: Migration[]): Promise<void> {
  for (const statement of statementsFor(engine, migration.text)) await sql.raw(statement).execute(db);
  await db
    .insertInto('applied_migrations')
    .values({ version: migration.version, name: migration.name, checksum: migration.checksum, applied_at: sql<number>`now_ms()` })
    .execute();
  if (migration.version < firstPromise(migrations)) return;
  await db.insertInto('migration_promises').values({ version: migration.version, oldest_program: migration.oldestProgram }).execute();
}

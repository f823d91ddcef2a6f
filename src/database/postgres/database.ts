// PostgreSQL as a Database: every wait for the pool is bounded and every connection has an error listener, so that a server that stops,
// restarts, freezes or fails over causes errors but never ends the process.
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Clock } from '../../kernel/clock.ts';
import { createGate, type Gate } from '../../kernel/gate.ts';
import type { Logger } from '../../kernel/logger.ts';
import { StartRefused } from '../../kernel/start-refused.ts';
import { atTurnsEnd } from '../../kernel/system.ts';
import type { Database } from '../database.ts';
import { createLocalWake } from '../local-wake.ts';
import type { Schema } from '../schema.ts';
import { createTransactionGuard, type TransactionGuard } from '../transaction-guard.ts';
import { untilNotLost } from '../until-not-lost.ts';
import { type WatchStatement, watchedDialect } from '../watched-dialect.ts';
import { createWriteCheck } from '../write-check.ts';
import { createClientClass, createStatementNames, type SyncingClient } from './client.ts';
import { translatePostgresError } from './errors.ts';
import type { Rows } from './one-sync.ts';
import { createShortages, type Shortages } from './shortages.ts';
import { readSnapshot } from './snapshot.ts';
import { typeParsers } from './values.ts';
import { createPostgresWake } from './wake.ts';

export interface PostgresBounds {
  poolSize: number;
  /** To get a connection, new or from the pool. */
  connectMs: number;
  /** Time-out of a statement at the server. */
  statementMs: number;
  /** Time-out for the answer; more than statementMs, so that it applies only if the server does not answer. */
  answerMs: number;
}

export const defaultBounds: PostgresBounds = { poolSize: 10, connectMs: 4_000, statementMs: 5_000, answerMs: 6_000 };

/** Of the connections, pages get one in this many. */
const partForPages = 3;
const oldestServer = 13;

export interface PostgresOptions {
  url: string;
  role: 'gateway' | 'reader';
  clock: Clock;
  logger: Logger;
  bounds?: PostgresBounds | undefined;
  watchStatement?: WatchStatement | undefined;
}

export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { clock, logger } = options;
  const guard = createTransactionGuard();
  const bounds = options.bounds ?? defaultBounds;
  const shortages = createShortages();
  const { pool, queries } = createQueries(options, bounds, guard, shortages);
  const connectNext = () => connect(pool, shortages);
  const gate = createGate(Math.max(1, Math.floor(bounds.poolSize / partForPages)));
  const pages = queriesOn(pool, () => connectInside(connectNext, gate), guard, options);
  const local = createLocalWake(logger);
  const wake = createPostgresWake({ connection: clientConfig(options, bounds), clock, logger, local });
  if (options.role === 'gateway') await wake.start();
  let closing: Promise<void> | undefined;
  let isAlone = false;

  async function close() {
    await wake.stop();
    await queries.destroy();
    if (!pool.ending) await pool.end();
  }

  return {
    engine: 'postgres',
    queries,
    pages,
    transaction: (work) =>
      untilNotLost(() =>
        queries
          .transaction()
          .setIsolationLevel('read committed')
          .execute((tx) => guard.run(() => work(tx))),
      ),
    async inOneGo(statements) {
      guard.checkOutside();
      const run = () => runInOneSync(connectNext, statements);
      return await (options.watchStatement ? options.watchStatement(statements.map(({ sql: text }) => text).join('; '), run) : run());
    },
    async snapshot(work) {
      guard.checkOutside();
      return await readSnapshot(connectNext as () => Promise<SyncingClient>, work, options.watchStatement);
    },
    wake(topic, detail = '') {
      local.wake(topic, detail);
      wake.notify(topic, detail);
    },
    hint(topic, detail = '') {
      local.wake(topic, detail);
      if (!isAlone) wake.notify(topic, detail);
    },
    setAlone(isSo) {
      isAlone = isSo;
    },
    onWake: (topic, listener) => local.onWake(topic, listener),
    soon: atTurnsEnd,
    checkWrite: createWriteCheck(queries, () => shortages.check(queries)),
    shortages: shortages.count,
    load: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** For migrations: one connection without a statement time-out, because a large table takes long. */
export async function withUnboundedQueries<Result>(
  options: PostgresOptions,
  work: (queries: Kysely<Schema>) => Promise<Result>,
): Promise<Result> {
  const { pool, queries } = createQueries(
    options,
    { ...defaultBounds, poolSize: 1, statementMs: 0, answerMs: 0 },
    createTransactionGuard(),
  );
  try {
    await checkServer(queries);
    return await work(queries);
  } finally {
    await queries.destroy();
    if (!pool.ending) await pool.end();
  }
}

/** Creates a table and rolls back: fails on a read-only server, for a read-only role and on a full disk. */
export async function tryWrite(options: PostgresOptions): Promise<void> {
  const { pool, queries } = createQueries({ ...options, role: 'gateway' }, { ...defaultBounds, poolSize: 1 }, createTransactionGuard());
  const done = new Error('rolled back');
  try {
    await queries.transaction().execute(async (tx) => {
      await sql`create table tillgate_write_check (id bigint)`.execute(tx);
      await sql`insert into tillgate_write_check values (1)`.execute(tx);
      throw done;
    });
  } catch (error) {
    if (error !== done) throw error;
  } finally {
    await queries.destroy();
    if (!pool.ending) await pool.end();
  }
}

async function checkServer(queries: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version_num') as version`.execute(queries);
  const major = Math.floor(Number(rows[0]?.version) / 10_000);
  if (!(major >= oldestServer)) throw new StartRefused(`The server is PostgreSQL ${major}; Tillgate needs ${oldestServer} or newer.`);
}

function clientConfig({ url, role }: PostgresOptions, bounds: PostgresBounds): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'tillgate',
    connectionTimeoutMillis: bounds.connectMs,
    statement_timeout: bounds.statementMs,
    query_timeout: bounds.answerMs,
    // A transaction of a hanging gateway releases its row locks.
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: typeParsers,
    ...(role === 'reader' ? { options: '-c default_transaction_read_only=on' } : {}),
  };
}

function createQueries(
  options: PostgresOptions,
  bounds: PostgresBounds,
  guard: TransactionGuard,
  shortages: Pick<Shortages, 'note'> = createShortages(),
): { pool: pg.Pool; queries: Kysely<Schema> } {
  const { logger } = options;
  const pool = new pg.Pool({
    ...clientConfig(options, bounds),
    max: bounds.poolSize,
    Client: createClientClass(createStatementNames(), shortages.note),
  });
  // Without a listener an error ends the process: the pool emits errors of idle connections, each connection its own while in use.
  const lost = (error: unknown, message: string) => logger.warn({ err: translatePostgresError(error) }, message);
  pool.on('error', (error) => lost(error, 'an idle database connection was lost'));
  pool.on('connect', (client) => client.on('error', (error: unknown) => lost(error, 'a database connection was lost')));
  return { pool, queries: queriesOn(pool, () => connect(pool, shortages), guard, options) };
}

function queriesOn(
  pool: pg.Pool,
  connectNext: () => Promise<pg.PoolClient>,
  guard: TransactionGuard,
  { watchStatement }: PostgresOptions,
): Kysely<Schema> {
  const dialect = new PostgresDialect({
    pool: {
      connect: () => {
        guard.checkOutside();
        return connectNext();
      },
      end: () => pool.end(),
      options: pool.options,
    },
  });
  return new Kysely<Schema>({ dialect: watchedDialect(dialect, watchStatement) });
}

/** Inside the gate until the connection is released. */
function connectInside(connectNext: () => Promise<pg.PoolClient>, gate: Gate): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    void gate.run(async () => {
      const client = await connectNext().catch(reject);
      if (!client) return;
      const { release } = client;
      await new Promise<void>((leave) => {
        client.release = (destroy) => {
          release.call(client, destroy);
          leave();
        };
        resolve(client);
      });
    });
  });
}

async function runInOneSync(connectNext: () => Promise<pg.PoolClient>, statements: readonly CompiledQuery[]): Promise<Rows[]> {
  const client = (await connectNext()) as SyncingClient;
  try {
    return await client.oneSync(statements.map(({ sql: text, parameters: values }) => ({ text, values })));
  } finally {
    client.release();
  }
}

async function connect(pool: pg.Pool, shortages: Pick<Shortages, 'note'>): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    shortages.note(error);
    throw translatePostgresError(error);
  }
}

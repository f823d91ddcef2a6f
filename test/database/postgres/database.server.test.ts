// PostgreSQL stops, restarts, freezes, cuts connections: errors within a bound, never the end of the process, and recovery by itself.
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { checkDurability } from '../../../src/database/durability.ts';
import { isDatabaseDown } from '../../../src/database/errors.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { systemClock } from '../../../src/kernel/system.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { type PostgresServer, startPostgres } from '../../support/servers/postgres.ts';
import { signalFamily } from '../../support/servers/signal-family.ts';

const bounds = { poolSize: 4, connectMs: 700, statementMs: 700, answerMs: 900 };
const boundMs = bounds.connectMs + bounds.answerMs + 700;

let server: PostgresServer;
let database: Database;
const open = () => openDatabase({ url: server.url, role: 'gateway', clock: systemClock, logger: quietLogger, bounds });

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
beforeEach(async () => {
  database = await open();
});
afterEach(() => database.close());

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Each way into the database fails as "down", and soon. */
async function expectDown(): Promise<void> {
  const startedAt = performance.now();
  const works = [
    ...Array.from({ length: 10 }, () => seedMerchant(database.queries)),
    database.transaction((tx) => seedMerchant(tx)),
    database.checkWrite(),
  ];
  const reasons = await Promise.all(works.map(reasonOf));
  expect(performance.now() - startedAt).toBeLessThan(boundMs);
  for (const reason of reasons) {
    expect(isDatabaseDown(reason), String(reason)).toBe(true);
    // The caller of the API reads it: no address, no name of a server.
    expect(String(reason)).not.toMatch(/127\.0\.0\.1|postgres/i);
  }
}

async function expectRecovery(): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const reason = await reasonOf(database.checkWrite());
    if (!reason) break;
    expect(attempt).toBeLessThan(50);
    await pause(100);
  }
  await Promise.all(Array.from({ length: 10 }, () => seedMerchant(database.queries)));
  await database.transaction((tx) => seedMerchant(tx));
}

async function warmUp(): Promise<void> {
  await Promise.all(Array.from({ length: 8 }, () => seedMerchant(database.queries)));
}

/** Waits until a wake from another instance arrives: the listening connection is back. */
async function expectWakes(): Promise<void> {
  const other = await open();
  let isHeard = false;
  const cancel = database.onWake('test', () => {
    isHeard = true;
  });
  for (let attempt = 1; !isHeard; attempt += 1) {
    expect(attempt).toBeLessThan(100);
    other.wake('test');
    await pause(50);
  }
  cancel();
  await other.close();
}

async function serverPid(): Promise<number> {
  const client = new pg.Client(server.url);
  await client.connect();
  const { rows } = await client.query<{ text: string }>(`select pg_read_file('postmaster.pid') as text`);
  await client.end();
  return Number(rows[0]?.text.split('\n')[0]);
}

describe('PostgreSQL', () => {
  it('killed and started again', async () => {
    await warmUp();
    await server.kill9();
    try {
      // Sessions of the dead server end on their own a moment later.
      while (!(await reasonOf(database.checkWrite()))) await pause(10);
      await expectDown();
    } finally {
      await server.restart();
    }
    await expectRecovery();
    await expectWakes();
  });

  it('restarted in an orderly way under load', async () => {
    let isOver = false;
    const failures: unknown[] = [];
    let successes = 0;
    const callers = Array.from({ length: 6 }, async () => {
      while (!isOver) {
        const reason = await reasonOf(database.transaction((tx) => seedMerchant(tx)));
        if (reason) {
          failures.push(reason);
          await pause(5);
        } else successes += 1;
      }
    });
    await pause(100);
    await server.restart();
    await expectRecovery();
    isOver = true;
    await Promise.all(callers);
    expect(successes).toBeGreaterThan(0);
    for (const failure of failures) expect(isDatabaseDown(failure), String(failure)).toBe(true);
  });

  it('frozen, so that it accepts connections and answers nothing', async () => {
    await warmUp();
    const pid = await serverPid();
    signalFamily(pid, 'SIGSTOP');
    try {
      await expectDown();
      await expectDown();
    } finally {
      signalFamily(pid, 'SIGCONT');
    }
    await expectRecovery();
  });

  it('frozen while the gateway ends: the gateway does not wait for it', async () => {
    await warmUp();
    const pid = await serverPid();
    signalFamily(pid, 'SIGSTOP');
    try {
      const startedAt = performance.now();
      await database.close();
      expect(performance.now() - startedAt).toBeLessThan(4_000);
    } finally {
      signalFamily(pid, 'SIGCONT');
    }
  });

  it('cutting every connection, idle ones, listening ones and those inside a transaction', async () => {
    await warmUp();
    const admin = new pg.Client(server.url);
    await admin.connect();
    const cutAll = () =>
      admin.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = $1', [
        'client backend',
      ]);
    const reason = await reasonOf(
      database.transaction(async (tx) => {
        await seedMerchant(tx, { id: 'half' });
        await cutAll();
        await seedMerchant(tx);
      }),
    );
    expect(isDatabaseDown(reason)).toBe(true);
    await expectRecovery();
    expect(await database.queries.selectFrom('merchants').select('id').where('id', '=', 'half').execute()).toEqual([]);
    await expectWakes();
    await admin.end();
  });

  it('ends a statement that takes too long, and the connection stays usable', async () => {
    const startedAt = performance.now();
    expect(isDatabaseDown(await reasonOf(sql`select pg_sleep(${30}::int)`.execute(database.queries)))).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(boundMs);
    await database.checkWrite();
  });

  it('runs a transaction again that lost a deadlock', async () => {
    const { id: a } = await seedMerchant(database.queries);
    const { id: b } = await seedMerchant(database.queries);
    let attempts = 0;
    let firstLocks = 0;
    let bothHold = () => {};
    const met = new Promise<void>((resolve) => {
      bothHold = resolve;
    });
    const rename = (from: string, to: string) =>
      database.transaction(async (tx) => {
        attempts += 1;
        await sql`set local deadlock_timeout = '50ms'`.execute(tx);
        await tx.updateTable('merchants').set({ name: from }).where('id', '=', from).execute();
        firstLocks += 1;
        if (firstLocks === 2) bothHold();
        await met;
        await tx.updateTable('merchants').set({ name: from }).where('id', '=', to).execute();
      });
    await Promise.all([rename(a, b), rename(b, a)]);
    expect(attempts).toBeGreaterThanOrEqual(3);
    const rows = await database.queries.selectFrom('merchants').select('name').where('id', 'in', [a, b]).execute();
    expect(new Set(rows.map((row) => row.name)).size).toBe(1);
  });

  it('whose tables changed under prepared statements continues without an error', async () => {
    const read = (queries: Database['queries']) => queries.selectFrom('instances').selectAll().where('id', '=', 'x').execute();
    await Promise.all(Array.from({ length: 8 }, () => read(database.queries)));
    await sql`alter table instances add column extra text`.execute(database.queries);
    // All connections, half of them inside a transaction.
    await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 ? read(database.queries) : database.transaction(read))));
    await sql`alter table instances drop column extra`.execute(database.queries);
  });

  it('has its own clock behind now_ms(), also inside a transaction', async () => {
    const read = (db: Database['queries']) =>
      sql<{ now: number }>`select now_ms() as now`.execute(db).then(({ rows }) => rows[0]?.now ?? 0);
    expect(Math.abs((await read(database.queries)) - Date.now())).toBeLessThan(2_000);
    await database.transaction(async (tx) => {
      const first = await read(tx);
      await sql`select pg_sleep(0.02)`.execute(tx);
      expect(await read(tx)).toBeGreaterThan(first);
    });
  });

  it('with safe settings has no durability problem, and each dangerous one is named', async () => {
    expect(await checkDurability(database)).toEqual([]);
    const careless = await startPostgres({ settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } });
    const open2 = await openDatabase({ url: careless.url, role: 'gateway', clock: systemClock, logger: quietLogger });
    const problems = await checkDurability(open2);
    expect(problems).toHaveLength(3);
    for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) expect(problems.join('\n')).toContain(`${name} off`);
    await open2.close();
    await careless.stop();
  });

  it('that is not reachable at the start is an error message, not a crash', async () => {
    const reason = await reasonOf(
      openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', role: 'gateway', clock: systemClock, logger: quietLogger, bounds }),
    );
    expect(isDatabaseDown(reason)).toBe(true);
    expect(String(reason)).toContain('ECONNREFUSED');
  });
});

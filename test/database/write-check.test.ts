// A database that answers every question and takes no write is not healthy: a standby, a full disk, a read-only role.
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMetrics } from '../../src/http/metrics.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { addGauges } from '../../src/wiring/gauges.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';

async function makeReadOnly({ engine, queries }: TestDatabase): Promise<void> {
  if (engine === 'sqlite') {
    await sql`pragma query_only = on`.execute(queries);
    return;
  }
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(queries);
  await sql`alter database ${sql.raw(rows[0]?.name ?? '')} set default_transaction_read_only = on`.execute(queries);
  // This session last: ended earlier, it would leave those after it, which may still write.
  await sql`
    select pg_terminate_backend(pid)
    from (select pid from pg_stat_activity where datname = current_database() order by pid = pg_backend_pid() offset 0) as sessions`
    .execute(queries)
    .catch(() => {});
}

describe.each(engines)('on %s', (engine) => {
  async function setUp() {
    const database = await openTestDatabase(engine);
    onTestFinished(() => database.close());
    return database;
  }

  it('a database that can only be read fails the check, and is down in the metrics', { timeout: 60_000 }, async () => {
    const database = await setUp();
    const metrics = createMetrics();
    addGauges(metrics, {
      clock: systemClock,
      database,
      callbacks: {
        stats: async () => ({ pending: 0, dead: 0, oldestPendingAgeMs: 0 }),
        counts: () => ({ inFlight: 0, delivered: 0, failedAttempts: 0, died: 0 }),
      },
      link: { stats: () => ({ waitingCalls: 0, liveDevices: 0, connected: { mqtt: true, queue: true }, dropped: {} }) },
      ledger: { stats: () => ({ inFlight: 0, contradictions: 0 }) },
    });
    await Promise.all([database.checkWrite(), database.checkWrite(), database.checkWrite()]);
    expect(await metrics.text()).toContain('\ntillgate_database_up 1\n');
    await makeReadOnly(database);
    await vi.waitFor(() => expect(database.checkWrite()).rejects.toThrow('can only be read now'), 40_000);
    expect(await metrics.text()).toContain('\ntillgate_database_up 0\n');
    await expect(sql`select 1`.execute(database.queries)).resolves.toBeDefined();
  });

  it('a scrape does not count its own questions as load', async () => {
    const database = await setUp();
    const metrics = createMetrics();
    let asked = 0;
    const busy = { ...database, load: () => ({ busy: asked, idle: 1, waiting: asked }) };
    addGauges(metrics, {
      clock: systemClock,
      database: busy,
      callbacks: {
        async stats() {
          asked += 1;
          return { pending: 0, dead: 0, oldestPendingAgeMs: 0 };
        },
        counts: () => ({ inFlight: 0, delivered: 0, failedAttempts: 0, died: 0 }),
      },
      link: { stats: () => ({ waitingCalls: 0, liveDevices: 0, connected: { mqtt: true, queue: true }, dropped: {} }) },
      ledger: { stats: () => ({ inFlight: 0, contradictions: 0 }) },
    });
    expect(await metrics.text()).toContain('tillgate_database_connections{state="waiting"} 0');
    expect(asked).toBe(1);
  });
});

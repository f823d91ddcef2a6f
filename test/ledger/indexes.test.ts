// The statements of every payment and of every sweep must find their rows by an index: a shop has millions of settled commands.
import { type CompiledQuery, sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { hookedStorage } from '../../simulation/hooked-storage.ts';
import { findUndeliveredAbort } from '../../src/cards/abort-store.ts';
import { findOperation } from '../../src/cards/store.ts';
import type { Database, Queries } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage } from '../../src/database/sqlite/memory.ts';
import { findEqual } from '../../src/ledger/calls/content-store.ts';
import { findByContent, findPaymentOfDocument } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findHolder } from '../../src/ledger/device-lock.ts';
import { newestUnder } from '../../src/ledger/operation-status.ts';
import * as reviews from '../../src/ledger/review-store.ts';
import * as store from '../../src/ledger/store.ts';
import * as sweeps from '../../src/ledger/sweep-store.ts';
import { findHolderOfNumber } from '../../src/ledger/tried-before.ts';
import { fillMany } from '../cabinet/views/plans.ts';
import { engines, openNewDatabase } from '../support/engines.ts';
import { seedCommand, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const reads: Record<string, (database: Database) => Promise<unknown>> = {
  findHolder: ({ queries }) => findHolder(queries, 'device'),
  dueForRecall: ({ queries }) => sweeps.dueForRecall(queries, 'me', 1, 10),
  abandoned: ({ queries }) => sweeps.abandoned(queries, 'me', 1, 1, 10),
  putOverdueOnReview: ({ queries }) => reviews.putOverdueOnReview(queries, 1),
  listReview: ({ queries }) => reviews.listReview(queries, 10),
  leftOpenBy: (database) => sweeps.leftOpenBy(database, 'me', ['device']),
  findPaymentOfDocument: ({ queries }) => findPaymentOfDocument(queries, 'merchant', 'document'),
  findOperation: ({ queries }) => findOperation(queries, { merchantId: 'm', deviceId: 'd', operationId: 'o', documentNr: 'n' }),
  findByContent: ({ queries }) => findByContent(queries, { merchantId: 'm', deviceId: 'd', requestHash: 'h' }),
  findUndeliveredAbort: ({ queries }) => findUndeliveredAbort(queries, { merchantId: 'm', deviceId: 'd', documentNr: 'n', abortHash: 'h' }),
  newestUnderDocument: ({ queries }) => newestUnder(queries, 'm', 'document_nr', 'n'),
  newestUnderReceipt: ({ queries }) => newestUnder(queries, 'm', 'receipt_uid', 'u'),
  findHolderOfNumber: (database) => findHolderOfNumber(database, 'm', 'document', 'n'),
  dueDecisions: ({ queries }) => sweeps.dueDecisions(queries, 'me', 1, 1, 10),
  decisionsToConfirm: ({ queries }) =>
    sweeps.decisionsToConfirm(queries, { instanceId: 'me', deadAfterMs: 1 }, { deviceId: 'device', journalId: 'j' }, 1),
  followersOf: ({ queries }) => store.followersOf(queries, { id: 'payment', documentState: 'open' } as Command),
};

async function runOnce(name: string) {
  const statements: string[] = [];
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const storage = hookedStorage(createMemoryStorage(), ({ kind, sql: text, when }) => {
    if (kind === 'run' && when === 'before') statements.push(text);
    return undefined;
  });
  const database = await openDatabase({ inMemory: true, storage, role: 'gateway', clock, logger: quietLogger });
  statements.length = 0;
  await reads[name]?.(database);
  const [statement] = statements;
  if (statement === undefined) throw new Error(`${name} asked nothing.`);
  return { database, statement };
}

it.each(Object.keys(reads))('%s reads by an index', async (name) => {
  const { database, statement } = await runOnce(name);
  const plan = await sql<{ detail: string }>`${sql.raw(`explain query plan ${statement.replaceAll('?', "'1'")}`)}`.execute(
    database.queries,
  );
  const steps = plan.rows.map(({ detail }) => detail).filter((detail) => detail.includes('commands'));
  expect(steps.length).toBeGreaterThan(0);
  // By an index whose rows are few: not the table, and not everything a device or a merchant ever did.
  for (const step of steps)
    expect(step).toMatch(
      /USING INDEX (sqlite_autoindex_commands_1 \(id=|commands_to_review|commands_by_target|commands_by_document|commands_by_receipt)/,
    );
});

// SQLite looks at the value of a parameter in `limit ?`, and of one that an index condition might need, and throws the plan away when
// another value is bound: planning such a statement takes ten times as long as running it.
it.each(Object.keys(reads))('%s is planned once, whatever its parameters', async (name) => {
  const { statement } = await runOnce(name);
  expect(statement).not.toMatch(/limit \?|"(state|name|document_state)" = \?/);
});

/** The statements as they were bound, of which some are kept and so never written out again for a plugin. */
async function boundBy(queries: Queries, read: (queries: Queries) => Promise<unknown>): Promise<CompiledQuery[]> {
  const bound: CompiledQuery[] = [];
  const executeQuery: Queries['executeQuery'] = (query) => {
    bound.push(query as CompiledQuery);
    return queries.executeQuery(query);
  };
  const selectFrom = queries.selectFrom.bind(queries);
  await read({ executeQuery, selectFrom, getExecutor: () => queries.getExecutor() } as Queries);
  return bound;
}

it.each(engines)(
  'what was done after an undelivered close is read from that close on, not through all of its device, on %s',
  async (engine) => {
    const database = await openNewDatabase(engine);
    onTestFinished(() => database.close());
    const { queries } = database;
    const deviceId = '2d4f3c52-7a33-4b56-9d0e-6a2f6c1f8a33';
    const { id: merchantId } = await seedMerchant(queries);
    await fillMany(database, merchantId, { firstDevice: deviceId });
    const close = { name: 'CloseDay', state: 'done', settled_by: 'answer', settled_at: Date.now(), request_hash: 'h' } as const;
    await seedCommand(queries, merchantId, deviceId, { ...close, issued_at: 1_700_009_000_000 });
    await seedCommand(queries, merchantId, deviceId, { ...close, issued_at: Date.now(), request_hash: 'last' });
    const [, , since] = await boundBy(queries, (by) => findEqual(by, { merchantId, deviceId, requestHash: 'h' }));
    const [, , , byQr] = await boundBy(queries, (by) => findEqual(by, { merchantId, deviceId, requestHash: 'last' }));
    if (!since || !byQr) throw new Error('Nothing was asked after the close was found.');
    if (engine === 'sqlite') {
      const { rows } = await queries.executeQuery({ ...since, sql: `explain query plan ${since.sql}` });
      expect(JSON.stringify(rows)).toContain('commands_by_device (device_id=? AND issued_at>? AND issued_at<?)');
      const sales = await queries.executeQuery({ ...byQr, sql: `explain query plan ${byQr.sql}` });
      expect(JSON.stringify(sales.rows)).toContain('invoices_kept (ended_at>? AND ended_at<?)');
      return;
    }
    // PostgreSQL plans for the very values at first, and after a few runs for any.
    for (const mode of ['custom', 'generic'])
      await database.transaction(async (within) => {
        await sql.raw(`set local plan_cache_mode = force_${mode}_plan`).execute(within);
        await sql.raw(`prepare since_${mode} as ${since.sql}`).execute(within);
        const values = since.parameters.map((value) => `'${value}'`).join(', ');
        const { rows } = await sql.raw(`explain execute since_${mode} (${values})`).execute(within);
        const plan = JSON.stringify(rows);
        expect(plan).toMatch(/Backward using commands_by_device.*Index Cond: \(\(device_id = .*issued_at > .*issued_at <= now_ms/);
        expect(plan.includes('$2')).toBe(mode === 'generic');
      });
  },
);

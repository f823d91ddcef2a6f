// The statements of every payment and of every sweep must find their rows by an index: a shop has millions of settled commands.
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { hookedStorage } from '../../simulation/hooked-storage.ts';
import { findUnheardAbort } from '../../src/cards/abort-store.ts';
import { findOperation, findPaymentOfDocument, refundedOf } from '../../src/cards/store.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage } from '../../src/database/sqlite/memory.ts';
import { findPrintOfReceipt } from '../../src/fiscal/store.ts';
import { findUntold } from '../../src/ledger/calls/content-store.ts';
import { newestUnder } from '../../src/ledger/operation-status.ts';
import * as store from '../../src/ledger/store.ts';
import * as sweeps from '../../src/ledger/sweep-store.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const reads: Record<string, (database: Database) => Promise<unknown>> = {
  findHolder: ({ queries }) => store.findHolder(queries, 'device'),
  dueForRecall: ({ queries }) => sweeps.dueForRecall(queries, 'me', 1, 10),
  abandoned: ({ queries }) => sweeps.abandoned(queries, 'me', 1, 1, 10),
  putOverdueOnReview: ({ queries }) => store.putOverdueOnReview(queries, 1),
  listReview: ({ queries }) => store.listReview(queries, 10),
  openCommandsOf: ({ queries }) => store.openCommandsOf(queries, 'device'),
  findPaymentOfDocument: ({ queries }) => findPaymentOfDocument(queries, 'merchant', 'document'),
  findOperation: ({ queries }) => findOperation(queries, { merchantId: 'm', deviceId: 'd', operationId: 'o', documentNr: 'n' }),
  findUntold: ({ queries }) => findUntold(queries, { merchantId: 'm', deviceId: 'd', requestHash: 'h' }),
  findUnheardAbort: ({ queries }) => findUnheardAbort(queries, { merchantId: 'm', deviceId: 'd', documentNr: 'n', requestHash: 'h' }),
  newestUnderDocument: ({ queries }) => newestUnder(queries, 'm', 'document_nr', 'n'),
  newestUnderReceipt: ({ queries }) => newestUnder(queries, 'm', 'receipt_uid', 'u'),
  refundedOf: ({ queries }) => refundedOf(queries, 'payment'),
  findPrintOfReceipt: ({ queries }) => findPrintOfReceipt(queries, 'merchant', 'uid'),
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
      /USING INDEX (one_|commands_to_review|commands_by_operation|commands_by_target|commands_by_document|commands_by_receipt|commands_untold)/,
    );
});

// SQLite looks at the value of a parameter in `limit ?`, and of one that an index condition might need, and throws the plan away when
// another value is bound: planning such a statement takes ten times as long as running it.
it.each(Object.keys(reads))('%s is planned once, whatever its parameters', async (name) => {
  const { statement } = await runOnce(name);
  expect(statement).not.toMatch(/limit \?|"(state|name|document_state)" = \?/);
});

// A shop has millions of old things: each page of them is found by an index, and so is all that may speak against removing one.
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { hookedStorage } from '../../simulation/hooked-storage.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage } from '../../src/database/sqlite/memory.ts';
import { removableAuditEntries } from '../../src/removal/audit.ts';
import { removableCommands } from '../../src/removal/commands.ts';
import { removableInvoices } from '../../src/removal/invoices.ts';
import type { Removable } from '../../src/removal/page.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const after = { id: '1', atMs: 1 };
type Queries = Parameters<Removable['page']>[0];
const reads: Record<string, [read: (queries: Queries) => Promise<unknown>, indexes: RegExp]> = {
  'a page of commands': [(queries) => removableCommands.page(queries, 400, after, 50), /sqlite_autoindex_settlements_1/],
  'a page of invoices': [(queries) => removableInvoices.page(queries, 400, after, 50), /invoices_kept/],
  'a page of audit entries': [(queries) => removableAuditEntries.page(queries, 400, after, 50), /audit_log_by_age/],
  'what speaks against a command': [
    (queries) => removableCommands.filter(queries, ['1']),
    /sqlite_autoindex_(commands|callbacks|invoices)_\d|commands_by_target/,
  ],
  'what speaks against an invoice': [
    (queries) => removableInvoices.filter(queries, ['1']),
    /sqlite_autoindex_(invoices|callbacks|orphan_payments)_\d|commands_by_(document|target)|commands_to_review/,
  ],
};

it.each(Object.keys(reads))('%s', async (name) => {
  const statements: string[] = [];
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const storage = hookedStorage(createMemoryStorage(), ({ kind, sql: text, when }) => {
    if (kind === 'run' && when === 'before') statements.push(text);
    return undefined;
  });
  const { queries } = await openDatabase({ inMemory: true, storage, role: 'gateway', clock, logger: quietLogger });
  statements.length = 0;
  const [read, indexes] = reads[name] ?? expect.fail();
  await read(queries);
  const [statement = ''] = statements;
  const plan = await sql<{ detail: string }>`${sql.raw(`explain query plan ${statement.replaceAll('?', "'1'")}`)}`.execute(queries);
  const steps = plan.rows.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH) (?!CONSTANT)/.test(detail));
  expect(steps.length).toBeGreaterThan(0);
  for (const step of steps) expect(step).toMatch(indexes);
  await queries.destroy();
});

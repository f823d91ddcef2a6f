// The sweep runs every few seconds, so it must find the overdue invoices by the index and not read the open ones. And whoever looks at, or moves,
// many invoices in one statement finds each by its index, however few there were when the statement was planned.
import { randomUUID } from 'node:crypto';
import { type CompiledQuery, type KyselyPlugin, sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { moveInvoices } from '../../src/invoices/move-batch.ts';
import { findInvoice } from '../../src/invoices/read-batch.ts';
import { transitions } from '../../src/invoices/rules.ts';
import { holdOverdueInvoices } from '../../src/invoices/store.ts';
import { engines, openNewDatabase } from '../support/engines.ts';

type Work = (queries: Queries) => Promise<unknown>;

it.each(engines)('the sweep searches its index on %s', async (engine) => {
  const plan = await planOf(engine, (queries) => holdOverdueInvoices(queries, engine, 0, 100), 'without scans');
  expect(plan).toMatch(
    engine === 'postgres'
      ? /Index Scan using invoices_to_expire.*Index Cond: [^"]*valid_to <=/
      : /SEARCH invoices USING INDEX invoices_to_expire \(valid_to/,
  );
});

const [scan] = transitions;
const move = { oid: randomUUID(), transition: scan ?? ({} as never), detail: {}, payment: undefined, callback: undefined };

it.each(engines.flatMap((engine) => ['look', 'move'].map((what) => [what, engine] as const)))(
  'a %s finds each invoice by its index on %s',
  async (what, engine) => {
    const look: Work = (queries) => findInvoice(engine, queries, { oid: randomUUID(), merchantId: undefined }, 0);
    const work: Work = what === 'look' ? look : (queries) => moveInvoices(engine, queries, 0, [move], 'short');
    const plan = await planOf(engine, work);
    expect(plan).toMatch(
      engine === 'postgres' ? /Index Scan using invoices_pkey/ : /SEARCH invoices USING INDEX sqlite_autoindex_invoices_1 \(oid=\?\)/,
    );
    expect(plan).not.toMatch(/Seq Scan on invoices|SCAN invoices/);
  },
);

/** Of the first statement as the store writes it, caught on its way to the database. */
async function planOf(engine: 'sqlite' | 'postgres', work: Work, scans?: 'without scans'): Promise<string> {
  const database = await openNewDatabase(engine);
  try {
    let caught: CompiledQuery | undefined;
    const plugin: KyselyPlugin = {
      transformQuery({ node, queryId }) {
        caught ??= database.queries.getExecutor().compileQuery(node, queryId);
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    await work(database.queries.withPlugin(plugin));
    if (!caught) throw new Error('No statement was sent.');
    const compiled = caught;
    const plan = await database.transaction(async (queries) => {
      if (engine === 'postgres' && scans) await sql`set local enable_seqscan = off`.execute(queries);
      const explain = engine === 'postgres' ? 'explain' : 'explain query plan';
      return await queries.executeQuery<object>({ ...compiled, sql: `${explain} ${compiled.sql}` });
    });
    return JSON.stringify(plan.rows);
  } finally {
    await database.close();
  }
}

// The sweep runs every few seconds, so it must find the overdue invoices by the index and not read the open ones.
import { type CompiledQuery, type KyselyPlugin, sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { expireOverdueInvoices } from '../../src/invoices/store.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

it.each(engines)('the sweep searches its index on %s', async (engine) => {
  const database = await openTestDatabase(engine);
  try {
    const compiled = await compiledUpdate(database.queries, engine);
    const plan = await database.transaction(async (queries) => {
      if (engine === 'postgres') await sql`set local enable_seqscan = off`.execute(queries);
      const explain = engine === 'postgres' ? 'explain' : 'explain query plan';
      return await queries.executeQuery<object>({ ...compiled, sql: `${explain} ${compiled.sql}` });
    });
    const text = JSON.stringify(plan.rows);
    expect(text).toMatch(
      engine === 'postgres'
        ? /Index Scan using invoices_to_expire.*Index Cond: [^"]*valid_to <=/
        : /SEARCH invoices USING INDEX invoices_to_expire \(valid_to/,
    );
  } finally {
    await database.close();
  }
});

/** The update as the store writes it, caught on its way to the database. */
async function compiledUpdate(queries: Queries, engine: 'sqlite' | 'postgres'): Promise<CompiledQuery> {
  let caught: CompiledQuery | undefined;
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (node.kind === 'UpdateQueryNode') caught = queries.getExecutor().compileQuery(node, queryId);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await expireOverdueInvoices(queries.withPlugin(plugin), engine, 0, 100);
  if (!caught) throw new Error('No update was sent.');
  return caught;
}

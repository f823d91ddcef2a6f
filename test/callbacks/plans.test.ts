// Metrics are scraped all day: counting what waits must read what waits, and not the whole history of what was delivered.
import { type CompiledQuery, type KyselyPlugin, sql } from 'kysely';
import { expect, it } from 'vitest';
import { countCallbacks } from '../../src/callbacks/delivery-log.ts';
import type { Queries } from '../../src/database/database.ts';
import { engines, openNewDatabase } from '../support/engines.ts';

it.each(engines)('counting searches the indexes of pending and dead ones on %s', async (engine) => {
  const database = await openNewDatabase(engine);
  try {
    const compiled = await compiledCount(database.queries);
    const plan = await database.transaction(async (queries) => {
      if (engine === 'postgres') await sql`set local enable_seqscan = off`.execute(queries);
      const explain = engine === 'postgres' ? 'explain' : 'explain query plan';
      return await queries.executeQuery<object>({ ...compiled, sql: `${explain} ${compiled.sql}` });
    });
    const text = JSON.stringify(plan.rows);
    expect(text).toMatch(/callbacks_(?:due|pending)/);
    expect(text).toContain('callbacks_dead');
    expect(text).not.toContain('callbacks_by_age');
  } finally {
    await database.close();
  }
});

/** The statement as it is written, caught on its way to the database. */
async function compiledCount(queries: Queries): Promise<CompiledQuery> {
  let caught: CompiledQuery | undefined;
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      caught = queries.getExecutor().compileQuery(node, queryId);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await countCallbacks(queries.withPlugin(plugin));
  if (!caught) throw new Error('No statement was sent.');
  return caught;
}

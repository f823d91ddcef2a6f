// The same database, in which the next inserts into a table fail: what stands before it in one transaction must go with it.
import type { KyselyPlugin } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';

export function withFailingInsert(database: Database): { database: Database; failNextInsertInto(table: string, times?: number): void } {
  let failing: string | undefined;
  let timesLeft = 0;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      if (node.kind === 'InsertQueryNode' && failing !== undefined && node.into?.table.identifier.name === failing) {
        timesLeft -= 1;
        if (timesLeft === 0) failing = undefined;
        throw databaseDown('The database failed in the middle of a transaction.');
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    database: {
      ...database,
      queries: database.queries.withPlugin(plugin),
      transaction: (work) => database.transaction((queries) => work(queries.withPlugin(plugin))),
    },
    failNextInsertInto(table, times = 1) {
      failing = table;
      timesLeft = times;
    },
  };
}

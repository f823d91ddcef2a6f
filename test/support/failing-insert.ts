// The same database, in which the next inserts into a table fail: what stands before it in one transaction must go with it.
import type { KyselyPlugin } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';

export interface FailingInserts {
  database: Database;
  failNextInsertInto(table: string, times?: number, errorOf?: (time: number) => Error): void;
  /** How many have failed: a test whose insert never came would show nothing. */
  failed(): number;
}

export function withFailingInsert(database: Database): FailingInserts {
  let failing: string | undefined;
  let timesLeft = 0;
  let failed = 0;
  let failure = (_time: number): Error => databaseDown('The database failed in the middle of a transaction.');
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      // By its text: many statements are written out, and would pass for no insert otherwise.
      const isMeant =
        failing !== undefined &&
        new RegExp(`insert into "?${failing}"? `, 'u').test(database.queries.getExecutor().compileQuery(node, queryId).sql);
      if (isMeant) {
        failed += 1;
        timesLeft -= 1;
        if (timesLeft === 0) failing = undefined;
        throw failure(failed);
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
    failNextInsertInto(table, times = 1, errorOf = failure) {
      failing = table;
      timesLeft = times;
      failure = errorOf;
    },
    failed: () => failed,
  };
}

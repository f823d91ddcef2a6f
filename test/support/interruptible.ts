// Lost races without luck: something happens once between a look at the database and the write that follows from it, on either core.
import type { KyselyPlugin } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { core } from './core.ts';

/** The same database, with something that happens once: a lost race, without luck. */
export function interruptible(database: Database): {
  database: Database;
  /** Just before the next transaction begins; in the new core, before the next commit. */
  beforeNextTransaction(action: () => unknown): void;
  /** When the next look at an invoice has been answered, or in the old core at a row with that column, and before who looked goes on. */
  afterNextLook(action: () => unknown, column?: string): void;
} {
  const { inOneGo, snapshot } = database;
  let beforeTransaction: (() => unknown) | undefined;
  let afterLook: (() => unknown) | undefined;
  let lookedFor = '';
  const lookedAt = async (rows: readonly object[] = []) => {
    const action = afterLook;
    if (!action || !(lookedFor in (rows[0] ?? {}))) return;
    afterLook = undefined;
    await action();
  };
  const begins = async () => {
    const action = beforeTransaction;
    beforeTransaction = undefined;
    await action?.();
  };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await lookedAt(result.rows);
      return result;
    },
  };
  return {
    database: {
      ...database,
      queries: database.queries.withPlugin(plugin),
      async transaction(work) {
        await begins();
        return await database.transaction(work);
      },
      async inOneGo(statements) {
        if (core === 'new') await begins();
        const results = await inOneGo(statements);
        await lookedAt(results[0]);
        return results;
      },
      async snapshot(work) {
        const result = await snapshot(work);
        const action = afterLook;
        afterLook = undefined;
        await action?.();
        return result;
      },
    },
    beforeNextTransaction(action) {
      beforeTransaction = action;
    },
    afterNextLook(action, column = 'is_device_registered') {
      afterLook = action;
      lookedFor = column;
    },
  };
}

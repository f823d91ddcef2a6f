// The database in memory with a hook at every statement: where a test lets it fail or lose its answer, and the simulation lets
// the process die. What the hook does not let through never comes back, as after a crash.
import type { SqliteExecutor } from '../src/database/sqlite-driver.ts';
import type { MemoryStorage } from '../src/database/sqlite-memory.ts';

export interface StatementStep {
  kind: 'run' | 'begin' | 'commit' | 'rollback';
  sql: string;
  when: 'before' | 'after';
}

/** Returns to let it through, throws to fail there; `hang`: the caller never hears again. */
export type StatementHook = (step: StatementStep) => 'hang' | undefined;

const forever = new Promise<never>(() => {});

export function hookedStorage(storage: MemoryStorage, hook: StatementHook): MemoryStorage {
  function guarded<Result>(kind: StatementStep['kind'], sql: string, action: () => Promise<Result>): Promise<Result> {
    try {
      if (hook({ kind, sql, when: 'before' }) === 'hang') return forever;
    } catch (error) {
      return Promise.reject(error);
    }
    return action().then((result) => (hook({ kind, sql, when: 'after' }) === 'hang' ? forever : result));
  }
  return {
    connect(now): SqliteExecutor {
      const executor = storage.connect(now);
      return {
        ...executor,
        run: (sql, parameters, place) => guarded('run', sql, () => executor.run(sql, parameters, place)),
        begin: () => guarded('begin', 'begin', () => executor.begin()),
        commit: () => guarded('commit', 'commit', () => executor.commit()),
        rollback: () => guarded('rollback', 'rollback', () => executor.rollback()),
      };
    },
    close: () => storage.close(),
  };
}

// The database in memory with a hook at every statement: tests let it fail or lose its answer there, and the simulation lets
// the process die. A statement that the hook blocks never returns, as after a crash.
import type { SqliteExecutor } from '../src/database/sqlite/driver.ts';
import type { MemoryStorage } from '../src/database/sqlite/memory.ts';

export interface StatementStep {
  kind: 'run' | 'begin' | 'commit' | 'rollback';
  sql: string;
  when: 'before' | 'after';
}

/** Returns to execute it, throws to fail there; `hang`: the caller gets no answer. */
export type StatementHook = (step: StatementStep) => 'hang' | undefined;

const forever = new Promise<never>(() => {});
const nothing: Promise<unknown> = Promise.resolve();

/** `rewrite` changes the text of statements, to plant bugs in them. */
export function hookedStorage(storage: MemoryStorage, hook: StatementHook, rewrite = (sql: string) => sql): MemoryStorage {
  return {
    connect(now): SqliteExecutor {
      const executor = storage.connect(now);

      function guarded<Result>(kind: StatementStep['kind'], sql: string, action: () => Promise<Result>): Promise<Result> {
        const check = (when: StatementStep['when'], result: Promise<Result>): Promise<Result> => {
          try {
            return hook({ kind, sql, when }) === 'hang' ? forever : result;
          } catch (error) {
            // The connection is lost, and the transaction with it, which cannot be ended any more.
            const isOver = kind === 'run' || (kind === 'commit' && when === 'after');
            return isOver ? Promise.reject(error) : executor.rollback().then(() => Promise.reject(error));
          }
        };
        const before = check('before', nothing as Promise<Result>);
        return before === nothing ? action().then((result) => check('after', Promise.resolve(result))) : before;
      }

      return {
        ...executor,
        run: (sql, parameters, place) => guarded('run', sql, () => executor.run(rewrite(sql), parameters, place)),
        // Nothing happens between its statements: like a single one, it is executed or not.
        script(statements) {
          const rewritten = statements.map(({ sql, parameters }) => ({ sql: rewrite(sql), parameters }));
          return guarded('run', statements.map(({ sql }) => sql).join('; '), () => executor.script(rewritten));
        },
        begin: () => guarded('begin', 'begin', () => executor.begin()),
        commit: () => guarded('commit', 'commit', () => executor.commit()),
        rollback: () => guarded('rollback', 'rollback', () => executor.rollback()),
      };
    },
    close: () => storage.close(),
  };
}

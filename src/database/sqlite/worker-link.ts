// The main thread's end of the worker: requests of one turn go over together, answers come back by id.
// When the worker is gone, everything that waits and everything that comes later fails as "database down" instead of hanging.
import { getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../kernel/clock.ts';
import { databaseDown } from '../errors.ts';
import { toBindable } from '../values.ts';
import type { Statement, StatementResult } from './connection.ts';
import type { SqliteExecutor } from './driver.ts';
import { translateSqliteError } from './errors.ts';
import type { ControlRequest, SqliteRequest } from './requests.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts';

export interface WorkerExecutor extends SqliteExecutor {
  readonly inFlight: number;
}

interface Waiting {
  resolve(results: StatementResult[]): void;
  reject(error: Error): void;
}

/**
 * A thread uses the compiled code that the process keeps [D108] only if it knows where, before its first file: otherwise what strips
 * types is loaded again for it, 20 MB and a twentieth of the start. Not with flags of an operator's own (`--max-old-space-size`): a thread
 * takes those over by itself, and refuses many of them when they are handed to it. Ours [D124] is the whole process's and need not be.
 */
function withCompiledCode(): { execArgv?: string[] } {
  const kept = getCompileCacheDir();
  if (kept === undefined || !process.execArgv.every((flag) => flag.startsWith('--max-semi-space-size='))) return {};
  const words = `import { enableCompileCache } from 'node:module'; enableCompileCache(${JSON.stringify(kept)});`;
  return { execArgv: ['--import', `data:text/javascript,${encodeURIComponent(words)}`] };
}

function asBindable({ sql, parameters }: Statement): Statement {
  return { sql, parameters: parameters.map(toBindable) };
}

/** `onLost`: the thread has ended without being asked to, and nothing can be read or written until the process starts anew. */
export function startSqliteWorker(settings: WorkerSettings, clock: Clock, onLost: (error: Error) => void): Promise<WorkerExecutor> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: settings,
    name: 'tillgate-sqlite',
    ...withCompiledCode(),
  });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let outbox: SqliteRequest[] = [];
  let down: Error | undefined;
  let closing: Promise<void> | undefined;
  let isReady = false;
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
  });

  function fail(error: Error): void {
    down ??= error;
    for (const { reject } of waiting.values()) reject(down);
    waiting.clear();
    outbox = [];
  }

  function flush(): void {
    if (outbox.length === 0) return;
    const requests = outbox;
    outbox = [];
    worker.postMessage(requests satisfies ToWorker);
  }

  function ask(make: (id: number) => SqliteRequest): Promise<StatementResult[]> {
    if (down) return Promise.reject(down);
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      outbox.push(make(id));
      if (outbox.length === 1) queueMicrotask(flush);
    });
  }

  async function control(kind: ControlRequest['kind']): Promise<void> {
    await ask((id) => ({ id, kind }));
  }

  async function close(): Promise<void> {
    flush();
    if (!down) worker.postMessage('close' satisfies ToWorker);
    await exited;
  }

  const executor: WorkerExecutor = {
    async run(sql, parameters, place) {
      // Judged on this side: a value that is refused must not cost the statements that travel with it.
      const bound = parameters.map(toBindable);
      const [result] = await ask((id) => ({ id, kind: 'run', place, sql, parameters: bound, nowMs: clock.now() }));
      return result as StatementResult;
    },
    async script(statements) {
      const bound = statements.map(asBindable);
      return await ask((id) => ({ id, kind: 'script', statements: bound, nowMs: clock.now() }));
    },
    begin: () => control('begin'),
    commit: () => control('commit'),
    rollback: () => control('rollback'),
    ping: () => control('ping'),
    close() {
      closing ??= close();
      return closing;
    },
    get inFlight() {
      return waiting.size;
    },
  };

  return new Promise((resolve, reject) => {
    worker.on('error', (error) => fail(databaseDown('The database thread failed; the gateway has to be restarted.', error)));
    worker.on('exit', () => {
      fail(databaseDown(closing ? 'The database is closed.' : 'The database thread has ended; the gateway has to be restarted.'));
      reject(down);
      if (isReady && !closing && down) onLost(down);
    });
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'ready') {
        isReady = true;
        resolve(executor);
      } else if (message.kind === 'failed') reject(translateSqliteError(message.error));
      else {
        for (const { id, result, results, error } of message.answers) {
          const caller = waiting.get(id);
          waiting.delete(id);
          if (error) caller?.reject(translateSqliteError(error));
          else caller?.resolve(results ?? [result]);
        }
      }
    });
  });
}

// The main thread's side of the worker: requests of one event loop turn are sent together, answers come back by id.
// If the worker has ended, all waiting and later requests fail as "database down" instead of hanging.
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
 * A thread uses the process's compile cache [D108] only if it is enabled before the thread's first file; otherwise the type stripper is
 * loaded again, which takes 20 MB and a twentieth of the start. Not with an operator's own flags (`--max-old-space-size`): a thread
 * inherits those, and rejects many of them in `execArgv`. The gateway's own flag [D124] applies to the whole process and need not be
 * passed.
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

/** `onLost`: the thread has ended unexpectedly, and nothing can be read or written until the process is restarted. */
export function startSqliteWorker(settings: WorkerSettings, clock: Clock, onLost: (error: Error) => void): Promise<WorkerExecutor> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: settings,
    name: settings.readOnly ? 'tillgate-sqlite-reader' : 'tillgate-sqlite',
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
      // Checked on this side: an invalid value must not affect the statements that are sent with it.
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

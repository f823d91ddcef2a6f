// The work of the SQLite worker on its queued requests, independent of threads so that it can be tested directly.
// Statements and scripts outside a transaction that arrived together share one transaction and one sync to disk; none is answered before
// its COMMIT. A failing statement undoes only itself, a failing script all of its statements. If the COMMIT fails, or SQLite itself ended
// the transaction, all requests that shared it fail.
// A transaction that can neither be committed nor rolled back would make every later request fail: then the runner is stuck, and its thread
// has to end, so that the process ends and is restarted.
import type { SqliteConnection, Statement, StatementResult } from './connection.ts';
import type { Place } from './driver.ts';
import { type CarriedError, carryError } from './errors.ts';

export interface RunRequest {
  id: number;
  kind: 'run';
  place: Place;
  sql: string;
  parameters: readonly unknown[];
  /** The value of now_ms(): the clock is in the main thread. */
  nowMs: number;
}

/** Statements that are executed together or not at all. */
export interface ScriptRequest {
  id: number;
  kind: 'script';
  statements: readonly Statement[];
  nowMs: number;
}

export interface ControlRequest {
  id: number;
  kind: 'begin' | 'commit' | 'rollback' | 'ping';
}

/** May share a transaction with other requests. */
type Shareable = RunRequest | ScriptRequest;

export type SqliteRequest = Shareable | ControlRequest;

export type SqliteAnswer =
  | { id: number; result: StatementResult; results?: undefined; error?: undefined }
  | { id: number; results: StatementResult[]; result?: undefined; error?: undefined }
  | { id: number; error: CarriedError; result?: undefined; results?: undefined };

// Bounds the time that the first request of a batch waits for the last.
const maxBatch = 256;
const rollbackTries = 3;
const nothing: StatementResult = { rows: [], changes: undefined };
const endedBySqlite: CarriedError = {
  name: 'Error',
  message: 'the transaction was ended by the database',
  code: 'ERR_SQLITE_ERROR',
  errcode: 10,
};

/** Holds the one connection of the worker thread. */
export class RequestRunner {
  readonly #connection: SqliteConnection;
  #nowMs = 0;
  #stuck: CarriedError | undefined;

  constructor(open: (now: () => number) => SqliteConnection) {
    this.#connection = open(() => this.#nowMs);
  }

  /** Why nothing can be written any more; undefined: it can. */
  get stuck(): CarriedError | undefined {
    return this.#stuck;
  }

  /** Answers all, in order, whatever fails. */
  answer(requests: SqliteRequest[]): SqliteAnswer[] {
    const answers: SqliteAnswer[] = [];
    for (let at = 0; at < requests.length; ) {
      const failure = this.#stuck;
      if (failure) {
        answers.push(...requests.slice(at).map(({ id }) => ({ id, error: failure })));
        break;
      }
      const batch = batchFrom(requests, at);
      const isShared = batch.length > 1 && !this.#connection.isReadOnly;
      if ((isShared || batch[0]?.kind === 'script') && !this.#connection.isTransaction) {
        answers.push(...this.#answerBatch(batch));
        at += batch.length;
      } else {
        const request = requests[at];
        if (request) answers.push(this.#answerOne(request));
        at += 1;
      }
    }
    return answers;
  }

  #answerBatch(batch: Shareable[]): SqliteAnswer[] {
    const failAll = (error: CarriedError) => batch.map(({ id }) => ({ id, error }));
    const begun = this.#exec(0, 'begin immediate');
    if (begun.error) return failAll(begun.error);
    const answers: SqliteAnswer[] = [];
    for (const request of batch) {
      const answer = request.kind === 'run' ? this.#execute(request) : this.#executeScript(request);
      if (answer.error && !this.#connection.isTransaction) return failAll(answer.error);
      answers.push(answer);
    }
    const committed = this.#exec(0, 'commit');
    if (!committed.error) return answers;
    this.#rollback(0);
    return failAll(committed.error);
  }

  #answerOne(request: SqliteRequest): SqliteAnswer {
    const { id } = request;
    const { isTransaction } = this.#connection;
    switch (request.kind) {
      case 'run':
        // A single statement is its own transaction; one inside a transaction requires that this is still open.
        return (request.place === 'in-transaction') === isTransaction ? this.#execute(request) : { id, error: endedBySqlite };
      case 'script':
        // The gate admits no script while a transaction is open (driver.ts).
        return { id, error: endedBySqlite };
      case 'begin':
        return this.#exec(id, 'begin immediate');
      case 'commit':
        return isTransaction ? this.#exec(id, 'commit') : { id, error: endedBySqlite };
      case 'rollback':
        return this.#rollback(id);
      case 'ping':
        return attempt(id, () => this.#connection.run('select count(*) from sqlite_master', []));
    }
  }

  #execute(request: RunRequest): SqliteAnswer {
    this.#nowMs = request.nowMs;
    return attempt(request.id, () => this.#connection.run(request.sql, request.parameters));
  }

  #executeScript({ id, statements, nowMs }: ScriptRequest): SqliteAnswer {
    const connection = this.#connection;
    this.#nowMs = nowMs;
    const begun = this.#exec(id, 'savepoint script');
    if (begun.error) return begun;
    try {
      const results = statements.map(({ sql, parameters }) => connection.run(sql, parameters));
      connection.exec('release script');
      return { id, results };
    } catch (error) {
      // If it cannot be undone, the shared transaction must not be committed: it is rolled back, and all its requests fail.
      if (connection.isTransaction && (this.#exec(id, 'rollback to script').error ?? this.#exec(id, 'release script').error))
        this.#rollback(id);
      return { id, error: carryError(error) };
    }
  }

  #exec(id: number, sql: string): SqliteAnswer {
    return attempt(id, () => {
      this.#connection.exec(sql);
      return nothing;
    });
  }

  #rollback(id: number): SqliteAnswer {
    return attempt(id, () => {
      this.#endTransaction();
      return nothing;
    });
  }

  /** Throws if the transaction cannot be ended. Retries, because SQLite itself may have ended it while the first try failed. */
  #endTransaction(): void {
    const connection = this.#connection;
    for (let tries = 1; connection.isTransaction; tries += 1) {
      try {
        connection.exec('rollback');
      } catch (error) {
        if (!connection.isTransaction) return;
        if (tries < rollbackTries) continue;
        this.#stuck ??= carryError(error);
        throw error;
      }
    }
  }
}

function attempt(id: number, action: () => StatementResult): SqliteAnswer {
  try {
    return { id, result: action() };
  } catch (error) {
    return { id, error: carryError(error) };
  }
}

function batchFrom(requests: SqliteRequest[], start: number): Shareable[] {
  const batch: Shareable[] = [];
  for (let at = start; at < requests.length && batch.length < maxBatch; at += 1) {
    const request = requests[at];
    if (request === undefined || !isShareable(request)) break;
    batch.push(request);
  }
  return batch;
}

function isShareable(request: SqliteRequest): request is Shareable {
  return request.kind === 'script' || (request.kind === 'run' && request.place === 'alone');
}

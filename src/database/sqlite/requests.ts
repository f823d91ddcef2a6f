// What the worker thread does with the requests that have piled up, apart from any thread so that it can be tested directly.
// Statements of their own that arrived together share one transaction and one sync to disk; nobody hears "done" before its COMMIT.
// A failing statement undoes only itself. If the COMMIT fails, or SQLite ended the transaction by itself, all that shared it fail.
// A transaction that can neither be committed nor rolled back would make every later request fail: then the runner is stuck, and its
// thread has to end, so that the process does and starts anew.
import type { SqliteConnection, StatementResult } from './connection.ts';
import type { Place } from './driver.ts';
import { type CarriedError, carryError } from './errors.ts';

export interface RunRequest {
  id: number;
  kind: 'run';
  place: Place;
  sql: string;
  parameters: readonly unknown[];
  /** What now_ms() answers: the clock lives on the other side. */
  nowMs: number;
}

export interface ControlRequest {
  id: number;
  kind: 'begin' | 'commit' | 'rollback' | 'ping';
}

export type SqliteRequest = RunRequest | ControlRequest;

export type SqliteAnswer =
  | { id: number; result: StatementResult; error?: undefined }
  | { id: number; error: CarriedError; result?: undefined };

// Bounds how long the first of a batch waits for the last.
const maxBatch = 256;
const rollbackTries = 3;
const nothing: StatementResult = { rows: [], changes: undefined };
const endedBySqlite: CarriedError = {
  name: 'Error',
  message: 'the transaction was ended by the database',
  code: 'ERR_SQLITE_ERROR',
  errcode: 10,
};

export interface RequestRunner {
  /** Answers all, in order, whatever fails. */
  answer(requests: SqliteRequest[]): SqliteAnswer[];
  /** Why nothing can be written any more; undefined while all is well. */
  readonly stuck: CarriedError | undefined;
}

export function createRequestRunner(open: (now: () => number) => SqliteConnection): RequestRunner {
  let nowMs = 0;
  const connection = open(() => nowMs);
  let stuck: CarriedError | undefined;

  function attempt(id: number, action: () => StatementResult): SqliteAnswer {
    try {
      return { id, result: action() };
    } catch (error) {
      return { id, error: carryError(error) };
    }
  }

  function execute(request: RunRequest): SqliteAnswer {
    nowMs = request.nowMs;
    return attempt(request.id, () => connection.run(request.sql, request.parameters));
  }

  function exec(id: number, sql: string): SqliteAnswer {
    return attempt(id, () => {
      connection.exec(sql);
      return nothing;
    });
  }

  /** Throws when the transaction cannot be ended. A second try costs nothing, and SQLite may have ended it by itself while the first failed. */
  function rollback(): void {
    for (let tries = 1; connection.isTransaction; tries += 1) {
      try {
        connection.exec('rollback');
      } catch (error) {
        if (!connection.isTransaction) return;
        if (tries < rollbackTries) continue;
        stuck ??= carryError(error);
        throw error;
      }
    }
  }

  function answerBatch(batch: RunRequest[]): SqliteAnswer[] {
    const failAll = (error: CarriedError) => batch.map(({ id }) => ({ id, error }));
    const begun = exec(0, 'begin immediate');
    if (begun.error) return failAll(begun.error);
    const answers: SqliteAnswer[] = [];
    for (const request of batch) {
      const answer = execute(request);
      if (answer.error && !connection.isTransaction) return failAll(answer.error);
      answers.push(answer);
    }
    const committed = exec(0, 'commit');
    if (!committed.error) return answers;
    attempt(0, () => {
      rollback();
      return nothing;
    });
    return failAll(committed.error);
  }

  function answerOne(request: SqliteRequest): SqliteAnswer {
    switch (request.kind) {
      case 'run':
        // By itself a statement is its own transaction; inside one, that one must still be there.
        if ((request.place === 'in-transaction') !== connection.isTransaction) return { id: request.id, error: endedBySqlite };
        return execute(request);
      case 'begin':
        return exec(request.id, 'begin immediate');
      case 'commit':
        return connection.isTransaction ? exec(request.id, 'commit') : { id: request.id, error: endedBySqlite };
      case 'rollback':
        return attempt(request.id, () => {
          rollback();
          return nothing;
        });
      case 'ping':
        return attempt(request.id, () => connection.run('select count(*) from sqlite_master', []));
    }
  }

  return {
    answer(requests) {
      const answers: SqliteAnswer[] = [];
      for (let at = 0; at < requests.length; ) {
        const failure = stuck;
        if (failure) {
          answers.push(...requests.slice(at).map(({ id }) => ({ id, error: failure })));
          break;
        }
        const batch = batchFrom(requests, at);
        if (batch.length > 1 && !connection.isTransaction) {
          answers.push(...answerBatch(batch));
          at += batch.length;
        } else {
          const request = requests[at];
          if (request) answers.push(answerOne(request));
          at += 1;
        }
      }
      return answers;
    },
    get stuck() {
      return stuck;
    },
  };
}

function batchFrom(requests: SqliteRequest[], start: number): RunRequest[] {
  const batch: RunRequest[] = [];
  for (let at = start; at < requests.length && batch.length < maxBatch; at += 1) {
    const request = requests[at];
    if (request?.kind !== 'run' || request.place !== 'alone') break;
    batch.push(request);
  }
  return batch;
}

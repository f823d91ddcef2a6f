// The messages between the main thread and the SQLite worker.
import type { CarriedError } from './errors.ts';
import type { SqliteAnswer, SqliteRequest } from './requests.ts';

export interface WorkerSettings {
  path: string;
  readOnly: boolean;
}

export type ToWorker = SqliteRequest[] | 'close';

export type FromWorker = { kind: 'ready' } | { kind: 'failed'; error: CarriedError } | { kind: 'answers'; answers: SqliteAnswer[] };

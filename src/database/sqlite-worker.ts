// The worker thread that alone touches the database file, so that a slow disk never stalls the event loop.
// It takes everything that waits at its port at once: the busier it is, the more statements share one sync to disk.
import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { openSqlite, type SqliteConnection } from './sqlite-connection.ts';
import { carryError } from './sqlite-errors.ts';
import { createRequestRunner, type SqliteRequest } from './sqlite-requests.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './sqlite-worker-link.ts';

const port = parentPort;
if (isMainThread || !port) throw new Error('This file runs as a worker thread.');

const send = (message: FromWorker) => port.postMessage(message);
const { path, readOnly } = workerData as WorkerSettings;
let connection: SqliteConnection | undefined;

function serve(first: ToWorker): void {
  const requests: SqliteRequest[] = [];
  let isLast = false;
  for (
    let message: ToWorker | undefined = first;
    message;
    message = receiveMessageOnPort(port ?? failNoPort())?.message as ToWorker | undefined
  ) {
    if (message === 'close') isLast = true;
    else requests.push(...message);
  }
  if (requests.length > 0) send({ kind: 'answers', answers: runner.answer(requests) });
  if (isLast) {
    connection?.close();
    port?.close();
  }
}

function failNoPort(): never {
  throw new Error('The port is gone.');
}

const runner = createRequestRunner((now) => {
  try {
    connection = openSqlite({ path, readOnly, now });
    return connection;
  } catch (error) {
    send({ kind: 'failed', error: carryError(error) });
    throw error;
  }
});
port.on('message', serve);
send({ kind: 'ready' });

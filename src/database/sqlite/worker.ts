// The worker thread that alone accesses the database file, so that a slow disk never blocks the event loop.
// It takes all queued messages at once: the busier it is, the more statements share one sync to disk.
import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { openSqlite, type SqliteConnection } from './connection.ts';
import { carryError } from './errors.ts';
import { RequestRunner } from './requests.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts';

const port = ownPort();
const { path, readOnly } = workerData as WorkerSettings;
const send = (message: FromWorker) => port.postMessage(message);
let connection: SqliteConnection | undefined;

const runner = new RequestRunner((now) => {
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
// Written now, because a killed thread would not write it at its end.
flushCompileCache();

function serve(first: ToWorker): void {
  const messages = [first];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) messages.push(next.message as ToWorker);
  const requests = messages.flatMap((message) => (message === 'close' ? [] : message));
  if (requests.length > 0) send({ kind: 'answers', answers: runner.answer(requests) });
  // This thread can write nothing any more: the uncaught error ends it and reaches the main thread.
  if (runner.stuck) throw new Error(`The open transaction could not be ended: ${runner.stuck.message}`);
  if (messages.includes('close')) {
    connection?.close();
    port.close();
  }
}

function ownPort(): MessagePort {
  if (!parentPort) throw new Error('This file runs as a worker thread.');
  return parentPort;
}

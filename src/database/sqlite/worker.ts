// The worker thread that alone touches the database file, so that a slow disk never stalls the event loop.
// It takes everything that waits at its port at once: the busier it is, the more statements share one sync to disk.
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
// Otherwise it is written at the end of the thread, and one that is killed would never write it.
flushCompileCache();

function serve(first: ToWorker): void {
  const messages = [first];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) messages.push(next.message as ToWorker);
  const requests = messages.flatMap((message) => (message === 'close' ? [] : message));
  if (requests.length > 0) send({ kind: 'answers', answers: runner.answer(requests) });
  // Nothing can be written by this thread any more; uncaught, it ends it, and the main thread gets the reason.
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

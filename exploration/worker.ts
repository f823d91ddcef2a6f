// A thread of all-worlds.ts.
import { parentPort } from 'node:worker_threads';
import { runTask, type Task } from './all-worlds.ts';

parentPort?.on('message', (task: Task) => parentPort?.postMessage(runTask(task)));

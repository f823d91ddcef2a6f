// A job queue that calls an address, tuned as its documentation says: graphile-worker or pg-boss, by the first argument. Prints `ready`,
// then for each line `COUNT URL` on its input inserts that many jobs, 32 at a time, one GET each, and prints `queued`.
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { PgBoss } from 'pg-boss';

const connectionString = process.env.BENCH_POSTGRES_URL;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function call(url) {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.once('end', resolve);
    }).once('error', reject);
  });
}

async function startGraphile() {
  const pgPool = new pg.Pool({ connectionString, max: 30 });
  pgPool.on('error', console.error);
  pgPool.on('connect', (client) => client.on('error', console.error));
  const preset = {
    worker: { concurrentJobs: 24, localQueue: { size: 200 }, completeJobBatchDelay: 0, failJobBatchDelay: 0, pollInterval: 100 },
  };
  await run({ pgPool, taskList: { call: (payload) => call(payload.url) }, preset, noHandleSignals: true, logger: undefined });
  const utils = await makeWorkerUtils({ pgPool, preset });
  return (url) => utils.addJob('call', { url });
}

async function startBoss() {
  const boss = new PgBoss({ connectionString, max: 30, useListenNotify: true });
  boss.on('error', console.error);
  await boss.start();
  await boss.createQueue('call', { notify: true });
  const work = (jobs) => Promise.all(jobs.map((job) => call(job.data.url)));
  for (let at = 0; at < 4; at += 1) await boss.work('call', { batchSize: 100, pollingIntervalSeconds: 0.5 }, work);
  return (url) => boss.send('call', { url });
}

const add = await (process.argv[2] === 'graphile-worker' ? startGraphile() : startBoss());
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const [count, url] = line.split(' ');
  let next = 0;
  const lane = async () => {
    while (next < Number(count)) {
      next += 1;
      await add(`${url}?job=${next}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, lane));
  console.log('queued');
}

// Callbacks compared with job queues: how many a second reach one local address, and how soon after its commit a single one arrives. The
// sink is in the bench's own process, the same for all. For a job queue the workload is: insert the jobs, 32 at a time; for Tillgate: scan
// invoices, 32 at a time, each scan being a call over HTTP with its own commit.
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createDatabase } from '../test/support/create-database.ts';
import type { Contender } from './contenders.ts';
import { openConnection } from './http-client.ts';
import { succeeded } from './works.ts';

export interface Sink {
  url: string;
  /** Resolves when that many more have arrived, each counted once. */
  arrivals(count: number): Promise<void>;
  /** When the callback whose address contains this text arrived. */
  arrivalOf(text: string): Promise<number>;
  close(): void;
}

export function startSink(): Promise<Sink> {
  const waiters = new Set<() => void>();
  const seen = new Map<string, number>();
  const server: Server = createServer((request, response) => {
    response.end();
    const url = request.url ?? '';
    if (seen.has(url)) return;
    seen.set(url, performance.now());
    for (const waiter of waiters) waiter();
  });
  const until = <Value>(look: () => Value | undefined): Promise<Value> =>
    new Promise((resolve) => {
      const waiter = () => {
        const value = look();
        if (value === undefined) return;
        waiters.delete(waiter);
        resolve(value);
      };
      waiters.add(waiter);
      waiter();
    });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        arrivals(count) {
          const goal = seen.size + count;
          return until(() => (seen.size >= goal ? true : undefined)).then(() => undefined);
        },
        arrivalOf: (text) => until(() => [...seen].find(([url]) => url.includes(text))?.[1]),
        close() {
          server.closeAllConnections();
          server.close();
        },
      }),
    );
  });
}

async function createInvoices(
  { baseUrls: [baseUrl = ''], apiKey: APIKey }: Contender,
  count: number,
  CallbackURI: string,
): Promise<string[]> {
  const client = await openConnection(baseUrl);
  const qrs: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const Receipt = { Number: String(at), Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }] };
    const created = succeeded(await client.post('/Invoice/Create', { APIKey, Receipt, CallbackURI }));
    qrs.push(encodeURIComponent(String(created['QR'])));
  }
  client.close();
  return qrs;
}

/** Per second, from the first scan to the last arrival. */
export async function callbacksPerSecond(contender: Contender, sink: Sink, count: number): Promise<number> {
  const qrs = await createInvoices(contender, count, `${sink.url}?oid=#OID#&state=#State#`);
  const clients = await Promise.all(Array.from({ length: 32 }, () => openConnection(contender.baseUrls[0] ?? '')));
  const startedAt = performance.now();
  const arrived = sink.arrivals(count);
  await Promise.all(
    clients.map(async (client) => {
      for (let qr = qrs.pop(); qr !== undefined; qr = qrs.pop()) succeeded(await client.get(`/Invoice/Get?QR=${qr}`));
      client.close();
    }),
  );
  await arrived;
  return (count * 1000) / (performance.now() - startedAt);
}

/** The delay between the request of a scan and its callback, including the commit, without other load. */
export async function callbackDelays(contender: Contender, sink: Sink, count: number): Promise<number[]> {
  const client = await openConnection(contender.baseUrls[0] ?? '');
  const delays: number[] = [];
  for (const [at, qr] of (await createInvoices(contender, count, `${sink.url}?alone=#OID#`)).entries()) {
    const askedAt = performance.now();
    const scanned = succeeded(await client.get(`/Invoice/Get?QR=${qr}`));
    delays.push((await sink.arrivalOf(`alone=${String(scanned['OID'])}`)) - askedAt);
    if (at % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  client.close();
  return delays;
}

export interface JobQueue {
  name: string;
  perSecond(sink: Sink, count: number): Promise<number>;
  stop(): void;
}

export async function startJobQueue(name: 'graphile-worker' | 'pg-boss', peersDirectory: string, postgresUrl: string): Promise<JobQueue> {
  const env = { ...process.env, BENCH_POSTGRES_URL: await createDatabase(postgresUrl), NODE_ENV: 'production', GRAPHILE_LOGGER_DEBUG: '' };
  const child = spawn(process.execPath, [join(peersDirectory, 'job-queue.mjs'), name], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill('SIGKILL'));
  await printed(child, 'ready');
  let round = 0;
  return {
    name,
    async perSecond(sink, count) {
      round += 1;
      const startedAt = performance.now();
      const arrived = sink.arrivals(count);
      child.stdin.write(`${count} ${sink.url}${name}/${round}\n`);
      await arrived;
      return (count * 1000) / (performance.now() - startedAt);
    },
    stop: () => void child.kill('SIGKILL'),
  };
}

function printed(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString('utf8').includes(text)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`The job queue ended with ${code} before it was ready.`)));
  });
}

// Callbacks compared with job queues and bare GETs, and alone.
import { Agent, get } from 'node:http';
import type { Bench } from './bench.ts';
import { callbackDelays, callbacksPerSecond, type Sink, startJobQueue, startSink } from './callbacks.ts';
import { median, summarize } from './load.ts';
import type { Row } from './report.ts';

let bareRounds = 0;

/** As many GETs as a client can send with 32 in flight: nothing is stored. */
async function bareGets(sink: Sink, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  bareRounds += 1;
  const startedAt = performance.now();
  const arrived = sink.arrivals(count);
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      const url = `${sink.url}?bare=${bareRounds}-${next}`;
      await new Promise((resolve, reject) => {
        get(url, { agent }, (response) => response.resume().once('end', resolve)).once('error', reject);
      });
    }
  };
  await Promise.all(Array.from({ length: 32 }, lane));
  await arrived;
  agent.destroy();
  return (count * 1000) / (performance.now() - startedAt);
}

export async function callbackRows(bench: Bench): Promise<Row[]> {
  const { plan, shared, keep, peers, postgresUrl, say } = bench;
  const sink = await startSink();
  const homes = { PostgreSQL: await shared.tillgate(), embedded: await shared.embedded() };
  const queues = [];
  if (peers !== undefined)
    for (const name of ['graphile-worker', 'pg-boss'] as const) queues.push(keep(await startJobQueue(name, peers, postgresUrl)));
  const turns: Record<string, () => Promise<number>> = { bare: () => bareGets(sink, plan.callbacks) };
  for (const [name, home] of Object.entries(homes)) turns[name] = () => callbacksPerSecond(home, sink, plan.callbacks);
  for (const queue of queues) turns[queue.name] = () => queue.perSecond(sink, plan.callbacks);
  const seen = new Map(Object.keys(turns).map((name) => [name, [] as number[]]));
  for (let turn = 0; turn < plan.callbackRounds; turn += 1) {
    say(`callbacks: ${plan.callbacks} of each, round ${turn + 1}`);
    for (const [name, run] of Object.entries(turns)) seen.get(name)?.push(await run());
  }
  const value = (name: string) => median(seen.get(name) ?? []);
  const rows: Row[] = [];
  for (const [home, contender] of Object.entries(homes)) {
    const group = `callbacks, ${home}`;
    const raw = [{ name: 'bare GETs', value: value('bare') }];
    const row = { group, unit: '/s', ours: value(home), raw } as const;
    if (queues.length === 0) rows.push({ ...row, what: 'to one address' });
    for (const { name } of queues)
      rows.push({ ...row, what: `to one address, beside ${name}`, peer: { name, value: value(name) }, goal: 1 });
    say(`${group}: one at a time`);
    const alone = summarize(await callbackDelays(contender, sink, plan.loneCallbacks), 1);
    const what = 'idle, from the request that causes it, with its commit, to the arrival';
    rows.push({ group, what: `${what}, p50`, unit: 'ms', ours: alone.p50Ms });
    rows.push({ group, what: `${what}, p95`, unit: 'ms', ours: alone.p95Ms, atMost: 20 });
  }
  sink.close();
  return rows;
}

// More scenes: one dead ERP among many healthy ones, very many dead ones, and mixed load for minutes or hours, in which memory must stay
// flat.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Till } from '../../test/support/till.ts';
import { openLoadShop } from './load-shop.ts';
import { inLanes, median, pause, type SceneResult, spreadOf } from './measure.ts';
import { type SceneOptions, tillOf } from './scenes.ts';

interface Erps {
  /** Of the ERP with this number; each has its own address. Those below zero are dead. */
  urlOf(number: number): string;
  /** When the callback with this text arrived. */
  arrivals: Map<string, number>;
  close(): void;
}

/** On all addresses of loopback; the dead ones accept connections and never answer. */
async function startErps(): Promise<Erps> {
  const arrivals = new Map<string, number>();
  const addressOf = (number: number) => `127.${number < 0 ? 2 : 1}.${Math.floor(Math.abs(number) / 250)}.${1 + (Math.abs(number) % 250)}`;
  const server = createServer((request, response) => {
    if (request.socket.localAddress?.startsWith('127.2.')) return;
    arrivals.set(request.url ?? '', performance.now());
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    arrivals,
    urlOf: (number) => `http://${addressOf(number)}:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function createInvoice(till: Till, url: string): Promise<{ QR: string; OID: string }> {
  const body = { CallbackURI: `${url}/#OID#/#State#`, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 3 }] } };
  const created = await till.post('/Invoice/Create', body);
  if (created.errorCode !== 0) throw new Error(`Create answered ${created.errorCode}: ${created.errorMessage}`);
  return { QR: String(created['QR']), OID: String(created['OID']) };
}

/** From the answer to each scan until its callback arrived, in milliseconds. */
async function delaysOf(till: Till, erps: Erps, count: number, rounds: number): Promise<{ delays: number[]; missing: number }> {
  const scanned: { url: string; atMs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const invoices = await Promise.all(Array.from({ length: count }, (_, at) => createInvoice(till, erps.urlOf(at + 1))));
    await inLanes(invoices, 8, async ({ QR, OID }) => {
      await till.get('/Invoice/Get', { QR });
      scanned.push({ url: `/${OID}/Scanned`, atMs: performance.now() });
    });
  }
  const waitUntil = performance.now() + 60_000;
  const missing = () => scanned.filter(({ url }) => !erps.arrivals.has(url)).length;
  while (missing() > 0 && performance.now() < waitUntil) await pause(50);
  const delays = scanned.flatMap(({ url, atMs }) => Math.max(0, (erps.arrivals.get(url) ?? Number.NaN) - atMs)).filter((ms) => ms >= 0);
  return { delays, missing: missing() };
}

export function deadErp(options: SceneOptions): Promise<SceneResult> {
  return besideDead(options, { dead: 1, backlog: options.isShort ? 100 : 2_000 });
}

/** More than there are slots, each with one callback. */
export function manyDeadErps(options: SceneOptions): Promise<SceneResult> {
  const dead = options.isShort ? 300 : 2_000;
  return besideDead(options, { dead, backlog: dead });
}

async function besideDead({ isShort, say }: SceneOptions, { dead, backlog }: { dead: number; backlog: number }): Promise<SceneResult> {
  const [healthy, rounds] = isShort ? [10, 2] : [100, 10];
  const which = dead === 1 ? 'a dead ERP' : `${dead} dead ERPs`;
  const startedAt = performance.now();
  const erps = await startErps();
  const shop = await openLoadShop({ devices: 1, holdMs: 0, say });
  try {
    const till = tillOf(shop);
    const before = await delaysOf(till, erps, healthy, rounds);
    const alone = spreadOf(before.delays);
    say(`${backlog} callbacks for ${which}`);
    const urls = Array.from({ length: backlog }, (_, at) => erps.urlOf(-1 - (at % dead)));
    await inLanes(urls, 16, async (url) => {
      const { QR } = await createInvoice(till, url);
      await till.get('/Invoice/Get', { QR });
    });
    const after = await delaysOf(till, erps, healthy, rounds);
    const beside = spreadOf(after.delays);
    return {
      scene: `${which} among ${healthy} healthy ones`,
      seconds: (performance.now() - startedAt) / 1000,
      figures: {
        [`callbacks that wait for ${which}`]: backlog,
        'delay of the others alone p50 ms': alone.p50,
        'delay of the others alone p95 ms': alone.p95,
        [`delay of the others beside ${which} p50 ms`]: beside.p50,
        [`delay of the others beside ${which} p95 ms`]: beside.p95,
        [`delay of the others beside ${which} max ms`]: beside.max,
      },
      checks: [
        { what: 'callbacks to healthy ones that did not come', value: before.missing + after.missing, exactly: 0 },
        { what: `delay beside ${which} p95 ms`, value: beside.p95, atMost: isShort ? 10_000 : 2 * alone.p95 + 500 },
      ],
    };
  } finally {
    await shop.stop();
    erps.close();
  }
}

/**
 * One lane: a sale by card with its document and a repeat, an invoice from its creation to its payment, a read. Returns every answer other
 * than 0.
 */
async function sellOnce(till: Till, DeviceID: string, url: string): Promise<string[]> {
  const documentNr = randomUUID();
  const sale = { DeviceID, amount: 10, documentNr };
  const paid = await till.post('/Device/payment/Pay', sale);
  const { operationId } = JSON.parse(paid.report ?? '{}') as { operationId?: string };
  const again = await till.post('/Device/payment/Pay', sale);
  const closed = await till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId });
  const { QR, OID } = await createInvoice(till, url);
  const scanned = await till.get('/Invoice/Get', { QR });
  const ended = await till.get('/Invoice/Payd', { QR, ReceiptID: OID, DeviceID });
  const looked = await till.get('/Device/Device/Status', { DeviceID });
  return Object.entries({ paid, again, closed, scanned, ended, looked }).flatMap(([what, { errorCode, errorMessage }]) =>
    errorCode === 0 ? [] : [`${what} ${errorCode} ${errorMessage}`],
  );
}

export async function mixedLoad({ isShort, minutes, say }: SceneOptions): Promise<SceneResult> {
  const forMs = isShort ? 8_000 : minutes * 60_000;
  const everyMs = isShort ? 2_000 : 60_000;
  const lanes = 8;
  const startedAt = performance.now();
  const erps = await startErps();
  const shop = await openLoadShop({ devices: lanes, holdMs: 100, say });
  try {
    const till = tillOf(shop);
    const memory: number[] = [];
    const live: number[] = [];
    let sales = 0;
    let wrong = 0;
    const endsAt = performance.now() + forMs;
    const sample = async () => {
      memory.push(shop.memory());
      live.push(await shop.liveMemory());
      erps.arrivals.clear();
      const minute = Math.round((performance.now() - startedAt) / 60_000);
      say(`${minute} min, ${sales} sales, ${Math.round(memory.at(-1) ?? 0)} MB, ${Math.round(live.at(-1) ?? 0)} MB of it still needed`);
    };
    let samples = Promise.resolve();
    const sampling = setInterval(() => {
      samples = samples.then(sample);
      // The waiting code below gets the error.
      samples.catch(() => {});
    }, everyMs);
    await Promise.all(
      shop.deviceIds.map(async (device, at) => {
        while (performance.now() < endsAt) {
          for (const answer of await sellOnce(till, device, erps.urlOf(at + 1))) {
            wrong += 1;
            if (wrong <= 20) say(`a wrong answer: ${answer}`);
          }
          sales += 1;
          await pause(50);
        }
      }),
    );
    clearInterval(sampling);
    await samples;
    const farm = await shop.endFarm();
    const fifth = Math.max(1, Math.floor(live.length / 5));
    const [early, late] = [median(live.slice(fifth, 2 * fifth)), median(live.slice(-fifth))];
    return {
      scene: `mixed load for ${isShort ? '8 seconds' : `${minutes} minutes`}`,
      seconds: (performance.now() - startedAt) / 1000,
      figures: {
        sales,
        'memory still needed in the second fifth MB': Math.round(early),
        'memory still needed in the last fifth MB': Math.round(late),
        'most memory held MB': Math.round(Math.max(...memory)),
        'CPU s': Math.round(shop.cpuSeconds()),
      },
      checks: [
        { what: 'answers other than 0', value: wrong, exactly: 0 },
        { what: 'charged twice', value: farm.twice, exactly: 0 },
        // The short form ends before every map and cache has reached its size.
        { what: 'growth of the memory still needed %', value: Math.round((late / early - 1) * 100), atMost: isShort ? 100 : 10 },
      ],
    };
  } finally {
    await shop.stop();
    erps.close();
  }
}

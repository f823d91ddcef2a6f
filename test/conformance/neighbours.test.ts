// While one client sends the worst that is permitted, the others are served in time: their p95 stays under 50 ms. On a busy machine
// everything takes longer, so that the same load of plain text, in the same run, is the measure there.
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

const maxP95Ms = 50;
/** Of the plain text's p95: far less than what the attacks cost before they were bounded (hundreds of milliseconds). */
const maxTimesPlain = 5;
const measuredMs = 6_000;
const mebibyte = 1024 * 1024;

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

const fill = (part: string, bytes: number) => part.repeat(Math.floor(bytes / part.length));

/** One call after the other on one connection, as a till would. */
async function measureP95(untilMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const path = `/Device/Operation/Status?APIKey=${shop.apiKey}&OID=11111111-1111-4111-8111-111111111111`;
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      request(`${shop.till.baseUrl}${path}`, { agent }, (response) => response.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });
  const took: number[] = [];
  while (performance.now() < untilMs) {
    const startedAt = performance.now();
    await ask();
    took.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  agent.destroy();
  took.sort((one, other) => one - other);
  return took[Math.floor(took.length * 0.95)] ?? Number.POSITIVE_INFINITY;
}

/** The callers' p95 while `attack` goes on; it ends by itself when the time is over. */
async function p95During(attack: (isOver: () => boolean) => Promise<void>): Promise<number> {
  const untilMs = performance.now() + measuredMs;
  const [p95] = await Promise.all([measureP95(untilMs), attack(() => performance.now() >= untilMs)]);
  return p95;
}

async function expectInTime(hostile: (isOver: () => boolean) => Promise<void>, plain: (isOver: () => boolean) => Promise<void>) {
  const plainMs = await p95During(plain);
  expect(await p95During(hostile)).toBeLessThan(Math.max(maxP95Ms, maxTimesPlain * plainMs));
}

it('a device that sends 1 MiB a second, full of exponents, delays no other caller', { timeout: 120_000, retry: 2 }, async () => {
  const device = await shop.live('terminal', 'queue');
  const send = (report: string) => async (isOver: () => boolean) => {
    const id = '22222222-2222-4222-8222-222222222222';
    const text = `{"v":1,"id":"${id}","device":"${device.deviceId}","clock":"${device.clock()}","outcome":"done","report":${report}}`;
    while (!isOver()) {
      await device.line('queue').answer('', text);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  };
  const plain = send(`{"a":"${fill('x', mebibyte - 500)}"}`);
  await expectInTime(send(`{"a":[${fill('1e9,', mebibyte - 500)}1]}`), plain);
  // As many values as are read, each as dear as can be.
  await expectInTime(send(`{${Array.from({ length: 19_900 }, (_, n) => `"name ${n}":1e-999`).join(',')}}`), plain);
});

it('twenty connections without a key, with bodies full of exponents, delay no other caller', { timeout: 120_000, retry: 2 }, async () => {
  const post = (path: string, body: Buffer) => async (isOver: () => boolean) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const once = () =>
      new Promise<void>((resolve) => {
        request(`${shop.till.baseUrl}${path}`, { agent, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) =>
          response.resume().on('close', resolve),
        )
          .on('error', () => resolve())
          .end(body);
      });
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (!isOver()) await once();
      }),
    );
    agent.destroy();
  };
  const bytes = 600_000;
  const hostile = Buffer.from(`{"a":[${fill('1234567890123456e-1,', bytes)}1]}`);
  const plain = Buffer.from(`{"a":"${'x'.repeat(hostile.length - 8)}"}`);
  await expectInTime(post('/Device/payment/Pay', hostile), post('/Device/payment/Pay', plain));
  const small = (text: string) => Buffer.from(text.slice(0, 4_000));
  await expectInTime(
    post('/pairing', small(`{"code":[${fill('1234567890123456e-1,', 3_900)}1]}`)),
    post('/pairing', small(`{"code":"${'x'.repeat(3_900)}"}`)),
  );
});

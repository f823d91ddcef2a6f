// No alert fires in an hour in which a real gateway does nothing, nor in one in which it sells as fast as it can; when its devices are gone and
// its callers get no outcome, those do.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LoadShop, openLoadShop } from '../../scripts/load/load-shop.ts';
import { tillOf } from '../../scripts/load/scenes.ts';
import { patienceMs, serveToken } from '../support/gateway-process.ts';
import { afterHalfAnHour, alertNames, firingIn, hourOf, readScrape, type Scrape } from './alert-hours.ts';

const slowTest = { timeout: 4 * patienceMs };
const lanes = 8;

let shop: LoadShop;
beforeAll(async () => {
  shop = await openLoadShop({ devices: 2 * lanes, holdMs: 20, postgresUrl: process.env['TILLGATE_TEST_POSTGRES_URL'], say() {} });
}, 4 * patienceMs);
afterAll(() => shop?.stop());

async function scrapeFor(seconds: number): Promise<{ scrapes: Scrape[]; spanS: number }> {
  const scrapes: Scrape[] = [];
  const startedMs = performance.now();
  for (let count = 0; count <= seconds; count += 1) {
    const response = await fetch(`${shop.baseUrl}/metrics`, { headers: { authorization: `Bearer ${serveToken}` } });
    scrapes.push(readScrape(await response.text()));
    if (count < seconds) await pause(1_000);
  }
  return { scrapes, spanS: (performance.now() - startedMs) / 1000 };
}

async function sellUntil(isOver: () => boolean): Promise<number> {
  const till = tillOf(shop);
  let sold = 0;
  await Promise.all(
    shop.deviceIds.slice(0, lanes).map(async (DeviceID) => {
      while (!isOver()) {
        const sale = { DeviceID, documentNr: randomUUID() };
        const paid = await till.post('/Device/payment/Pay', { ...sale, amount: 10 });
        const { operationId } = JSON.parse(paid.report ?? '{}') as { operationId?: string };
        const closed = await till.post('/Device/payment/CloseDoc', { ...sale, operationId });
        if (closed.errorCode === 0) sold += 1;
      }
    }),
  );
  return sold;
}

describe('the alerts of deploy/prometheus', () => {
  let idleHour: ReturnType<typeof hourOf>;

  it('keep quiet in an idle hour', slowTest, async () => {
    const { scrapes, spanS } = await scrapeFor(8);
    idleHour = hourOf(scrapes, spanS);
    expect(alertNames.length).toBeGreaterThan(12);
    // Something to judge for nearly all of them; nothing was dropped, so that counter is not there.
    expect(new Set(idleHour.map(({ series }) => series.split('{')[0])).size).toBeGreaterThanOrEqual(11);
    expect(firingIn(idleHour)).toEqual([]);
  });

  it('keep quiet in a busy hour', slowTest, async () => {
    let isOver = false;
    const selling = sellUntil(() => isOver);
    const { scrapes, spanS } = await scrapeFor(8);
    isOver = true;
    expect(await selling).toBeGreaterThan(lanes);
    // A machine that other tests fill as well is slow by itself.
    expect(firingIn(hourOf(scrapes, spanS)).filter((name) => name !== 'TillgateEventLoopSlow')).toEqual([]);
  });

  it('fire when the devices are gone', slowTest, async () => {
    await shop.endFarm();
    const till = tillOf(shop);
    const isGone = async () => (await till.get('/Device/Device/Status', { DeviceID: shop.deviceIds[0] ?? '' })).errorCode !== 0;
    await expect.poll(isGone, { timeout: patienceMs }).toBe(true);
    await expect
      .poll(async () => [...((await scrapeFor(0)).scrapes[0] ?? [])].find(([series]) => series.startsWith('tillgate_devices_live'))?.[1], {
        timeout: patienceMs,
      })
      .toBe(0);
    const { scrapes, spanS } = await scrapeFor(2);
    expect(firingIn(afterHalfAnHour(idleHour, hourOf(scrapes, spanS)))).toEqual(['TillgateDevicesGone']);
  });
});

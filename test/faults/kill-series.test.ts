// A short series of kill -9 of gateway and devices under load, on the embedded database. Longer: npm run kill9 -- --rounds 200
import { afterAll, beforeAll, expect, it } from 'vitest';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { runKillSeries, seriesSettings, type Victim } from './kill-series.ts';
import { moments, startMoments } from './moments.ts';
import { deviceVictim, gatewayAtMoments, gatewayVictim } from './victims.ts';

/** Each moment once: one that no statement reaches any more would not be noticed otherwise. */
const everyMoment = Object.keys({ ...moments, ...startMoments }).map(() => 'moments');
const short = ['gateway', 'terminal', 'register', ...everyMoment];
const { rounds, seed, victims: chosen = short, timeoutMs, report, keep } = seriesSettings(short.length);
const dataDir = temporaryDirectory();
let shop: Shop;
let terminals: ShopDevice[];
let registers: ShopDevice[];

beforeAll(async () => {
  const callbacks = { TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8', TILLGATE_CALLBACK_DELAYS_S: '1,1,1,5,5' };
  shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: dataDir, TILLGATE_RATE_LIMIT: '10000', ...callbacks }));
  terminals = await Promise.all([shop.addDevice('terminal'), shop.addDevice('terminal')]);
  registers = [await shop.addDevice('register')];
}, 4 * patienceMs);
afterAll(() => shop?.close());

it(`loses no acknowledged outcome and doubles none over ${rounds} kills`, { timeout: timeoutMs }, async () => {
  const life = { gateway: () => shop.gateway, start: shop.restartGateway };
  const all: Record<string, Victim> = {
    gateway: gatewayVictim('gateway', life),
    moments: gatewayAtMoments('gateway', life),
    terminal: deviceVictim('terminal', terminals[0]),
    register: deviceVictim('register', registers[0]),
  };
  const victims = chosen.flatMap((name) => all[name] ?? []);
  const result = await runKillSeries({ shop, ledger: { dataDir }, terminals, registers, victims, rounds, seed, report });
  keep(result);
  console.log(`kill -9 of ${chosen.join(', ')}, seed ${seed}: ${JSON.stringify(result)}`);
  expect(result.kills).toBe(rounds);
  expect(Math.min(result.payments, result.receipts, result.invoices, result.byKeyAlone)).toBeGreaterThan(0);
});

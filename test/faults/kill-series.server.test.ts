// A short series of kill -9 of PostgreSQL, RabbitMQ, Mosquitto and the gateway under load.
// Longer: npm run kill9 -- --rounds 50 --victims postgres
import { afterAll, beforeAll, expect, it } from 'vitest';
import { patienceMs } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { runKillSeries, seriesSettings, type Victim } from './kill-series.ts';
import { type Servers, startServers } from './servers.ts';

const { rounds, seed, victims: chosen = ['postgres', 'mosquitto', 'rabbitmq', 'gateway'], timeoutMs, report } = seriesSettings(4);
let servers: Servers;
let shop: Shop;
let terminals: ShopDevice[];
let registers: ShopDevice[];

beforeAll(async () => {
  const callbacks = { TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8', TILLGATE_CALLBACK_DELAYS_S: '1,1,1,5,5' };
  servers = await startServers(1, { TILLGATE_RATE_LIMIT: '10000', ...callbacks });
  shop = await openShop(servers.settings[0] ?? {});
  terminals = [await shop.addDevice('terminal')];
  registers = [await shop.addDevice('register')];
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await servers?.stop();
});

it(`loses no acknowledged outcome and doubles none over ${rounds} kills of servers`, { timeout: timeoutMs }, async () => {
  const { postgres, mosquitto, rabbitmq } = servers;
  const all: Record<string, Victim> = {
    postgres: { ...postgres, name: 'postgres' },
    mosquitto: { ...mosquitto, name: 'mosquitto' },
    rabbitmq: { ...rabbitmq, name: 'rabbitmq' },
    gateway: { name: 'gateway', kill9: () => shop.gateway.kill9(), restart: () => shop.restartGateway() },
  };
  const victims = chosen.flatMap((name) => all[name] ?? []);
  const result = await runKillSeries({ shop, ledger: postgres, terminals, registers, victims, rounds, seed, report });
  console.log(`kill -9 of ${chosen.join(', ')}, seed ${seed}: ${JSON.stringify(result)}`);
  expect(result.kills).toBe(rounds);
  expect(Math.min(result.payments, result.receipts, result.invoices)).toBeGreaterThan(0);
});

// A short series of kill -9 of PostgreSQL, RabbitMQ, Mosquitto and either of two gateways behind one proxy, under load.
// Longer: npm run kill9 -- --rounds 50 --victims postgres
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayProcess, patienceMs, startServeProcess } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { startPostgresPair } from '../support/servers/postgres-pair.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { runKillSeries, seriesSettings, type Victim } from './kill-series.ts';
import { moments } from './moments.ts';
import { type Servers, startServers } from './servers.ts';
import { gatewayAtMoments, gatewayVictim, type Life, takingTurns } from './victims.ts';

const short = ['postgres', 'mosquitto', 'rabbitmq', 'either'];
const { rounds, seed, victims: chosen = short, timeoutMs, report, keep } = seriesSettings(short.length);
let servers: Servers;
let proxy: TcpProxy;
let shop: Shop;
let second: GatewayProcess;
let terminals: ShopDevice[];
let registers: ShopDevice[];

beforeAll(async () => {
  const callbacks = { TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8', TILLGATE_CALLBACK_DELAYS_S: '1,1,1,5,5' };
  const more = { TILLGATE_RATE_LIMIT: '10000', ...callbacks };
  servers = await (chosen.includes('failover') ? startServers(2, more, startPostgresPair) : startServers(2, more));
  proxy = await startTcpProxy(servers.settings.map(({ TILLGATE_PORT: port }) => Number(port)));
  shop = await openShop(servers.settings[0] ?? {}, { host: `127.0.0.1:${proxy.port}` });
  second = await startServeProcess(servers.settings[1] ?? {});
  terminals = [await shop.addDevice('terminal')];
  registers = [await shop.addDevice('register')];
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await second?.kill9();
  await proxy?.close();
  await servers?.stop();
});

it(`loses no acknowledged outcome and doubles none over ${rounds} kills of servers`, { timeout: timeoutMs }, async () => {
  const { postgres, mosquitto, rabbitmq } = servers;
  const lives: Life[] = [
    { gateway: () => shop.gateway, start: shop.restartGateway },
    {
      gateway: () => second,
      async start(more = {}) {
        second = await startServeProcess({ ...servers.settings[1], ...more });
      },
    },
  ];
  const all: Record<string, Victim> = {
    postgres: { ...postgres, name: 'postgres' },
    failover: { ...postgres, name: 'postgres primary' },
    mosquitto: { ...mosquitto, name: 'mosquitto' },
    rabbitmq: { ...rabbitmq, name: 'rabbitmq' },
    either: takingTurns(lives.map((life, at) => gatewayVictim(`gateway ${at + 1} of 2`, life))),
    'either-moments': takingTurns(lives.map((life, at) => gatewayAtMoments(`gateway ${at + 1} of 2`, life, Object.keys(moments)))),
  };
  const victims = chosen.flatMap((name) => all[name] ?? []);
  const result = await runKillSeries({ shop, ledger: postgres, terminals, registers, victims, rounds, seed, report });
  keep(result);
  console.log(`kill -9 of ${chosen.join(', ')}, seed ${seed}: ${JSON.stringify(result)}`);
  expect(result.kills).toBe(rounds);
  expect(Math.min(result.payments, result.receipts, result.invoices, result.byKeyAlone)).toBeGreaterThan(0);
});

// The endpoints on the set-up that is recommended for production: PostgreSQL, and RabbitMQ as the one broker for both channels,
// asking the gateway about its devices. Devices are paired processes, once with both channels and once with one.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Servers, startServers } from '../faults/servers.ts';
import { expectRegisterAgrees, expectTerminalAgrees, readLedger } from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { openShop, type Shop } from '../support/served-shop.ts';
import { playBankDay, playShift, receipt } from './journeys.ts';

const slowTest = { timeout: 2 * patienceMs };
let servers: Servers;
let shop: Shop;

beforeAll(async () => {
  servers = await startServers(1);
  const { TILLGATE_MQTT_URL: _mosquitto, ...settings } = servers.settings[0] ?? {};
  shop = await openShop({ ...settings, TILLGATE_MQTT_URL: servers.rabbitmq.mqttUrl });
}, 4 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await servers?.stop();
});

describe.each([
  ['both channels', {}],
  ['the queue alone', { mqtt: false }],
  ['MQTT alone', { queue: false }],
])('on RabbitMQ by %s', (_channels, faults) => {
  it('a terminal goes through a bank day', slowTest, async () => {
    const terminal = await shop.addDevice('terminal', { faults });
    await playBankDay(shop.till, terminal.id);
    expectTerminalAgrees({ ledger: await readLedger(servers.postgres), deviceId: terminal.id, stateDir: terminal.stateDir });
    await terminal.program.terminate();
  });

  it('a register goes through a shift', slowTest, async () => {
    const register = await shop.addDevice('register', { faults });
    await playShift(shop.till, register.id);
    expectRegisterAgrees({ ledger: await readLedger(servers.postgres), deviceId: register.id, stateDir: register.stateDir });
    await register.program.terminate();
  });
});

it('invoices live on PostgreSQL as well', async () => {
  const { QR } = await shop.till.post('/Invoice/Create', { Receipt: receipt });
  expect(await shop.till.get('/Invoice/Get', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 1, Receipt: receipt });
  const { id } = await shop.till.admin('/devices', { merchantId: shop.merchantId, kind: 'register', name: 'Elsewhere' });
  const paid = { QR: String(QR), ReceiptID: 'R-1', DeviceID: String(id) };
  expect(await shop.till.get('/Invoice/Payd', paid)).toMatchObject({ errorCode: 0 });
  expect(await shop.till.get('/Invoice/Status', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 2, ReceiptID: 'R-1' });
});

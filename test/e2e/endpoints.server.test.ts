// The endpoints on the set-up recommended for production: PostgreSQL, and RabbitMQ as the broker of both channels, which
// authenticates devices at the gateway. Devices are paired processes, once with both channels and once with either.
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
  ['the queue only', { mqtt: false }],
  ['MQTT only', { queue: false }],
])('on RabbitMQ by %s', (_channels, faults) => {
  it('runs a bank day on a terminal', slowTest, async () => {
    const terminal = await shop.addDevice('terminal', { faults });
    await playBankDay(shop.till, terminal.id);
    expectTerminalAgrees({ ledger: await readLedger(servers.postgres), deviceId: terminal.id, stateDir: terminal.stateDir });
    await terminal.program.terminate();
  });

  it('runs a shift on a register', slowTest, async () => {
    const register = await shop.addDevice('register', { faults });
    await playShift(shop.till, register.id);
    expectRegisterAgrees({ ledger: await readLedger(servers.postgres), deviceId: register.id, stateDir: register.stateDir });
    await register.program.terminate();
  });
});

it('invoices work on PostgreSQL', async () => {
  const { QR } = await shop.till.post('/Invoice/Create', { Receipt: receipt });
  expect(await shop.till.get('/Invoice/Get', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 1, Receipt: receipt });
  const { id } = await shop.till.admin('/devices', { merchantId: shop.merchantId, kind: 'register', name: 'Elsewhere' });
  const paid = { QR: String(QR), ReceiptID: 'R-1', DeviceID: String(id) };
  expect(await shop.till.get('/Invoice/Payd', paid)).toMatchObject({ errorCode: 0 });
  expect(await shop.till.get('/Invoice/Status', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 2, ReceiptID: 'R-1' });
});

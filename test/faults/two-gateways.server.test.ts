// Two gateways on one PostgreSQL, one RabbitMQ and one Mosquitto: one charge whichever is called, and each takes over for the other.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNight } from '../support/at-length.ts';
import { expectRegisterAgrees, expectTerminalAgrees, readBank, readLedger } from '../support/books.ts';
import { freePort } from '../support/free-port.ts';
import {
  type GatewayProcess,
  patienceMs,
  runProgram,
  type Settings,
  serveSettings,
  startProgram,
  startServeProcess,
  temporaryDirectory,
} from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { createTill, eventually, reportOf, type Till } from '../support/till.ts';
import { type Servers, startServers } from './servers.ts';

const slowTest = { timeout: 4 * patienceMs };
const slowMs = 4_000;
let servers: Servers;
let shop: Shop;
let other: GatewayProcess;
let otherTill: Till;
let terminal: ShopDevice;
let register: ShopDevice;

beforeAll(async () => {
  servers = await startServers(2);
  const [first = {}, second = {}] = servers.settings;
  [shop, other] = await Promise.all([openShop(first), startServeProcess(second)]);
  const { key } = await shop.till.admin('/keys', { merchantId: shop.merchantId, name: 'Second', modules: ['POS', 'QR', 'Fiscal'] });
  otherTill = createTill({ ...other, apiKey: String(key) });
  [terminal, register] = await Promise.all([shop.addDevice('terminal', { slowMs }), shop.addDevice('register', { slowMs })]);
  await eventually(
    'the second one hears the terminal',
    () => otherTill.get('/Device/Device/Status', { DeviceID: terminal.id }),
    ({ errorCode }) => errorCode === 0,
  );
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await other?.kill9();
  await servers?.stop();
});

async function inDatabase({ url }: { url: string }, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

const charges = () => readBank(terminal.stateDir).filter(({ kind }) => kind === 'charge');

async function close(till: Till, report: string | undefined, documentNr: string): Promise<void> {
  const { operationId } = JSON.parse(report ?? '{}');
  expect(await till.post('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId })).toMatchObject({ errorCode: 0 });
  expectTerminalAgrees({ ledger: await readLedger(servers.postgres), deviceId: terminal.id, stateDir: terminal.stateDir });
}

describe('two gateways', () => {
  it('called for different payments on one terminal at once: one charge, and 31 for the others', slowTest, async () => {
    const before = charges().length;
    const pays = Array.from({ length: 10 }, (_, index) => {
      const body = { DeviceID: terminal.id, amount: 60 + index, documentNr: randomUUID() };
      return (index % 2 === 0 ? shop.till : otherTill).post('/Device/payment/Pay', body).then((answer) => ({ answer, body }));
    });
    const outcomes = await Promise.all(pays);
    const codes = outcomes.map(({ answer }) => answer.errorCode).toSorted((a, b) => a - b);
    expect(codes).toEqual([0, ...Array(9).fill(31)]);
    expect(charges()).toHaveLength(before + 1);
    const winner = outcomes.find(({ answer }) => answer.errorCode === 0);
    await close(otherTill, winner?.answer.report, winner?.body.documentNr ?? '');
  });

  it('called for the same payment at once: both return the one answer', slowTest, async () => {
    const before = charges().length;
    const body = { DeviceID: terminal.id, amount: 75, documentNr: randomUUID() };
    const answers = await Promise.all([shop.till, otherTill, shop.till, otherTill].map((till) => till.post('/Device/payment/Pay', body)));
    expect(answers[0]).toMatchObject({ errorCode: 0 });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(charges()).toHaveLength(before + 1);
    await close(shop.till, answers[0]?.report, body.documentNr);
  });

  it('one of which is killed during a Pay: the repeat on the other returns the first outcome', slowTest, async () => {
    const before = charges().length;
    const body = { DeviceID: terminal.id, amount: '76.64', documentNr: randomUUID() };
    const first = shop.till.tryPost('/Device/payment/Pay', body);
    await terminal.program.prints(/76\.64 MDL: present the card/);
    await shop.gateway.kill9();
    expect(await first).toBeUndefined();
    const repeated = await otherTill.post('/Device/payment/Pay', body);
    expect(repeated).toMatchObject({ errorCode: 0 });
    expect(reportOf(repeated)).toMatchObject({ amount: 76.64, operationId: charges().at(-1)?.operationId });
    expect(charges()).toHaveLength(before + 1);
    await close(otherTill, repeated.report, body.documentNr);
  });

  // By day ledger/recovery.test.ts has the instance that Recalls within 20 s, and the test above the kill.
  it.runIf(isNight)('one of which is killed after an answer was lost: the other finds the outcome without a call', slowTest, async () => {
    await shop.restartGateway();
    await shop.online(register.id);
    const Uid = randomUUID();
    const body = {
      DeviceID: register.id,
      Receipt: { Uid, Items: [{ Name: 'Bread', Quantity: 1, Price: 77.86 }], Payments: [{ PaymentCode: 0 }] },
    };
    const first = shop.till.tryPost('/Device/Invoice/Pay', body);
    await register.program.prints(/77\.86/);
    await shop.gateway.kill9();
    expect(await first).toBeUndefined();
    // Within 15 s of the kill, by the missing heartbeat; some more on a busy machine.
    const settled = async () => (await readLedger(servers.postgres)).find((row) => row.name === 'PrintReceipt' && row.state === 'done');
    expect(await eventually('it is settled', settled, Boolean)).toMatchObject({ settled_by: 'recall' });
    expect(await otherTill.post('/Device/Invoice/Pay', body)).toMatchObject({ errorCode: 0 });
    expectRegisterAgrees({ ledger: await readLedger(servers.postgres), deviceId: register.id, stateDir: register.stateDir });
  });
});

describe('serve beside a running instance', () => {
  const embeddedOn = async (settings: Settings): Promise<Settings> => {
    const { TILLGATE_MQTT_URL: _mqtt, TILLGATE_QUEUE_URL: _queue, ...rest } = settings;
    return { ...rest, TILLGATE_PORT: String(await freePort()), TILLGATE_MQTT_PORT: String(await freePort()) };
  };

  it('refuses to join with an embedded broker and queue, and says why', slowTest, async () => {
    const refused = await runProgram(['serve'], await embeddedOn(servers.settings[0] ?? {}));
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      new RegExp(`^Another instance \\(process ${other.pid} on \\S+\\) .*MQTT broker and queue.*TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL`),
    );
    expect(refused.err.trim().split('\n')).toHaveLength(1);
    // The running instance is not affected.
    expect(await otherTill.get('/Device/Device/Status', { DeviceID: terminal.id })).toMatchObject({ errorCode: 0 });
  });

  it('refuses to join an instance with an embedded broker, but not one that was killed', slowTest, async () => {
    const [, second = {}] = servers.settings;
    await other.terminate();
    const embedded = await embeddedOn(second);
    const alone = await startServeProcess(embedded);
    const refused = await runProgram(['serve'], await serveSettings({ ...second, TILLGATE_DATA_DIR: temporaryDirectory() }));
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(new RegExp(`process ${alone.pid} .* with its own MQTT broker and queue`));

    await alone.kill9();
    const again = startProgram(['serve', '--json'], embedded);
    await again.prints(/waiting for its next heartbeat/);
    expect(again.out()).not.toContain('"baseUrl"');
    // As if the heartbeat had been missing for long enough.
    await inDatabase(servers.postgres, `update instances set heartbeat_at = heartbeat_at - 60000 where pid = ${alone.pid}`);
    await again.prints(/^\{"baseUrl":/m);
    await again.kill9();
  });
});

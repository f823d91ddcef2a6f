// kill -9 of Mosquitto, RabbitMQ and PostgreSQL during a payment, and their restart. The gateway is not restarted.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNight } from '../support/at-length.ts';
import { expectRegisterAgrees, expectTerminalAgrees, readLedger } from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';
import { type Servers, startServers } from './servers.ts';

const slowTest = { timeout: 6 * patienceMs };
const slowMs = 4_000;
let servers: Servers;
let shop: Shop;
let terminal: ShopDevice;
let register: ShopDevice;

beforeAll(async () => {
  servers = await startServers(1);
  shop = await openShop(servers.settings[0] ?? {});
  [terminal, register] = await Promise.all([shop.addDevice('terminal', { slowMs }), shop.addDevice('register', { slowMs })]);
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await servers?.stop();
});

interface Payment {
  body: { DeviceID: string; amount: string; documentNr: string };
  outcome: Promise<Answer>;
}

async function startPay(amount: string): Promise<Payment> {
  const body = { DeviceID: terminal.id, amount, documentNr: randomUUID() };
  const outcome = shop.till.post('/Device/payment/Pay', body);
  await terminal.program.prints(new RegExp(`${amount.replace('.', '\\.')} MDL: present the card`));
  return { body, outcome };
}

async function closeAndCompare({ body }: Payment, answer: Answer): Promise<void> {
  expect(answer).toMatchObject({ status: 200, errorCode: 0 });
  expect(await shop.till.post('/Device/payment/Pay', body)).toEqual(answer);
  const { operationId } = reportOf(answer);
  const { DeviceID, documentNr } = body;
  expect(await shop.till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId })).toMatchObject({ errorCode: 0 });
  expectTerminalAgrees({ ledger: await readLedger(servers.postgres), deviceId: terminal.id, stateDir: terminal.stateDir });
}

/** Both channels of the gateway are up again. */
const isReady = () =>
  eventually(
    'the gateway is ready',
    async () => (await fetch(`${shop.till.baseUrl}/health/ready`)).json() as Promise<{ modes?: { POS: string } }>,
    ({ modes }) => modes?.POS === 'up',
    2 * patienceMs,
  );

describe('during a payment', () => {
  it('Mosquitto is killed and stays down: the answer arrives by the queue', slowTest, async () => {
    const payment = await startPay('50.64');
    await servers.mosquitto.kill9();
    const answer = await payment.outcome;
    await closeAndCompare(payment, answer);
    await servers.mosquitto.restart();
    await isReady();
    await shop.online(terminal.id);
  });

  it('RabbitMQ is killed while a register waits for the card: the answer arrives by MQTT', slowTest, async () => {
    const Receipt = { Uid: randomUUID(), Items: [{ Name: 'Bread', Quantity: 1, Price: 51.84 }], Payments: [{ PaymentCode: 2 }] };
    const printing = shop.till.post('/Device/Invoice/Pay', { DeviceID: register.id, Receipt });
    await register.program.prints(/51\.84 MDL: present the card/);
    await servers.rabbitmq.kill9();
    const answer = await printing;
    expect(answer).toMatchObject({ errorCode: 0 });
    expect(await shop.till.post('/Device/Invoice/Pay', { DeviceID: register.id, Receipt })).toEqual(answer);
    // Fiscal Mode works without the queue.
    expect(await shop.till.post('/Device/Money/In', { DeviceID: register.id, Amount: 5 })).toMatchObject({ errorCode: 0 });
    await servers.rabbitmq.restart();
    await isReady();
    expectRegisterAgrees({ ledger: await readLedger(servers.postgres), deviceId: register.id, stateDir: register.stateDir });
  });

  // By day swallowing-broker.server.test.ts takes both channels away at once.
  it.runIf(isNight)('both brokers are killed: the answer arrives by the first one that is back', slowTest, async () => {
    const payment = await startPay('52.64');
    await Promise.all([servers.mosquitto.kill9(), servers.rabbitmq.kill9()]);
    await terminal.program.prints(/52\.64[\s\S]*Approved[\s\S]*52\.64/);
    // No device is reachable, and nothing is sent.
    expect(await shop.till.post('/Device/Money/In', { DeviceID: register.id, Amount: 6 })).toMatchObject({ errorCode: 30 });
    await servers.mosquitto.restart();
    await closeAndCompare(payment, await payment.outcome);
    await servers.rabbitmq.restart();
    await isReady();
  });

  it(
    'PostgreSQL is killed: the call answers 3, another one 2, and the repeat returns the outcome after the restart',
    slowTest,
    async () => {
      const payment = await startPay('53.64');
      await servers.postgres.kill9();
      // Its connection processes survive for a moment, and may still answer that the terminal is busy.
      const other = await eventually(
        'that nobody answers',
        () => shop.till.post('/Device/payment/Pay', { ...payment.body, documentNr: randomUUID() }),
        ({ errorCode }) => errorCode !== 31,
      );
      expect(other).toMatchObject({ status: 200, errorCode: 2 });
      // It was sent, so the answer may not deny it [D59].
      expect(await payment.outcome).toMatchObject({ status: 200, errorCode: 3 });
      const ready = await fetch(`${shop.till.baseUrl}/health/ready`);
      expect([ready.status, await ready.json()]).toMatchObject([503, { errorCode: 2 }]);
      await servers.postgres.restart();
      await isReady();
      const repeated = await eventually(
        'the outcome',
        () => shop.till.post('/Device/payment/Pay', payment.body),
        ({ errorCode }) => errorCode === 0,
      );
      await closeAndCompare(payment, repeated);
    },
  );

  it('PostgreSQL restarts faster than the customer: the payment succeeds', slowTest, async () => {
    const payment = await startPay('54.64');
    await servers.postgres.kill9();
    await servers.postgres.restart();
    const answer = await payment.outcome;
    const settled =
      answer.errorCode === 0
        ? answer
        : await eventually(
            'the outcome',
            () => shop.till.post('/Device/payment/Pay', payment.body),
            ({ errorCode }) => errorCode === 0,
          );
    await closeAndCompare(payment, settled);
  });
});

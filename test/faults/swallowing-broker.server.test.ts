// Brokers that confirm a message and lose it: Mosquitto and RabbitMQ behind proxies that acknowledge dropped messages. The command
// arrives by the other channel or is settled by Recall; nothing is charged twice, and the caller is answered correctly.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectTerminalAgrees, readBank, readLedger } from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { startSwallowingAmqp, startSwallowingMqtt } from '../support/swallowing.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';
import { type Servers, startServers } from './servers.ts';

const slowTest = { timeout: 6 * patienceMs };
type Channel = 'mqtt' | 'queue';
let servers: Servers;
let proxies: TcpProxy[];
let shop: Shop;
let first: ShopDevice;
let second: ShopDevice;

/** Which messages are lost from now on: commands to a device, or its answers; presence always arrives. */
let loses: (channel: Channel, deviceId: string, what: 'command' | 'answer') => boolean = () => false;
/** Number of lost messages, and of lost Recalls among them. */
let lost = 0;
let lostRecalls = 0;

const isSwallowed = (channel: Channel, what: 'command' | 'answer') => (text: string) => {
  if (!text.includes(what === 'command' ? '"name":"' : '"outcome":"')) return false;
  const isLost = [first, second].some((device) => device && text.includes(device.id) && loses(channel, device.id, what));
  if (isLost) lost += 1;
  if (isLost && text.includes('"name":"Recall"')) lostRecalls += 1;
  return isLost;
};

beforeAll(async () => {
  servers = await startServers(1);
  const { mosquitto, rabbitmq } = servers;
  const [ours, devices, queue, deviceQueue] = await Promise.all([
    startSwallowingMqtt(mosquitto.port, isSwallowed('mqtt', 'command')),
    startSwallowingMqtt(mosquitto.port, isSwallowed('mqtt', 'answer')),
    startSwallowingAmqp(rabbitmq.port, isSwallowed('queue', 'command')),
    startSwallowingAmqp(rabbitmq.port, isSwallowed('queue', 'answer')),
  ]);
  proxies = [ours, devices, queue, deviceQueue];
  const [settings = {}] = servers.settings;
  shop = await openShop({
    ...settings,
    TILLGATE_MQTT_URL: `mqtt://127.0.0.1:${ours.port}`,
    TILLGATE_MQTT_PUBLIC_URL: `mqtt://127.0.0.1:${devices.port}`,
    TILLGATE_QUEUE_URL: (settings['TILLGATE_QUEUE_URL'] ?? '').replace(`:${rabbitmq.port}`, `:${queue.port}`),
    TILLGATE_QUEUE_PUBLIC_URL: `amqp://127.0.0.1:${deviceQueue.port}`,
  });
  [first, second] = await Promise.all([shop.addDevice('terminal'), shop.addDevice('terminal')]);
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  for (const proxy of proxies ?? []) await proxy.close();
  await servers?.stop();
});
beforeEach(() => {
  lost = 0;
  lostRecalls = 0;
  loses = () => false;
});

const newBody = (device: ShopDevice, amount: string) => ({ DeviceID: device.id, amount, documentNr: randomUUID() });
type Body = ReturnType<typeof newBody>;
const pay = (body: Body) => shop.till.post('/Device/payment/Pay', body);
const chargesOf = ({ stateDir }: ShopDevice, { documentNr }: Body) =>
  readBank(stateDir).filter((entry) => entry.kind === 'charge' && entry.documentNr === documentNr);

async function closeAndCompare(device: ShopDevice, body: Body, answer: Answer): Promise<void> {
  expect(answer).toMatchObject({ errorCode: 0 });
  const { operationId } = reportOf(answer);
  expect(chargesOf(device, body).map((charge) => charge.operationId)).toEqual([operationId]);
  const { DeviceID, documentNr } = body;
  expect(await shop.till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId })).toMatchObject({ errorCode: 0 });
  expectTerminalAgrees({ ledger: await readLedger(servers.postgres), deviceId: device.id, stateDir: device.stateDir });
}

describe('a broker that confirms a message and loses it', () => {
  it('loses the command on MQTT: it arrives by the other channel, once', slowTest, async () => {
    loses = (channel, _id, what) => channel === 'mqtt' && what === 'command';
    const body = newBody(first, '10.00');
    await closeAndCompare(first, body, await pay(body));
    expect(lost).toBeGreaterThan(0);
  });

  it('loses the answers on MQTT: the call still returns the outcome', slowTest, async () => {
    loses = (channel, _id, what) => channel === 'mqtt' && what === 'answer';
    const body = newBody(first, '11.00');
    await closeAndCompare(first, body, await pay(body));
    expect(lost).toBeGreaterThan(0);
  });

  it('and so does the other one: the call gets the outcome that Recall finds when both work again', slowTest, async () => {
    // No command reaches the first terminal; no answer of the second one reaches the gateway.
    loses = (_channel, id, what) => (id === first.id ? what === 'command' : what === 'answer');
    const [unseen, unheard] = [newBody(first, '12.00'), newBody(second, '13.00')];
    const told = [pay(unseen), pay(unheard)] as const;
    await eventually(
      'Recall is asked in vain',
      () => lostRecalls,
      (count) => count >= 2,
      2 * patienceMs,
    );
    expect([chargesOf(first, unseen).length, chargesOf(second, unheard).length]).toEqual([0, 1]);
    expect(await pay(newBody(second, '14.00'))).toMatchObject({ errorCode: 31 });

    loses = () => false;
    for (const proxy of proxies) proxy.cut();
    // It never reached the terminal and can no longer start: not done, and free for a retry.
    expect(await told[0]).toMatchObject({ errorCode: 30 });
    const heard = await told[1];
    const states = async ({ documentNr }: Body) => (await readLedger(servers.postgres)).filter((row) => row.document_nr === documentNr);
    expect(await states(unseen)).toMatchObject([{ state: 'never', settled_by: 'recall' }]);
    expect(await states(unheard)).toMatchObject([{ state: 'done', settled_by: 'recall' }]);
    await closeAndCompare(second, unheard, heard);
    await shop.online(first.id);
    await closeAndCompare(first, unseen, await pay(unseen));
  });
});

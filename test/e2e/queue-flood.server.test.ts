// A device that floods a real RabbitMQ: the gateway, which can only drop its messages, ends its connections and refuses it for a minute.
import { connect } from 'amqplib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queueNames } from '../../src/link/protocol.ts';
import { freePort } from '../support/free-port.ts';
import { serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop } from '../support/served-shop.ts';
import { type ShippedRabbitmq, startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';

const token = 'the-token-of-this-test-is-long';
let rabbitmq: ShippedRabbitmq;
let shop: Shop;

beforeAll(async () => {
  const port = await freePort();
  rabbitmq = await startShippedRabbitmq(port, token);
  const settings = await serveSettings({
    TILLGATE_PORT: String(port),
    TILLGATE_DATA_DIR: temporaryDirectory(),
    TILLGATE_QUEUE_URL: rabbitmq.url,
    TILLGATE_BROKER_TOKEN: token,
    TILLGATE_RABBITMQ_API_URL: rabbitmq.apiUrl,
  });
  shop = await openShop(settings);
}, 180_000);

afterAll(async () => {
  await shop?.close();
  await rabbitmq?.stop();
});

async function pairDevice(): Promise<{ deviceId: string; url: string }> {
  const { merchantId, till } = shop;
  const { pairingCode } = await till.admin('/devices', { merchantId, kind: 'terminal', name: 'A terminal', bank: 'maib' });
  const { deviceId, secret } = await till.post('/pairing', { code: pairingCode });
  return { deviceId: String(deviceId), url: `amqp://${String(deviceId)}:${String(secret)}@127.0.0.1:${rabbitmq.port}` };
}

it.each([
  ['its own messages', true],
  ['messages whose sender is not proven', false],
])('with %s, is cut off and refused, and another device is not', { timeout: 120_000 }, async (_name, isProven) => {
  const [noisy, calm] = [await pairDevice(), await pairDevice()];
  const other = await connect(calm.url);
  let isCalmClosed = false;
  other.on('close', () => {
    isCalmClosed = true;
  });
  const connection = await connect(noisy.url);
  connection.on('error', () => {});
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()));
  const channel = await connection.createChannel();
  channel.on('error', () => {});
  const key = queueNames.presenceKey(noisy.deviceId);
  for (let n = 0; n < 2_000; n += 1)
    channel.publish(queueNames.answersExchange, key, Buffer.from('{"flood'), isProven ? { userId: noisy.deviceId } : {});
  await closed;
  await expect(connect(noisy.url)).rejects.toThrow(/ACCESS.REFUSED/i);
  expect(isCalmClosed).toBe(false);
  await other.close();
  await (await connect(calm.url)).close();
});

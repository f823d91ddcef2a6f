// The recommended production set-up: `serve` with RabbitMQ as the one broker for both channels, configured as deploy/ ships it and asking the
// running gateway about each device. The device by somebody else speaks AMQP and MQTT to it.
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/cli/doctor/doctor.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { createMessageFuzz } from '../fuzz/device-messages.ts';
import { replyToOf } from '../fuzz/run-fuzz.ts';
import { isNight } from '../support/at-length.ts';
import { type GatewayProcess, type Settings, serveSettings, startServeProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { type ShippedRabbitmq, startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';
import { amqpUrl, connectAmqp } from './amqp-line.ts';
import type { Fields, ForeignDevice } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

const brokerToken = 'the-token-of-the-conformance-broker';
let rabbitmq: ShippedRabbitmq;
let settings: Settings;
let shop: ForeignShop;
let gateway: GatewayProcess;

beforeAll(async () => {
  const served = await serveSettings();
  rabbitmq = await startShippedRabbitmq(served['TILLGATE_PORT'] ?? '', brokerToken);
  settings = {
    ...served,
    TILLGATE_DATA_DIR: temporaryDirectory(),
    TILLGATE_QUEUE_URL: rabbitmq.url,
    TILLGATE_MQTT_URL: rabbitmq.mqttUrl,
    TILLGATE_BROKER_TOKEN: brokerToken,
    TILLGATE_DEVICE_RATE: '10000',
  };
  shop = await openForeignShop({}, async () => {
    gateway = await startServeProcess(settings);
    return gateway;
  });
}, 90_000);
afterAll(async () => {
  await gateway?.kill9();
  await rabbitmq?.stop();
});

async function live(kind: 'terminal' | 'register', on: 'mqtt' | 'queue' | 'both'): Promise<ForeignDevice> {
  const device = await shop.register(kind);
  if (on !== 'queue') await device.onMqtt();
  if (on !== 'mqtt') await device.join('queue', await connectAmqp(device));
  await eventually(
    'the gateway hears the device',
    async () =>
      ((await shop.till.admin(`/devices?merchantId=${shop.merchantId}`))['devices'] as Fields[]).find(({ id }) => id === device.deviceId),
    (listed) => listed?.['liveOn'].length === (on === 'both' ? 2 : 1),
  );
  return device;
}

const dropped = (reason: string) => shop.metric(new RegExp(`^tillgate_link_dropped_messages_total\\{reason="${reason}"\\} (\\d+)`, 'm'));
const closeDay = (device: ForeignDevice) => shop.till.post('/Device/payment/closeDay', { DeviceID: device.deviceId });

/** The channel or connection that RabbitMQ closes when it says no. */
async function refusalOf(
  device: ForeignDevice,
  act: (channel: Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createChannel']>>) => unknown,
) {
  const connection = await connect(amqpUrl(device));
  connection.on('error', () => {});
  const channel = await connection.createChannel();
  const closed = new Promise<string>((resolve) => channel.once('error', (error: Error) => resolve(error.message)));
  void Promise.resolve(act(channel)).catch(() => {});
  const message = await Promise.race([closed, new Promise<string>((resolve) => setTimeout(() => resolve('allowed'), 3_000))]);
  await connection.close().catch(() => {});
  return message;
}

describe('RabbitMQ for both channels', () => {
  it('pairing tells the names of the queue and the exchange', async () => {
    const paired = (await shop.pairing('register')) as Answer & Fields;
    const id = paired['deviceId'];
    expect(paired['queue']).toEqual({
      url: expect.stringMatching(/^amqp:\/\/127\.0\.0\.1:\d+/),
      kind: 'rabbitmq',
      username: id,
      commandsQueue: `tillgate.device.${id}`,
      answersExchange: 'tillgate.answers',
      answerKey: `${id}.{replyTo}`,
      presenceKey: `${id}.presence`,
    });
    expect(JSON.stringify(paired)).not.toContain('tillgate:tillgate');
  });

  it('a register gets its commands by the queue, transient and expiring; a terminal by MQTT at QoS 0, not retained', async () => {
    const register = await live('register', 'both');
    const cashIn = shop.till.post('/Device/Money/In', { DeviceID: register.deviceId, Amount: 1 });
    const command = await register.next('MoneyIn');
    expect(command.wire).toBe('queue');
    expect(command.amqp).toMatchObject({ exchange: '', routingKey: `tillgate.device.${register.deviceId}`, redelivered: false });
    expect(command.amqp?.['deliveryMode'] ?? 1).toBe(1);
    expect(Number(command.amqp?.['expiration'])).toBeGreaterThan(0);
    expect(Number(command.amqp?.['expiration'])).toBeLessThanOrEqual(10_000);
    await register.say(command, 'accepted');
    await register.say(command, 'done', { report: { documentNumber: 1, cashInDrawer: 1 } });
    expect(await cashIn).toMatchObject({ errorCode: 0 });

    const terminal = await live('terminal', 'both');
    const closing = closeDay(terminal);
    const other = await terminal.next('CloseDay');
    expect(other).toMatchObject({ wire: 'mqtt', topic: `tillgate/devices/${terminal.deviceId}/commands`, qos: 0, isRetained: false });
    // The answer may take the other wire.
    await terminal.say(other, 'accepted', {}, 'queue');
    await terminal.say(other, 'done', { report: { count: 1, amount: 2 } }, 'queue');
    expect(reportOf(await closing)).toEqual({ count: 1, amount: 2 });
    await Promise.all([register.leave(), terminal.leave()]);
  });

  it('no accepted for 3 s: the same id on the other wire', async () => {
    const device = await live('terminal', 'both');
    const closing = closeDay(device);
    const one = await device.next('CloseDay', 'mqtt');
    const two = await device.next('CloseDay', 'queue');
    expect(two.message['id']).toBe(one.message['id']);
    expect(Number(two.amqp?.['expiration'])).toBeLessThanOrEqual(7_200);
    await device.say(two, 'done', { report: {} });
    expect(await closing).toMatchObject({ errorCode: 0 });
    await device.leave();
  });

  it('a device whose queue went away is noticed by the broker: 30 at once, nothing is kept for it', async () => {
    const device = await live('terminal', 'queue');
    await device.leave();
    const startedAtMs = performance.now();
    expect(await closeDay(device)).toMatchObject({ errorCode: 30 });
    expect(performance.now() - startedAtMs).toBeLessThan(3_500);
    await device.join('queue', await connectAmqp(device));
    await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
    expect(device.count('CloseDay')).toBe(0);
    await device.leave();
  });

  it('a device reaches nothing but its own', async () => {
    const device = await shop.register('terminal');
    const victim = await live('terminal', 'both');
    const closing = closeDay(victim);
    const command = await victim.next('CloseDay');
    const { id, replyTo } = command.message;
    const forged = Buffer.from(JSON.stringify({ v: 1, id, device: victim.deviceId, clock: victim.clock(), outcome: 'done', report: {} }));
    const refused = /ACCESS_REFUSED|access to|PRECONDITION_FAILED|RESOURCE_LOCKED/;
    expect(await refusalOf(device, (channel) => channel.publish('', `tillgate.device.${victim.deviceId}`, forged))).toMatch(refused);
    expect(await refusalOf(device, (channel) => channel.consume(`tillgate.device.${victim.deviceId}`, () => {}))).toMatch(refused);
    expect(await refusalOf(device, (channel) => channel.assertQueue('other', { exclusive: true }))).toMatch(refused);
    expect(await refusalOf(device, (channel) => channel.assertExchange('mine', 'topic'))).toMatch(refused);
    expect(await refusalOf(device, (channel) => channel.publish('tillgate.answers', `${victim.deviceId}.${replyTo}`, forged))).toMatch(
      refused,
    );
    expect(
      await refusalOf(device, async (channel) => {
        await channel.assertQueue(`tillgate.device.${device.deviceId}`, { exclusive: true, autoDelete: true, durable: false });
        await channel.bindQueue(`tillgate.device.${device.deviceId}`, 'tillgate.answers', '#');
      }),
    ).toMatch(refused);
    expect(
      await refusalOf(device, (channel) =>
        channel.publish('tillgate.answers', `${device.deviceId}.${replyTo}`, forged, { userId: victim.deviceId }),
      ),
    ).toMatch(refused);

    // Without user-id nobody vouches for it; with it, it is another device's command.
    const before = await dropped('unknown-sender');
    const connection = await connect(amqpUrl(device));
    const channel = await connection.createChannel();
    channel.publish('tillgate.answers', `${device.deviceId}.${replyTo}`, forged);
    await eventually(
      'it is counted',
      () => dropped('unknown-sender'),
      (count) => count === before + 1,
    );
    await connection.close();

    const login = {
      protocolVersion: 4,
      clientId: device.deviceId,
      username: device.deviceId,
      password: device.secret,
      reconnectPeriod: 0,
    } as const;
    for (const topic of [`tillgate/devices/${victim.deviceId}/commands`, 'tillgate/devices/+/commands', '#']) {
      const client = await connectAsync(device.mqttUrl, login);
      client.on('error', () => {});
      const ended = new Promise<string>((resolve) => client.once('close', () => resolve('refused')));
      const granted = client.subscribeAsync(topic).then(
        (grants) => (grants.every(({ qos }) => qos < 128) ? 'granted' : 'refused'),
        () => 'refused',
      );
      expect(await Promise.race([granted, ended]), topic).toBe('refused');
      await client.endAsync(true);
    }
    await victim.say(command, 'refused');
    expect(await closing).toMatchObject({ errorCode: 50 });
    await victim.leave();
  });

  it('wrong secrets and disabled devices are not let in', async () => {
    const device = await shop.register('terminal');
    await expect(connect(amqpUrl({ ...device, secret: 'wrong' }))).rejects.toThrow();
    const wrong = {
      protocolVersion: 4,
      clientId: device.deviceId,
      username: device.deviceId,
      password: 'wrong',
      reconnectPeriod: 0,
    } as const;
    await expect(connectAsync(device.mqttUrl, wrong)).rejects.toThrow();
    await expect(connectAsync(device.mqttUrl, { ...wrong, password: device.secret, clientId: randomUUID() })).rejects.toThrow();
    await shop.till.admin(`/devices/${device.deviceId}/disable`, {});
    await expect(connect(amqpUrl(device))).rejects.toThrow();
    await shop.till.admin(`/devices/${device.deviceId}/enable`, {});
    await (await connect(amqpUrl(device))).close();
  });

  it('a disabled device that still holds its connection is sent nothing', async () => {
    const device = await live('terminal', 'both');
    await shop.till.admin(`/devices/${device.deviceId}/disable`, {});
    expect(await closeDay(device)).toMatchObject({ errorCode: 30 });
    expect(await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId })).toMatchObject({ errorCode: 30 });
    expect(device.heard).toEqual([]);
    await device.leave();
  });

  it('a killed gateway’s command is asked about by the next one, under its own id, and the ERP gets the outcome', async () => {
    const device = await live('terminal', 'both');
    const documentNr = randomUUID();
    const body = { DeviceID: device.deviceId, amount: 4, documentNr };
    const first = shop.till.tryPost('/Device/payment/Pay', body);
    const command = await device.next('Pay');
    await device.say(command, 'accepted');
    await gateway.kill9();
    expect(await first).toBeUndefined();
    // Said to a gateway that is no more.
    await device.say(command, 'done', { report: { rrn: '1', authCode: '2', operationId: 'op', amount: 4 } });
    gateway = await startServeProcess(settings);
    const recall = await device.next('Recall');
    expect(recall.message['args']).toEqual({ target: command.message['id'] });
    expect(recall.message['replyTo']).not.toBe(command.message['replyTo']);
    const report = { rrn: '1', authCode: '2', operationId: 'op', amount: 4 };
    await device.say(recall, 'done', { report: { state: 'final', outcome: 'done', report } });
    await eventually(
      'the repeat hears it',
      () => shop.till.post('/Device/payment/Pay', body),
      ({ errorCode }) => errorCode === 0,
    );
    expect(device.count('Pay')).toBe(1);
    await device.leave();
  });

  // By day test/contract kills this RabbitMQ under both channels, and test/faults/servers-killed kills it under a gateway.
  it.runIf(isNight)('a restart of the broker is survived: devices come back, and so does the gateway', { timeout: 90_000 }, async () => {
    const device = await live('terminal', 'mqtt');
    await rabbitmq.restart();
    await eventually(
      'the device is back',
      () => device.onMqtt(),
      () => true,
    );
    await eventually(
      'the gateway is back',
      async () => (await fetch(`${shop.till.baseUrl}/health/ready`)).json() as Promise<{ modes?: { POS: string } }>,
      ({ modes }) => modes?.POS === 'up',
    );
    const closing = closeDay(device);
    await device.say(await device.next('CloseDay'), 'done', { report: {} });
    expect(await closing).toMatchObject({ errorCode: 0 });
    await device.leave();
  });
});

describe('the doctor', () => {
  async function examine(apiUrl: string, check: string): Promise<string[]> {
    const environment = await serveSettings({ ...settings, TILLGATE_RABBITMQ_API_URL: apiUrl });
    const { findings } = await diagnose({ environment, url: undefined, clock: systemClock, random: systemRandom });
    return findings.filter((finding) => finding.check === check).map(({ verdict, says }) => `${verdict}: ${says}`);
  }

  it('finds the limit of open files of RabbitMQ by the management API', { timeout: 90_000 }, async () => {
    // A node that has just started has not counted yet.
    await eventually(
      'the files are counted',
      () => examine(rabbitmq.apiUrl, 'open files'),
      (found) => found.some((says) => /^(ok|warning): RabbitMQ \S+@\S+ has \d+ of \d+ files open/.test(says)),
    );
    const wrong = Object.assign(new URL(rabbitmq.apiUrl), { password: 'not-the-password' }).href;
    expect(await examine(wrong, 'open files')).toContainEqual('warning: RabbitMQ does not report its limit: HTTP 401');
    expect(await examine(wrong, 'queue connections')).toEqual([
      expect.stringMatching(/^bad: .*does not allow tillgate to end connections \(HTTP 401\)/),
    ]);
  });
});

describe('messages by chance', () => {
  const seed = Number(process.env['TILLGATE_TEST_FUZZ_SEED'] ?? Date.now() % 1_000_000);
  const count = Number(process.env['TILLGATE_TEST_FUZZ_COUNT'] ?? 150);

  it(`on RabbitMQ end nothing, and a payment goes as always (TILLGATE_TEST_FUZZ_SEED=${seed})`, { timeout: 1_800_000 }, async () => {
    const device = await live('terminal', 'queue');
    const open = async () => device.join('queue', await connectAmqp(device));
    const fuzz = createMessageFuzz(shop, device, 'queue', open, await replyToOf(shop, device));
    // None is put aside unread, and enough of them arrive.
    const refused = async () =>
      (await Promise.all(['field', 'not-json', 'version', 'foreign-device'].map(dropped))).reduce((all, one) => all + one);
    const [refusedBefore, asideBefore] = [await refused(), await dropped('over-budget')];
    const perRound = 500;
    for (let done = 0; done < count; done += perRound) await fuzz(seed + done, Math.min(perRound, count - done));
    expect((await refused()) - refusedBefore).toBeGreaterThan(count / 10);
    expect(await dropped('over-budget')).toBe(asideBefore);
    await device.leave();
  });
});

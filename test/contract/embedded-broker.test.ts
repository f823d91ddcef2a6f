// The embedded MQTT broker keeps the channel's contract.
import { connect, connectAsync } from 'mqtt';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { EmbeddedBroker } from '../../src/link/channels/mqtt/embedded-broker.ts';
import { mqttTopics } from '../../src/link/protocol.ts';
import type { CommandMessage } from '../../src/link/wire-schemas.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { answerTo, channelContract, checkDevice, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { intrudeOverMqtt } from './mqtt-intruder.ts';
import { createRecorder } from './recorder.ts';
import { connectMqttDevice, type Login, mqttOptions } from './test-device.ts';

function create(check = checkDevice): EmbeddedBroker {
  return new EmbeddedBroker({ host: '127.0.0.1', port: 0, gatewayId, clock: systemClock, logger: quietLogger, checkDevice: check });
}
const urlOf = ({ port }: EmbeddedBroker) => `mqtt://127.0.0.1:${port}`;

channelContract(
  'embedded broker',
  async () => {
    let broker: EmbeddedBroker;
    return {
      createChannel() {
        broker = create();
        return broker;
      },
      connectDevice: (login) => connectMqttDevice(urlOf(broker), login),
      intrude: () => intrudeOverMqtt(urlOf(broker)),
      secondConnection: 'replaces',
      hearsOfDeath: true,
      async stop() {},
    };
  },
  'embedded',
);

describe('embedded broker, beyond the contract', () => {
  it('says clearly that its port is taken', async () => {
    const first = create();
    await first.start(createRecorder());
    const second = new EmbeddedBroker({
      host: '127.0.0.1',
      port: first.port,
      gatewayId,
      clock: systemClock,
      logger: quietLogger,
      checkDevice,
    });
    await expect(second.start(createRecorder())).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first.stop();
  });

  it('cuts off a device that was disabled', async () => {
    const broker = create();
    const recorder = createRecorder();
    await broker.start(recorder);
    const device = await connectMqttDevice(urlOf(broker), deviceA);
    broker.disconnectDevice(deviceA.deviceId);
    await device.ended;
    expect(await recorder.until(({ what }) => what === 'gone', 'gone')).toMatchObject({ deviceId: deviceA.deviceId });
    await broker.stop();
  });

  // A read that was made before the change may be answered after it, and then aedes takes a moment more to let the device in.
  it.each([
    ['in the same turn', (cut: () => void) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(cut)))],
    ['before the next turn', (cut: () => void) => process.nextTick(cut)],
    ['in the next turn', (cut: () => void) => void setImmediate(cut)],
    ['while its secret is judged', (cut: () => void) => cut()],
  ])('does not admit a device that is cut off while it logs in, nor publish its will: %s', async (_when, soon) => {
    let cuts = 0;
    const broker = create(async () => {
      cuts += 1;
      if (cuts === 1) soon(() => broker.disconnectDevice(deviceA.deviceId));
      return { merchantId: 'm' };
    });
    const recorder = createRecorder();
    await broker.start(recorder);
    const forged = JSON.stringify(answerTo(command(), deviceA.deviceId));
    const will = { topic: mqttTopics.answers(deviceA.deviceId, gatewayId), payload: Buffer.from(forged), qos: 0, retain: false } as const;
    const client = connect(urlOf(broker), { ...mqttOptions(deviceA), will });
    client.on('error', () => {});
    await new Promise<void>((resolve) => client.once('close', () => resolve()));
    await expect(broker.send(deviceA.deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'DeviceNotOnChannel' });
    // Its next login is judged after the change.
    const again = await connectMqttDevice(urlOf(broker), deviceA);
    again.presence({ v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() });
    await recorder.until(({ what }) => what === 'presence', 'presence');
    expect(recorder.told.filter(({ what }) => what === 'answer')).toEqual([]);
    await again.close();
    await broker.stop();
  });

  it('does not hear the will of a device that it cuts off', async () => {
    const broker = create();
    const recorder = createRecorder();
    await broker.start(recorder);
    const willing = async (login: Login) => {
      const payload = Buffer.from(JSON.stringify(answerTo(command(), login.deviceId)));
      const will = { topic: mqttTopics.answers(login.deviceId, gatewayId), payload, qos: 0, retain: false } as const;
      const client = await connectAsync(urlOf(broker), { ...mqttOptions(login), will });
      client.on('error', () => {});
      return client;
    };
    await willing(deviceA);
    const other = await willing(deviceB);
    broker.disconnectDevice(deviceA.deviceId);
    await recorder.until(({ what }) => what === 'gone', 'gone');
    other.stream.destroy();
    await recorder.until(({ what }) => what === 'answer', 'the will of the other');
    expect(recorder.told.filter(({ what }) => what === 'answer')).toMatchObject([{ deviceId: deviceB.deviceId }]);
    await broker.stop();
  });

  it('keeps nothing for a device that asks for a persistent session, and retains nothing', async () => {
    const broker = create();
    const recorder = createRecorder();
    await broker.start(recorder);
    const topic = `tillgate/devices/${deviceA.deviceId}/commands`;
    const stubborn = { ...mqttOptions(deviceA), clean: false };
    const first = await connectAsync(urlOf(broker), stubborn);
    await first.subscribeAsync(topic, { qos: 1 });
    await first.publishAsync(`tillgate/devices/${deviceA.deviceId}/presence`, JSON.stringify({ online: false }), { qos: 1, retain: true });
    await first.endAsync();
    await recorder.until(({ what }) => what === 'gone', 'gone');
    await expect(broker.send(deviceA.deviceId, command(), 60_000)).rejects.toMatchObject({ name: 'DeviceNotOnChannel' });
    const received: CommandMessage[] = [];
    const second = await connectAsync(urlOf(broker), stubborn);
    second.on('message', (_topic, payload) => received.push(JSON.parse(payload.toString())));
    await second.subscribeAsync(topic, { qos: 1 });
    const now = command();
    await broker.send(deviceA.deviceId, now, 5_000);
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(received).toEqual([now]);
    await second.endAsync();
    await broker.stop();
  });

  it('does not let a device in under another client id', async () => {
    const broker = create();
    await broker.start(createRecorder());
    await expect(connectAsync(urlOf(broker), { ...mqttOptions(deviceA), clientId: deviceB.deviceId })).rejects.toThrow();
    await broker.stop();
  });

  it('a login that cannot be judged is refused as unavailable, not as wrong', async () => {
    const broker = new EmbeddedBroker({
      host: '127.0.0.1',
      port: 0,
      gatewayId,
      clock: systemClock,
      logger: quietLogger,
      checkDevice: () => Promise.reject(new Error('database down')),
    });
    await broker.start(createRecorder());
    await expect(connectAsync(urlOf(broker), mqttOptions(deviceA))).rejects.toMatchObject({ code: 3 });
    await broker.stop();
  });

  it('a login too many is refused as unavailable, a wrong one as wrong', async () => {
    const broker = new EmbeddedBroker({
      host: '127.0.0.1',
      port: 0,
      gatewayId,
      clock: systemClock,
      logger: quietLogger,
      deviceLogins: 1,
      checkDevice: async (_deviceId, secret) => (secret === 'wrong' ? undefined : { merchantId: 'm' }),
    });
    await broker.start(createRecorder());
    await expect(connectAsync(urlOf(broker), { ...mqttOptions(deviceA), password: 'wrong' })).rejects.toMatchObject({ code: 4 });
    const first = await connectAsync(urlOf(broker), mqttOptions(deviceA));
    await expect(connectAsync(urlOf(broker), mqttOptions(deviceA))).rejects.toMatchObject({ code: 3 });
    await first.endAsync(true);
    await broker.stop();
  });
});

// Retained messages are ignored: the gateway as a client drops them, and the embedded broker stores none.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Aedes } from 'aedes';
import { connectAsync } from 'mqtt';
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/kernel/system.ts';
import { EmbeddedBroker } from '../../../src/link/channels/mqtt/embedded-broker.ts';
import { mqttTopics } from '../../../src/link/protocol.ts';
import { checkDevice, deviceA, gatewayId } from '../../contract/channel.ts';
import { createRecorder } from '../../contract/recorder.ts';
import { retainedCountsForNothing } from '../../contract/retained.ts';
import { mqttOptions } from '../../contract/test-device.ts';
import { quietLogger } from '../../support/quiet-logger.ts';

it('the gateway on an outside broker ignores retained messages', async () => {
  const outside = await Aedes.createBroker();
  const server = createServer(outside.handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await retainedCountsForNothing(url, url);
  await new Promise<void>((resolve) => outside.close(() => resolve()));
  server.close();
});

it('the embedded broker retains nothing, whatever a device asks for', async () => {
  const made = vi.spyOn(Aedes, 'createBroker');
  const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, gatewayId, clock: systemClock, logger: quietLogger, checkDevice });
  const recorder = createRecorder();
  await broker.start(recorder);
  const inside = await made.mock.results[0]?.value;
  made.mockRestore();
  const will = { topic: mqttTopics.presence(deviceA.deviceId), payload: Buffer.from('{"online":false}'), qos: 1 as const, retain: true };
  const device = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { ...mqttOptions(deviceA), will });
  for (const topic of [mqttTopics.presence(deviceA.deviceId), mqttTopics.answers(deviceA.deviceId, gatewayId)]) {
    await device.publishAsync(topic, '{"online":false}', { qos: 1, retain: true });
  }
  device.stream.destroy();
  await recorder.until(() => recorder.told.filter(({ what }) => what === 'gone' || what === 'presence').length >= 2, 'the end');
  const kept = await inside.persistence.createRetainedStream('#').toArray();
  expect(kept).toEqual([]);
  await broker.stop();
});

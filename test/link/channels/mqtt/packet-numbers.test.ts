// The number cache of mqtt-packet stays empty: it would keep 65,536 buffers from the first packet on.
import { createRequire } from 'node:module';
import { connectAsync } from 'mqtt';
import packets from 'mqtt-packet';
import { expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/kernel/system.ts';
import { EmbeddedBroker } from '../../../../src/link/channels/mqtt/embedded-broker.ts';
import { MqttChannel } from '../../../../src/link/channels/mqtt/mqtt.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { checkDevice, deviceA, gatewayId } from '../../../contract/channel.ts';
import { createRecorder } from '../../../contract/recorder.ts';
import { mqttOptions } from '../../../contract/test-device.ts';
import { freePort } from '../../../support/free-port.ts';
import { quietLogger } from '../../../support/quiet-logger.ts';

const { cache } = createRequire(import.meta.url)('mqtt-packet/numbers.js') as { cache: Record<string, unknown> };
const shared = { gatewayId, clock: systemClock, logger: quietLogger };

it('the embedded broker reads and writes packets without the number cache', async () => {
  // A client of another test file in this process may have filled it.
  for (const number of Object.keys(cache)) delete cache[number];
  const recorder = createRecorder();
  const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, ...shared, checkDevice });
  await broker.start(recorder);
  const device = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, mqttOptions(deviceA));
  await device.publishAsync(mqttTopics.presence(deviceA.deviceId), '{"online":true}', { qos: 1 });
  await recorder.until(() => recorder.told.length > 1, 'the message');
  await device.endAsync();
  await broker.stop();
  expect(Object.keys(cache).length).toBe(0);
});

it('the client of an outside broker disables the number cache, whether the broker is reachable or not', async () => {
  packets.writeToStream.cacheNumbers = true;
  const channel = new MqttChannel({ url: `mqtt://127.0.0.1:${await freePort()}`, ...shared, random: systemRandom });
  await channel.start(createRecorder());
  await channel.stop();
  expect(packets.writeToStream.cacheNumbers).toBe(false);
});

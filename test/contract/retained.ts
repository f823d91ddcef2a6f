// What somebody left behind on a broker is no sign of life and no answer: for every MQTT channel of the gateway, on any broker that keeps such messages.
import { connectAsync } from 'mqtt';
import { expect } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { mqttTopics } from '../../src/link/protocol.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { answerTo, command, deviceA, gatewayId } from './channel.ts';
import { createRecorder } from './recorder.ts';
import { mqttOptions } from './test-device.ts';

export async function retainedCountsForNothing(deviceUrl: string, gatewayUrl: string): Promise<void> {
  const { deviceId } = deviceA;
  const device = await connectAsync(deviceUrl, mqttOptions(deviceA));
  const presence = (battery: number) => JSON.stringify({ v: 1, device: deviceId, online: true, clock: new Date().toISOString(), battery });
  const old = JSON.stringify(answerTo(command(), deviceId));
  await device.publishAsync(mqttTopics.presence(deviceId), presence(1), { qos: 1, retain: true });
  await device.publishAsync(mqttTopics.answers(deviceId, gatewayId), old, { qos: 1, retain: true });

  const recorder = createRecorder();
  const channel = new MqttChannel({ url: gatewayUrl, gatewayId, clock: systemClock, random: systemRandom, logger: quietLogger });
  await channel.start(recorder);
  await recorder.until(() => recorder.told.filter(({ what }) => what === 'dropped').length === 2, 'both dropped');
  await device.publishAsync(mqttTopics.presence(deviceId), presence(2), { qos: 1 });
  await recorder.until(({ what }) => what === 'presence', 'the live presence');
  expect(recorder.told.filter(({ what }) => what !== 'up')).toEqual([
    { what: 'dropped', reason: 'retained' },
    { what: 'dropped', reason: 'retained' },
    { what: 'presence', deviceId, presence: expect.objectContaining({ battery: 2 }) },
  ]);
  await channel.stop();
  await device.endAsync();
}

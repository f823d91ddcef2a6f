// Device A trying, over MQTT, to speak for device B and to hear B's commands. Each try has its own connection: brokers differ in whether a denial ends it.
import { connectAsync, type MqttClient } from 'mqtt';
import { mqttTopics } from '../../src/link/protocol.ts';
import type { CommandMessage } from '../../src/link/wire-schemas.ts';
import { answerTo, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { mqttOptions } from './test-device.ts';

type TopicName = keyof typeof mqttTopics;

/** What device A says in the name of B, for every topic that the protocol has: a new one needs its line. */
const forged: Record<TopicName, () => string> = {
  answers: () => JSON.stringify(answerTo(command(), deviceB.deviceId)),
  presence: () => JSON.stringify({ v: 1, device: deviceB.deviceId, online: true, clock: new Date().toISOString() }),
  commands: () => JSON.stringify(command({ name: 'Pay' })),
};

/** Every topic of B, with what A would say there. */
export const foreignTopics = Object.entries(forged).map(
  ([name, text]) => [mqttTopics[name as TopicName](deviceB.deviceId, gatewayId), text] as const,
);

const foreignFilters = [
  ...foreignTopics.map(([topic]) => topic),
  mqttTopics.commands('+'),
  `tillgate/devices/${deviceB.deviceId}/#`,
  '#',
  '+/+/+/commands',
  '$SYS/#',
];

export async function intrudeOverMqtt(url: string): Promise<{ overheard: () => CommandMessage[]; end(): Promise<void> }> {
  const overheard: CommandMessage[] = [];
  const listen = (client: MqttClient) =>
    client.on('message', (topic, payload) => {
      if (topic === mqttTopics.commands(deviceB.deviceId)) overheard.push(JSON.parse(payload.toString()));
    });
  for (const [topic, text] of foreignTopics) {
    for (const qos of [0, 1] as const) {
      const client = await connectAsync(url, mqttOptions(deviceA));
      client.on('error', () => {});
      const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
      // Answered, ignored or cut off: afterwards a ping-like round trip shows that the broker has dealt with it.
      await Promise.race([client.publishAsync(topic, text(), { qos }).catch(() => {}), closed]);
      await Promise.race([client.subscribeAsync(mqttTopics.commands(deviceA.deviceId)).catch(() => {}), closed]);
      client.end(true);
    }
  }
  const client = await connectAsync(url, mqttOptions(deviceA));
  client.on('error', () => {});
  listen(client);
  let current = client;
  for (const filter of foreignFilters) {
    if (!current.connected) {
      current = await connectAsync(url, mqttOptions(deviceA));
      current.on('error', () => {});
      listen(current);
    }
    const closed = new Promise<void>((resolve) => current.once('close', () => resolve()));
    await Promise.race([current.subscribeAsync(filter, { qos: 0 }).catch(() => {}), closed]);
  }
  return {
    overheard: () => overheard,
    async end() {
      current.end(true);
    },
  };
}

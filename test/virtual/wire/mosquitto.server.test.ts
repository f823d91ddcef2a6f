import mqtt from 'mqtt';
import { describe } from 'vitest';
import { createMqttConnector } from '../../../src/virtual/wire/mqtt.ts';
import { startMosquitto } from '../../support/servers/mosquitto.ts';
import { connectorContract, contractDevice, type GatewaySide } from './connector-contract.ts';

async function openMosquitto(): Promise<GatewaySide> {
  const { deviceId, secret } = contractDevice;
  const server = await startMosquitto({ users: { [deviceId]: secret, gateway: 'g' } });
  const side: Pick<GatewaySide, 'answers' | 'presences'> = { answers: [], presences: [] };
  const client = await mqtt.connectAsync(server.url, { protocolVersion: 4, username: 'gateway', password: 'g', reconnectPeriod: 100 });
  client.on('message', (topic, payload) => {
    const [, , , kind, replyTo] = topic.split('/');
    const message = JSON.parse(payload.toString());
    if (kind === 'answers') side.answers.push({ replyTo, answer: message });
    if (kind === 'presence') side.presences.push(message);
  });
  await client.subscribeAsync(['tillgate/devices/+/answers/+', 'tillgate/devices/+/presence'], { qos: 1 });
  return {
    ...side,
    url: server.url,
    saysGoodbye: true,
    send: async (bytes) => {
      await client.publishAsync(`tillgate/devices/${deviceId}/commands`, bytes, { qos: 0 });
    },
    cut: async () => {
      const back = new Promise((resolve) => client.once('connect', resolve));
      await server.kill9();
      await server.restart();
      await back;
    },
    async stop() {
      await client.endAsync(true);
      await server.stop();
    },
  };
}

describe('MQTT connector on Mosquitto', () => {
  connectorContract(openMosquitto, createMqttConnector);
});

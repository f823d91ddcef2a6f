import { createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/kernel/system.ts';
import { createMqttConnector } from '../../../src/virtual/wire/mqtt.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { until } from '../../support/until.ts';
import { connectorContract, contractDevice, type GatewaySide } from './connector-contract.ts';

async function openBroker(): Promise<GatewaySide & { broker: Aedes }> {
  const broker = await Aedes.createBroker();
  const sockets = new Set<Socket>();
  broker.authenticate = (client, username, password, done) => {
    const { deviceId, secret } = contractDevice;
    done(null, client?.id === deviceId && username === deviceId && password?.toString() === secret);
  };
  const side: Pick<GatewaySide, 'answers' | 'presences'> = { answers: [], presences: [] };
  broker.subscribe(
    'tillgate/devices/#',
    (packet, done) => {
      const [, , , kind, replyTo] = packet.topic.split('/');
      const message = JSON.parse(packet.payload.toString());
      if (kind === 'answers') side.answers.push({ replyTo, answer: message });
      if (kind === 'presence') side.presences.push(message);
      done();
    },
    () => {},
  );
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    broker.handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    ...side,
    broker,
    url: `mqtt://127.0.0.1:${port}`,
    saysGoodbye: true,
    send: (payload) => publish(broker, payload, false),
    async cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => broker.close(() => server.close(resolve)));
    },
  };
}

function publish(broker: Aedes, payload: Buffer, retain: boolean): Promise<void> {
  const topic = `tillgate/devices/${contractDevice.deviceId}/commands`;
  return new Promise((resolve, reject) => {
    broker.publish({ cmd: 'publish', topic, payload, qos: 0, retain, dup: false }, (error) => (error ? reject(error) : resolve()));
  });
}

describe('MQTT connector on the embedded broker', () => {
  connectorContract(openBroker, createMqttConnector);

  it('ignores a retained command, and says itself that it goes when it stops', async () => {
    const side = await openBroker();
    await publish(side.broker, Buffer.from('{"old":true}'), true);
    const connector = createMqttConnector({
      ...contractDevice,
      url: side.url,
      clock: systemClock,
      random: systemRandom,
      logger: quietLogger,
    });
    const commands: string[] = [];
    connector.start({ connected() {}, disconnected() {}, command: (bytes) => commands.push(Buffer.from(bytes).toString()) });
    await until(() => connector.isConnected);
    await side.send(Buffer.from('{"new":true}'));
    await until(() => commands.length === 1);
    expect(commands).toEqual(['{"new":true}']);
    await connector.stop();
    await until(() => side.presences.length === 1);
    expect(side.presences).toEqual([{ v: 1, device: contractDevice.deviceId, online: false }]);
    await side.stop();
  });
});

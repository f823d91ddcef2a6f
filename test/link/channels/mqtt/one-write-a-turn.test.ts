// What the gateway writes to an outside broker, as the system sees it: many acknowledgements in one write.
import { createServer, Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/kernel/system.ts';
import { MqttChannel } from '../../../../src/link/channels/mqtt/mqtt.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { createRecorder } from '../../../contract/recorder.ts';
import { quietLogger } from '../../../support/quiet-logger.ts';
import { until } from '../../../support/until.ts';
import { deviceId } from '../../link-bench.ts';

const messages = 30;
const type = { connect: 1, publish: 3, puback: 4, subscribe: 8 };

/** A presence at QoS 1. */
function presence(id: number): Buffer {
  const topic = Buffer.from(mqttTopics.presence(deviceId));
  const body = Buffer.concat([Buffer.from([0, topic.length]), topic, Buffer.from([0, id]), Buffer.from('{"online":false}')]);
  return Buffer.concat([Buffer.from([(type.publish << 4) | 2, body.length]), body]);
}

it('messages that arrive together are acknowledged in one write', async () => {
  let received = Buffer.alloc(0);
  let broker: Socket | undefined;
  const server = createServer((socket) => {
    broker = socket;
    socket.on('data', (chunk) => {
      const kind = (chunk[0] ?? 0) >> 4;
      if (kind === type.connect) socket.write(Buffer.from([0x20, 2, 0, 0]));
      else if (kind === type.subscribe) socket.write(Buffer.from([0x90, 4, chunk[2] ?? 0, chunk[3] ?? 0, 1, 1]));
      else received = Buffer.concat([received, chunk]);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const options = { gatewayId: 'gateway-1', clock: systemClock, random: systemRandom, logger: quietLogger };
  const channel = new MqttChannel({ url: `mqtt://127.0.0.1:${port}`, ...options });
  const recorder = createRecorder();
  await channel.start(recorder);
  await until(() => channel.isConnected);

  const writes = vi.spyOn(Socket.prototype as unknown as { _writeGeneric(): void }, '_writeGeneric');
  try {
    broker?.write(Buffer.concat(Array.from({ length: messages }, (_, id) => presence(id + 1))));
    await until(() => received.length === messages * 4);
    expect(received[0]).toBe(type.puback << 4);
    expect(writes.mock.contexts.filter((socket) => (socket as Socket).remotePort === port).length).toBe(1);
  } finally {
    writes.mockRestore();
    await channel.stop();
    broker?.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});

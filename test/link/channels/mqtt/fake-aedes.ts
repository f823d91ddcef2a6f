// An embedded broker on a fake aedes, with fake clients: both record the calls.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Aedes, type AedesOptions, type Client } from 'aedes';
import { vi } from 'vitest';
import type { ChannelListener } from '../../../../src/link/channel.ts';
import { EmbeddedBroker, type EmbeddedBrokerOptions } from '../../../../src/link/channels/mqtt/embedded-broker.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { deviceA, gatewayId } from '../../../contract/channel.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

export const { deviceId } = deviceA;
export const other = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb';

class FakeAedes extends EventEmitter {
  closes = 0;
  clients = 0;
  latest: FakeClient | undefined;
  mayClose = Promise.resolve();

  handle = (socket: Socket) => {
    const client = new FakeClient();
    client.conn = socket;
    this.latest = client;
    socket.on('readable', () => void socket.read());
    // Only the first client logs in.
    if (this.clients === 0) this.emit('client', client);
    this.clients += 1;
    return client;
  };

  close(done: () => void): void {
    this.closes += 1;
    void this.mayClose.then(done);
  }
}

export class FakeClient {
  closed = false;
  closes = 0;
  conn = { writableLength: 0 };
  readonly published: { packet: Record<string, unknown>; done(): void }[] = [];
  readonly id: string;

  constructor(id: string = deviceId) {
    this.id = id;
  }

  publish(packet: Record<string, unknown>, done: () => void): void {
    this.published.push({ packet, done });
  }

  close(): void {
    this.closes += 1;
  }

  asClient = () => this as unknown as Client;
}

export interface Bench {
  clock: VirtualClock;
  logger: RecordingLogger;
  /** The calls of the listener, with their arguments. */
  told: unknown[][];
  listener: ChannelListener;
  aedes: FakeAedes;
  /** The options with which aedes was created. */
  rules: AedesOptions;
  broker: EmbeddedBroker;
  /** Without a port: only the test adds clients. */
  make(options?: Partial<EmbeddedBrokerOptions>): EmbeddedBroker;
  /** Creates a broker and starts it. */
  open(options?: Partial<EmbeddedBrokerOptions>): Promise<void>;
  /** Adds a device that has logged in and subscribed. */
  present(id?: string): FakeClient;
}

export function createBench(): Bench {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const logger = recordingLogger();
  const told: unknown[][] = [];
  const tell =
    (what: string) =>
    (...args: unknown[]) =>
      void told.push([what, ...args]);
  const listener: ChannelListener = {
    offer: (_channel, _deviceId, message) => message.read(),
    ...{ answer: tell('answer'), presence: tell('presence'), gone: tell('gone'), up: tell('up'), down: tell('down') },
    dropped: tell('dropped'),
  };
  const aedes = new FakeAedes();
  const make: Bench['make'] = (options = {}) =>
    new EmbeddedBroker({
      host: '127.0.0.1',
      port: undefined,
      gatewayId,
      clock,
      logger,
      checkDevice: async () => ({ merchantId: 'm' }),
      ...options,
    });
  const bench: Bench = {
    ...{ clock, logger, told, listener, aedes, rules: {}, make, broker: make() },
    async open(options) {
      bench.broker = make(options);
      await bench.broker.start(listener);
      told.length = 0;
    },
    present(id = deviceId) {
      const client = new FakeClient(id);
      aedes.emit('client', client);
      aedes.emit('subscribe', [{ topic: mqttTopics.commands(id), qos: 0 }], client);
      return client;
    },
  };
  vi.spyOn(Aedes, 'createBroker').mockImplementation(async (options) => {
    bench.rules = options ?? {};
    return aedes as unknown as Aedes;
  });
  return bench;
}

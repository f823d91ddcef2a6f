// A broker in memory, with its gateways and its devices: the port of src/link on one side, the connector of src/virtual on the other.
// Like real brokers: nothing is stored for an offline device, and messages in transit are lost with their connection.
import type { Clock } from '../src/kernel/clock.ts';
import type { Logger } from '../src/kernel/logger.ts';
import type { Random } from '../src/kernel/random.ts';
import { type Channel, ChannelDown, type ChannelListener, type ChannelName, DeviceNotOnChannel, SendUnclear } from '../src/link/channel.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../src/link/wire-schemas.ts';
import { type Connector, createReconnecting, type WireListener } from '../src/virtual/client/connector.ts';

/** The current faults of the network. */
export interface Weather {
  lossRate: number;
  duplicateRate: number;
  /** The share of sends that fail with an unknown result. */
  unclearRate: number;
  shortestDelayMs: number;
  maxDelayMs: number;
}

export const fairWeather: Readonly<Weather> = { lossRate: 0, duplicateRate: 0, unclearRate: 0, shortestDelayMs: 1, maxDelayMs: 1 };

export type Passing =
  | { kind: 'command'; channel: ChannelName; deviceId: string; message: CommandMessage }
  | { kind: 'answer'; channel: ChannelName; deviceId: string; message: AnswerMessage };

export interface WireOptions {
  clock: Clock;
  random: Random;
  logger: Logger;
  weather?: () => Weather;
  /** A device without a journal gets each command at most once, as QoS 0 and a queue without acks promise. */
  mayDouble?: (deviceId: string) => boolean;
  /** Observes every command of a gateway and every answer of a device. */
  onPassing?: (passing: Passing) => void;
  /** May change an answer before it is sent; for tests with a faulty device. */
  onAnswer?: (answer: AnswerMessage, deviceId: string) => AnswerMessage | undefined;
}

interface Connection {
  listener: WireListener;
}

interface Attachment {
  listener: ChannelListener;
  isConnected: boolean;
}

export interface MemoryWire {
  readonly name: ChannelName;
  /** A gateway's end. */
  channel(gatewayId: string): Channel;
  /** A device's end. */
  connector(deviceId: string): Connector;
  /** While cut, the device has no connection and gets none. */
  setDeviceCut(deviceId: string, isCut: boolean): void;
  /** While mute, the device receives everything and nothing that it sends gets through. */
  setDeviceMute(deviceId: string, isMute: boolean): void;
  /** While deaf, nothing that a gateway sends reaches the device; what it sends itself gets through. */
  setDeviceDeaf(deviceId: string, isDeaf: boolean): void;
  setGatewayCut(gatewayId: string, isCut: boolean): void;
  /** The gateway's process has died: no disconnect message, and none of its messages counts any more. */
  forgetGateway(gatewayId: string): void;
  /** The broker itself restarts, or was embedded in the gateway that died. */
  dropAllDevices(): void;
  isConnected(deviceId: string): boolean;
  /** An answer on the device's own topic, delivered to every gateway at once. */
  sayAs(deviceId: string, answer: AnswerMessage): void;
}

export function createMemoryWire(name: ChannelName, options: WireOptions): MemoryWire {
  const { clock, random, weather = () => fairWeather, mayDouble = () => true } = options;
  const connections = new Map<string, Connection>();
  const cutDevices = new Set<string>();
  const muteDevices = new Set<string>();
  const deafDevices = new Set<string>();
  const gateways = new Map<string, Attachment>();

  function travel(deliver: () => void, mayBeDoubled: boolean): void {
    const { lossRate, duplicateRate, shortestDelayMs, maxDelayMs } = weather();
    if (lossRate > 0 && random.fraction() < lossRate) return;
    const copies = mayBeDoubled && duplicateRate > 0 && random.fraction() < duplicateRate ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const spread = maxDelayMs - shortestDelayMs;
      clock.after(shortestDelayMs + (spread > 0 ? Math.floor(random.fraction() ** 3 * spread) : 0), deliver);
    }
  }

  function toGateways(say: (listener: ChannelListener) => void, gatewayId?: string): void {
    for (const [id, gateway] of [...gateways])
      if (gateway.isConnected && (gatewayId === undefined || id === gatewayId)) say(gateway.listener);
  }

  function leave(deviceId: string, connection: Connection): void {
    if (connections.get(deviceId) !== connection) return;
    connections.delete(deviceId);
    // The will, or the closed socket.
    travel(() => {
      if (!connections.has(deviceId)) toGateways((listener) => listener.gone(name, deviceId));
    }, false);
  }

  function lose(deviceId: string): void {
    const connection = connections.get(deviceId);
    if (!connection) return;
    leave(deviceId, connection);
    connection.listener.lost();
  }

  function toDevice(deviceId: string, command: CommandMessage): void {
    const connection = connections.get(deviceId);
    if (!connection || deafDevices.has(deviceId)) return;
    const bytes = Buffer.from(JSON.stringify(command));
    travel(() => {
      if (connections.get(deviceId) === connection) connection.listener.command(bytes);
    }, mayDouble(deviceId));
  }

  function fromDevice(deviceId: string, connection: Connection, say: (listener: ChannelListener) => void, gatewayId?: string): void {
    if (connections.get(deviceId) !== connection) throw new Error('The connection is gone.');
    if (!muteDevices.has(deviceId)) travel(() => toGateways(say, gatewayId), true);
  }

  const end: End = { name, options, connections, cutDevices, gateways, weather, lose, leave, toDevice, fromDevice };
  return {
    name,
    channel: (gatewayId) => gatewayEnd(end, gatewayId),
    connector: (deviceId) => deviceEnd(end, deviceId),

    setDeviceCut(deviceId, isCut) {
      if (isCut) cutDevices.add(deviceId);
      else cutDevices.delete(deviceId);
      if (isCut) lose(deviceId);
    },

    setDeviceMute(deviceId, isMute) {
      if (isMute) muteDevices.add(deviceId);
      else muteDevices.delete(deviceId);
    },

    setDeviceDeaf(deviceId, isDeaf) {
      if (isDeaf) deafDevices.add(deviceId);
      else deafDevices.delete(deviceId);
    },

    setGatewayCut(gatewayId, isCut) {
      const gateway = gateways.get(gatewayId);
      if (!gateway || gateway.isConnected === !isCut) return;
      gateway.isConnected = !isCut;
      if (isCut) gateway.listener.down(name);
      else gateway.listener.up(name);
    },

    forgetGateway: (gatewayId) => {
      gateways.delete(gatewayId);
    },

    dropAllDevices() {
      for (const deviceId of [...connections.keys()]) lose(deviceId);
    },

    isConnected: (deviceId) => connections.has(deviceId),
    sayAs: (deviceId, answer) => toGateways((listener) => listener.answer(name, deviceId, answer)),
  };
}

/** The state that both sides share. */
interface End {
  name: ChannelName;
  options: WireOptions;
  connections: Map<string, Connection>;
  cutDevices: ReadonlySet<string>;
  gateways: Map<string, Attachment>;
  weather(): Weather;
  lose(deviceId: string): void;
  leave(deviceId: string, connection: Connection): void;
  toDevice(deviceId: string, command: CommandMessage): void;
  fromDevice(deviceId: string, connection: Connection, say: (listener: ChannelListener) => void, gatewayId?: string): void;
}

function gatewayEnd({ name, options, connections, gateways, weather, lose, toDevice }: End, gatewayId: string): Channel {
  return {
    name,
    tellsAbsence: name === 'queue',
    get isConnected() {
      return gateways.get(gatewayId)?.isConnected ?? false;
    },
    async start(listener) {
      gateways.set(gatewayId, { listener, isConnected: true });
      listener.up(name);
    },
    async stop() {
      gateways.delete(gatewayId);
    },
    async send(deviceId, command) {
      if (!gateways.get(gatewayId)?.isConnected) throw new ChannelDown(name);
      if (name === 'queue' && !connections.has(deviceId)) throw new DeviceNotOnChannel(name);
      options.onPassing?.({ kind: 'command', channel: name, deviceId, message: command });
      const { unclearRate } = weather();
      if (unclearRate > 0 && options.random.fraction() < unclearRate) {
        if (options.random.fraction() < 0.5) toDevice(deviceId, command);
        throw new SendUnclear(name);
      }
      toDevice(deviceId, command);
    },
    disconnectDevice: lose,
  };
}

function deviceEnd({ name, options, connections, cutDevices, lose, leave, fromDevice }: End, deviceId: string): Connector {
  const { clock, random, logger } = options;
  return createReconnecting({
    clock,
    random,
    logger,
    deviceId,
    channel: name,
    async connect(listener) {
      if (cutDevices.has(deviceId)) throw new Error('No network.');
      const connection: Connection = { listener };
      lose(deviceId);
      connections.set(deviceId, connection);
      return {
        sendAnswer(answer: AnswerMessage, replyTo: string) {
          const message = options.onAnswer ? options.onAnswer(answer, deviceId) : answer;
          if (message === undefined) return;
          options.onPassing?.({ kind: 'answer', channel: name, deviceId, message });
          const copy = structuredClone(message);
          fromDevice(deviceId, connection, (gateway) => gateway.answer(name, deviceId, copy), replyTo);
        },
        sendPresence(presence: PresenceMessage) {
          fromDevice(deviceId, connection, (gateway) => gateway.presence(name, deviceId, presence));
        },
        close: async () => leave(deviceId, connection),
        destroy: () => leave(deviceId, connection),
      };
    },
  });
}

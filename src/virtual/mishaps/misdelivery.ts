// Answers that go astray on purpose: the device believes that it answered, and the wire carries none, or two.
// It sits between the device and one channel, so a watcher of the wire sees the fate of each message.
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import type { Connector, DeviceChannel } from '../client/connector.ts';

export type Fate = 'carried' | 'lost' | 'doubled';

/** Sees what runs over the wire of one device, both ways; it changes nothing. */
export interface WireWatch {
  toDevice(channel: DeviceChannel, bytes: Uint8Array): void;
  toGateway(channel: DeviceChannel, answer: AnswerMessage, fate: Fate): void;
  /** The channel came up, or was lost. */
  channelChanged(channel: DeviceChannel): void;
}

export interface Misdelivery {
  /** The next ending answer of this command is lost. */
  lose(commandId: string): void;
  /** The next ending answer of this command goes out twice. */
  double(commandId: string): void;
  /** How many copies of this answer the wire gets; asked once for each answer. */
  copiesOf(answer: AnswerMessage): number;
}

/** A command of the device's own has no receiver, so its entry would stay. */
const maxEntries = 100;

export function createMisdelivery(): Misdelivery {
  const copies = new Map<string, number>();
  function set(commandId: string, count: number): void {
    copies.set(commandId, count);
    const [oldest] = copies.keys();
    if (copies.size > maxEntries && oldest !== undefined) copies.delete(oldest);
  }
  return {
    lose: (commandId) => set(commandId, 0),
    double: (commandId) => set(commandId, 2),
    copiesOf(answer) {
      if (answer.outcome === 'accepted') return 1;
      const count = copies.get(answer.id) ?? 1;
      copies.delete(answer.id);
      return count;
    },
  };
}

/** The same connector, with answers that go astray, watched. */
export function withMisdelivery(connector: Connector, misdelivery: Misdelivery, watch: WireWatch | undefined): Connector {
  const { channel } = connector;
  return {
    channel,
    get isConnected() {
      return connector.isConnected;
    },
    start: (listener) =>
      connector.start({
        connected() {
          watch?.channelChanged(channel);
          listener.connected();
        },
        disconnected() {
          watch?.channelChanged(channel);
          listener.disconnected();
        },
        command(bytes) {
          watch?.toDevice(channel, bytes);
          listener.command(bytes);
        },
      }),
    sendAnswer(answer, replyTo) {
      // Without a connection it is not this channel that loses it.
      if (!connector.isConnected) return false;
      const copies = misdelivery.copiesOf(answer);
      if (copies === 0) {
        watch?.toGateway(channel, answer, 'lost');
        return true;
      }
      let wasSent = false;
      for (let copy = 0; copy < copies; copy += 1) wasSent = connector.sendAnswer(answer, replyTo) || wasSent;
      if (wasSent) watch?.toGateway(channel, answer, copies > 1 ? 'doubled' : 'carried');
      return wasSent;
    },
    sendPresence: (presence) => connector.sendPresence(presence),
    stop: () => connector.stop(),
    drop: () => connector.drop(),
  };
}

// Loses or duplicates answers on purpose: the device has answered, but none or two copies are sent.
// It is between the device and one channel, so an observer sees whether each message was lost.
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import type { Connector, DeviceChannel } from '../client/connector.ts';

export type Fate = 'carried' | 'lost' | 'doubled';

/** Observes the messages of one device in both directions. */
export interface WireWatch {
  toDevice(channel: DeviceChannel, bytes: Uint8Array): void;
  toGateway(channel: DeviceChannel, answer: AnswerMessage, fate: Fate): void;
  /** The channel was connected or lost. */
  channelChanged(channel: DeviceChannel): void;
}

export type Misdelivery = ReturnType<typeof createMisdelivery>;

/** Bounded, because a local command has no receiver and its entry would never be removed. */
const maxEntries = 100;

export function createMisdelivery() {
  const copies = new BoundedMap<string, number>(maxEntries);
  return {
    /** The next ending answer of this command is lost. */
    lose: (commandId: string) => void copies.set(commandId, 0),
    /** The next ending answer of this command is sent twice. */
    double: (commandId: string) => void copies.set(commandId, 2),
    /** Number of copies to send of this answer; called once per answer. */
    copiesOf(answer: AnswerMessage): number {
      if (answer.outcome === 'accepted') return 1;
      const count = copies.get(answer.id) ?? 1;
      copies.delete(answer.id);
      return count;
    },
  };
}

/** The connector with lost and duplicated answers, and an observer. */
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
      // Without a connection the answer is not lost here.
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

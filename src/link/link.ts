// Sends commands to devices and receives their answers, over the channel on which the device is connected.
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { Carry } from './carrying/carry.ts';
import { type Deadlines, fixDeadlines } from './carrying/deadlines.ts';
import type { CarryResult, Delivery } from './carrying/delivery.ts';
import { type AskedCommand, PlainCommands } from './carrying/plain-commands.ts';
import type { Channel, ChannelName } from './channel.ts';
import { createDropCounts, type DeviceDrops, type DropNote, type Drops } from './drop-counts.ts';
import { Incoming, type LateAnswerListener, type SeenListener } from './incoming.ts';
import { createPresenceBook, type PresenceBook } from './presence.ts';
import { createWaitingRoom } from './waiting.ts';
import type { AnswerMessage } from './wire-schemas.ts';

export interface LinkStats {
  waitingCalls: number;
  liveDevices: number;
  connected: Record<ChannelName, boolean>;
  /** By drop reason. */
  dropped: Drops;
}

export interface Link {
  start(): Promise<void>;
  /** Ends every waiting call: carry() as silent, ask() as undefined. */
  stop(): Promise<void>;
  /** The channel of the device: live, or found by a probe of 2 s; undefined: none. Throws Too_Many_Requests if too many calls wait. */
  locate(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined>;
  /** Fixes startBy and answerBy of a command, counted from now; call it before its row is committed [D65]. */
  deadlines(deviceId: string, answerWithinMs: number): Deadlines;
  /** Never throws; returns exactly one result. If too many calls wait, it is `not-sent`. */
  carry(delivery: Delivery): Promise<CarryResult>;
  /** undefined: no answer in time. Throws Too_Many_Requests if too many calls wait. */
  ask(deviceId: string, command: AskedCommand): Promise<AnswerMessage | undefined>;
  /** Answers that no call waits for, including `accepted`: late, duplicate, or for another instance. Returns a function that stops listening. */
  onLateAnswer(listener: LateAnswerListener): () => void;
  onSeen(listener: SeenListener): () => void;
  readonly presence: Pick<PresenceBook, 'of' | 'all' | 'journalOf' | 'isLiveAnywhere'>;
  /** Ends the connections of a disabled device, or of one with a new secret, on channels whose connections the gateway holds. */
  disconnectDevice(deviceId: string): void;
  /** Dropped messages of this device by reason, while they are in memory. */
  droppedOf(deviceId: string): DeviceDrops;
  /** Dropped messages of this device, one note per kind, newest first. */
  dropNotesOf(deviceId: string): DropNote[];
  /** Whether the gateway's own connection of each channel is up. */
  connected(): LinkStats['connected'];
  stats(): LinkStats;
}

export interface LinkDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** This instance's id: the replyTo of every command. */
  gatewayId: string;
  /** At most one per name. */
  channels: readonly Channel[];
  maxWaiting?: number;
  deviceMessagesPerS?: number;
  /** See `Incoming`. */
  onExcess?: ((deviceId: string, bytes: number) => void) | undefined;
}

const defaultMaxWaiting = 10_000;
const defaultDeviceMessagesPerS = 20;

export function createLink(deps: LinkDeps): Link {
  const { clock, random, logger, gatewayId, channels, deviceMessagesPerS = defaultDeviceMessagesPerS } = deps;
  const book = createPresenceBook({ clock, channels: channels.map(({ name }) => name) });
  const waiting = createWaitingRoom(deps.maxWaiting ?? defaultMaxWaiting);
  const carries = new Set<Carry>();
  const drops = createDropCounts(clock);
  const shared = { clock, random, logger, gatewayId, channels, book, waiting };
  const plainCommands = new PlainCommands(shared);
  const incoming = new Incoming({
    ...shared,
    deviceMessagesPerS,
    onExcess: deps.onExcess,
    drops,
    underWay: carries,
    onReceived: (deviceId, channel) => plainCommands.received(deviceId, channel),
  });
  let isStopped = false;
  const connected = () => ({ mqtt: isConnected(channels, 'mqtt'), queue: isConnected(channels, 'queue') });

  return {
    async start() {
      isStopped = false;
      const started = await Promise.allSettled(channels.map((channel) => channel.start(incoming)));
      const failed = started.find((attempt) => attempt.status === 'rejected');
      if (failed === undefined) return;
      await Promise.all(channels.map((channel) => channel.stop()));
      throw failed.reason;
    },

    async stop() {
      isStopped = true;
      plainCommands.stop();
      incoming.stop();
      for (const carry of [...carries]) carry.stop();
      await Promise.all(channels.map((channel) => channel.stop()));
    },

    locate: (deviceId, preferred) => plainCommands.locate(deviceId, preferred),
    ask: (deviceId, command) => plainCommands.ask(deviceId, command),
    deadlines: (deviceId, answerWithinMs) => fixDeadlines(clock, book.clockOffsetMs(deviceId), answerWithinMs),

    async carry(delivery) {
      if (isStopped) return { kind: 'not-sent', reason: 'The gateway is stopping.' };
      if (waiting.isFull) return { kind: 'not-sent', reason: 'The gateway is waiting for too many answers.' };
      const carry = new Carry(shared, delivery);
      carries.add(carry);
      try {
        return await carry.result;
      } finally {
        carries.delete(carry);
      }
    },

    onLateAnswer: (listen) => incoming.onLateAnswer(listen),
    onSeen: (listen) => incoming.onSeen(listen),
    presence: { of: book.of, all: book.all, journalOf: book.journalOf, isLiveAnywhere: book.isLiveAnywhere },
    droppedOf: drops.of,
    dropNotesOf: drops.notesOf,

    disconnectDevice(deviceId) {
      for (const channel of channels) channel.disconnectDevice?.(deviceId);
    },

    connected,
    stats: () => ({
      waitingCalls: waiting.size,
      liveDevices: book.liveCount(),
      connected: connected(),
      dropped: drops.inAll(),
    }),
  };
}

function isConnected(channels: readonly Channel[], wanted: ChannelName): boolean {
  return channels.some((channel) => channel.name === wanted && channel.isConnected);
}

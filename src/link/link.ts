// The way to a device and home again for commands and questions, over whichever channel has the device.
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import { createQuestions, type Question } from './ask.ts';
import { Carry } from './carry.ts';
import type { Channel, ChannelListener, ChannelName } from './channel.ts';
import type { CarryResult, Delivery } from './delivery.ts';
import { createDropCounts, type Drops } from './drop-counts.ts';
import { type Fence, raiseFence } from './fence.ts';
import { createIntake } from './intake.ts';
import { createPresenceBook, type DeviceSnapshot, type Sighting } from './presence.ts';
import { createWaitingRoom } from './waiting.ts';
import type { AnswerMessage } from './wire-schemas.ts';

export type LateAnswerListener = (deviceId: string, answer: AnswerMessage, channel: ChannelName) => void;
/** Called at a device's first message, at a reconnect and at a new bootId. */
export type SeenListener = (deviceId: string, snapshot: DeviceSnapshot) => void;

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
  /** Where the device is: live, or found by a probe of 2 s. undefined: nowhere. Throws Too_Many_Requests when too many calls wait. */
  locate(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined>;
  /** Fixes startBy and answerBy of a command, counted from now; call it before its row is committed [D65]. */
  fence(deviceId: string, answerWithinMs: number): Fence;
  /** Never throws; gives exactly one result. A full waiting room is `not-sent`. */
  carry(delivery: Delivery): Promise<CarryResult>;
  /** undefined: no answer in time. Throws Too_Many_Requests when too many calls wait. */
  ask(deviceId: string, question: Question): Promise<AnswerMessage | undefined>;
  /** Answers that no call waits for, `accepted` too: after a timeout, doubled, or asked for by another instance. Returns how to stop listening. */
  onLateAnswer(listener: LateAnswerListener): () => void;
  onSeen(listener: SeenListener): () => void;
  readonly presence: { of(deviceId: string): DeviceSnapshot | undefined; all(): { deviceId: string; snapshot: DeviceSnapshot }[] };
  /** A disabled device, or one with a new secret, is cut off where the gateway holds the connection. */
  disconnectDevice(deviceId: string): void;
  /** How many messages of this device were dropped, by reason, as far as it is remembered. */
  droppedOf(deviceId: string): Drops;
  stats(): LinkStats;
}

export interface LinkDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** This instance's id: the replyTo of every command. */
  gatewayId: string;
  /** One of each name at most. */
  channels: readonly Channel[];
  maxWaiting?: number;
  deviceMessagesPerS?: number;
}

const defaultMaxWaiting = 10_000;
const defaultDeviceMessagesPerS = 20;

export function createLink(deps: LinkDeps): Link {
  const { clock, random, logger, gatewayId, channels } = deps;
  const book = createPresenceBook({ clock, channels: channels.map(({ name }) => name) });
  const waiting = createWaitingRoom(deps.maxWaiting ?? defaultMaxWaiting);
  const carries = new Set<Carry>();
  const lateListeners = new Set<LateAnswerListener>();
  const seenListeners = new Set<SeenListener>();
  const drops = createDropCounts();
  const restrained = restrainLogger(logger, clock);
  let isStopped = false;

  const shared = {
    clock,
    random,
    logger,
    gatewayId,
    channels,
    book,
    waiting,
  };
  const questions = createQuestions(shared);

  const intake = createIntake({
    clock,
    messagesPerS: deps.deviceMessagesPerS ?? defaultDeviceMessagesPerS,
    isAwaited: waiting.isWaitingFor,
    onDropped(channel, deviceId) {
      drops.add('over-budget', deviceId);
      restrained.warn({ channel, deviceId }, 'a device says more than its share; some of it is dropped');
    },
  });

  const listener: ChannelListener = {
    offer: intake.offer,
    answer(channel, deviceId, answer) {
      const sighting = book.noteAnswer(channel, deviceId, answer, waiting.isWaiting(answer.id));
      const taken = waiting.deliver(channel, deviceId, answer);
      if (taken === 'foreign') drops.add('foreign-device', deviceId);
      else if (taken === 'forgotten') drops.add('late-question', deviceId);
      else if (taken === 'unknown') {
        for (const listen of lateListeners) guarded(() => listen(deviceId, answer, channel));
      }
      noticed(channel, deviceId, sighting);
    },
    presence(channel, deviceId, presence) {
      if (presence.online) noticed(channel, deviceId, book.notePresence(channel, deviceId, presence));
      else listener.gone(channel, deviceId);
    },
    gone(channel, deviceId) {
      intake.gone(channel, deviceId);
      book.noteGone(channel, deviceId);
      for (const carry of carries) if (carry.deviceId === deviceId) carry.lost(channel);
    },
    up(channel) {
      logger.info({ channel }, 'the channel is up');
      for (const carry of carries) carry.seenAgain(channel, false);
    },
    down(channel) {
      logger.warn({ channel }, 'the channel is down');
      intake.down(channel);
      book.noteDown(channel);
      for (const carry of carries) carry.lost(channel);
    },
    dropped(channel, reason, deviceId) {
      drops.add(reason, deviceId);
      logger.debug({ channel, reason, deviceId }, 'a message from a device was dropped');
    },
  };

  function noticed(channel: ChannelName, deviceId: string, { isReconnect, isReboot }: Sighting): void {
    questions.heard(deviceId, channel);
    if (!isReconnect && !isReboot) return;
    for (const carry of carries) if (carry.deviceId === deviceId) carry.seenAgain(channel, isReboot);
    const snapshot = book.of(deviceId);
    if (snapshot !== undefined) for (const listen of seenListeners) guarded(() => listen(deviceId, snapshot));
  }

  /** A listener of another room must not break the wire. */
  function guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      logger.error({ err: error }, 'a listener of the link failed');
    }
  }

  return {
    async start() {
      isStopped = false;
      const started = await Promise.allSettled(channels.map((channel) => channel.start(listener)));
      const failed = started.find((attempt) => attempt.status === 'rejected');
      if (failed === undefined) return;
      await Promise.all(channels.map((channel) => channel.stop()));
      throw failed.reason;
    },

    async stop() {
      isStopped = true;
      questions.stop();
      intake.stop();
      for (const carry of [...carries]) carry.stop();
      await Promise.all(channels.map((channel) => channel.stop()));
    },

    locate: questions.locate,

    fence: (deviceId, answerWithinMs) => raiseFence(clock, book.clockOffsetMs(deviceId), answerWithinMs),

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

    ask: questions.ask,

    onLateAnswer(listen) {
      lateListeners.add(listen);
      return () => lateListeners.delete(listen);
    },

    onSeen(listen) {
      seenListeners.add(listen);
      return () => seenListeners.delete(listen);
    },

    presence: { of: book.of, all: book.all },

    disconnectDevice(deviceId) {
      for (const channel of channels) channel.disconnectDevice?.(deviceId);
    },

    droppedOf: drops.of,

    stats: () => ({
      waitingCalls: waiting.size,
      liveDevices: book.liveCount(),
      connected: {
        mqtt: channels.some(({ name, isConnected }) => name === 'mqtt' && isConnected),
        queue: channels.some(({ name, isConnected }) => name === 'queue' && isConnected),
      },
      dropped: drops.inAll(),
    }),
  };
}

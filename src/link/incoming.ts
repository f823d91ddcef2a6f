// Routes incoming messages: an answer goes to the call that waits for it, otherwise to the listeners for late answers. Every message
// updates the presence book. The carry of a running command handles lost connections and reconnects.
// A failing listener of another room is logged and has no further effect.
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import type { ChannelListener, ChannelName, OfferedMessage } from './channel.ts';
import type { CountedReason, DropCounts } from './drop-counts.ts';
import { createIntake, type Intake } from './intake.ts';
import type { DropDetail } from './messages.ts';
import type { PresenceBook } from './presence.ts';
import type { DeviceSnapshot, Sighting } from './sightings.ts';
import type { WaitingRoom } from './waiting.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export type LateAnswerListener = (deviceId: string, answer: AnswerMessage, channel: ChannelName) => void;
/** Called at a device's first message, at a reconnect and at a new bootId. */
export type SeenListener = (deviceId: string, snapshot: DeviceSnapshot) => void;

/** A running command, as a receiver of its device's connection events. */
interface UnderWay {
  readonly deviceId: string;
  lost(channel: ChannelName): void;
  seenAgain(channel: ChannelName, isReboot: boolean): void;
}

/** As which an unproven message counts, whatever its size: only a device that may use the address can send many. */
const unprovenBytes = 64 * 1024;
const droppedSentence = 'a message from a device was dropped';

export interface IncomingDeps {
  clock: Clock;
  logger: Logger;
  deviceMessagesPerS: number;
  book: PresenceBook;
  drops: DropCounts;
  waiting: WaitingRoom;
  underWay: Iterable<UnderWay>;
  /** A message of so many bytes was dropped because it is above the share of the device, or nothing proves its sender. */
  onExcess?: ((deviceId: string, bytes: number) => void) | undefined;
  /** Called for every valid message: the device is on this channel. */
  onReceived(deviceId: string, channel: ChannelName): void;
}

export class Incoming implements ChannelListener {
  readonly #deps: IncomingDeps;
  readonly #intake: Intake;
  readonly #lateListeners = new Set<LateAnswerListener>();
  readonly #seenListeners = new Set<SeenListener>();
  readonly #restrained: Logger;
  /** On clock.elapsed(). */
  readonly #downSinceMs = new Map<ChannelName, number>();

  constructor(deps: IncomingDeps) {
    this.#deps = deps;
    this.#restrained = restrainLogger(deps.logger, deps.clock);
    this.#intake = createIntake({
      clock: deps.clock,
      messagesPerS: deps.deviceMessagesPerS,
      isAwaited: deps.waiting.isWaitingFor,
      onDropped: (channel, deviceId, bytes) => {
        deps.onExcess?.(deviceId, bytes);
        deps.drops.add(channel, 'over-budget', deviceId);
        this.#restrained.warn({ channel, deviceId }, 'a device exceeds its share of messages; some are dropped');
      },
    });
  }

  /** Returns a function that stops listening. */
  onLateAnswer(listen: LateAnswerListener): () => void {
    this.#lateListeners.add(listen);
    return () => this.#lateListeners.delete(listen);
  }

  /** Returns a function that stops listening. */
  onSeen(listen: SeenListener): () => void {
    this.#seenListeners.add(listen);
    return () => this.#seenListeners.delete(listen);
  }

  stop(): void {
    this.#intake.stop();
  }

  offer(channel: ChannelName, deviceId: string, message: OfferedMessage): void {
    this.#intake.offer(channel, deviceId, message);
  }

  answer(channel: ChannelName, deviceId: string, answer: AnswerMessage): void {
    const { book, waiting, drops } = this.#deps;
    const sighting = book.noteAnswer(channel, deviceId, answer, waiting.isWaiting(answer.id));
    const taken = waiting.deliver(channel, deviceId, answer);
    if (taken === 'foreign') drops.add(channel, 'foreign-device', deviceId, { field: 'id', why: 'the command belongs to another device' });
    else if (taken === 'forgotten') drops.add(channel, 'late-question', deviceId);
    // Another device's command: it is not settled, but this device may have taken money for it.
    if (taken === 'foreign' || taken === 'unknown') {
      for (const listen of this.#lateListeners) this.#guarded(() => listen(deviceId, answer, channel));
    }
    this.#noticed(channel, deviceId, sighting);
  }

  presence(channel: ChannelName, deviceId: string, presence: PresenceMessage): void {
    if (presence.online) this.#noticed(channel, deviceId, this.#deps.book.notePresence(channel, deviceId, presence));
    else this.gone(channel, deviceId);
  }

  gone(channel: ChannelName, deviceId: string): void {
    this.#intake.gone(channel, deviceId);
    this.#deps.book.noteGone(channel, deviceId);
    for (const each of this.#deps.underWay) if (each.deviceId === deviceId) each.lost(channel);
  }

  up(channel: ChannelName): void {
    const { clock, logger } = this.#deps;
    const downSinceMs = this.#downSinceMs.get(channel);
    this.#downSinceMs.delete(channel);
    logger.info(
      { channel, ...(downSinceMs === undefined ? {} : { awayMs: Math.round(clock.elapsed() - downSinceMs) }) },
      'the channel is up',
    );
    for (const each of this.#deps.underWay) each.seenAgain(channel, false);
  }

  down(channel: ChannelName): void {
    const { clock, logger } = this.#deps;
    logger.error({ channel }, 'the channel is down; devices on it cannot be reached');
    this.#downSinceMs.set(channel, clock.elapsed());
    this.#intake.down(channel);
    this.#deps.book.noteDown(channel);
    for (const each of this.#deps.underWay) each.lost(channel);
  }

  dropped(channel: ChannelName, reason: CountedReason, deviceId?: string, detail?: DropDetail): void {
    const note = this.#deps.drops.add(channel, reason, deviceId, detail);
    if (reason === 'unknown-sender' && deviceId !== undefined) this.#deps.onExcess?.(deviceId, unprovenBytes);
    const facts = { deviceId, channel, reason, field: detail?.field, why: note?.why ?? detail?.why, count: note?.count };
    // Logs the first of its kind, the tenth, the hundredth; the others are only counted.
    const isNews = Number.isInteger(Math.log10(note?.count ?? 1));
    if (isNews) this.#restrained.warn(facts, droppedSentence);
    else this.#deps.logger.debug(facts, droppedSentence);
  }

  #noticed(channel: ChannelName, deviceId: string, { isReconnect, isReboot }: Sighting): void {
    this.#deps.onReceived(deviceId, channel);
    if (!isReconnect && !isReboot) return;
    for (const each of this.#deps.underWay) if (each.deviceId === deviceId) each.seenAgain(channel, isReboot);
    const snapshot = this.#deps.book.of(deviceId);
    if (snapshot !== undefined) for (const listen of this.#seenListeners) this.#guarded(() => listen(deviceId, snapshot));
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#deps.logger.error({ err: error }, 'a listener of the link failed');
    }
  }
}

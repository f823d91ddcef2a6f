// What is known of one device from its live messages: on which channel a message came and when, how far its clock is off, which journal it keeps.
// Live on a channel: a message within 75 s there, and since then no will, closed socket or lost connection of our own.
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import { createClockOffset } from './clock-offset.ts';
import type { JsonObject } from './protocol.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export interface DeviceSnapshot {
  liveOn: ChannelName[];
  /** By channel: since when messages have come there without a gap. */
  liveSinceMs?: Partial<Record<ChannelName, number>>;
  lastSeenAtMs: number;
  journalId: string | undefined;
  bootId: string | undefined;
  /** What its last presence said that it can do [D146]; undefined: no presence has come here yet. */
  features?: readonly string[] | undefined;
  /** Device clock minus gateway clock; 0 while nothing was measured. */
  clockOffsetMs: number;
  /** The last presence or the report of the last Status, without v and device. */
  report: JsonObject | undefined;
}

/** What can be asked about a device without a copy of all that is known of it. */
export interface SeenDevice {
  readonly lastSeenAtMs: number;
  readonly journalId: string | undefined;
  isLive(channel: ChannelName): boolean;
}

export interface Sighting {
  /** The device was not live on this channel just before: its first message, or a reconnect. */
  isReconnect: boolean;
  isReboot: boolean;
}

const liveForMs = 75_000;
const maxKeptReport = 16 * 1024;

export class Sightings implements SeenDevice {
  readonly #clock: Clock;
  /** Per channel, when the last message came, in clock.elapsed(); absent: ended since, or never seen there. */
  readonly #receivedAt = new Map<ChannelName, number>();
  readonly #liveSince = new Map<ChannelName, number>();
  readonly #offset = createClockOffset();
  #lastSeenAtMs = 0;
  #journalId: string | undefined;
  #bootId: string | undefined;
  #features: readonly string[] | undefined;
  #report: JsonObject | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Measured against the monotonic clock: when the gateway's wall clock is set, the device's is where it was [D65]. */
  get clockOffsetMs(): number {
    const aheadMs = this.#offset.read();
    return aheadMs === undefined ? 0 : aheadMs + this.#clock.elapsed() - this.#clock.now();
  }

  get lastSeenAtMs(): number {
    return this.#lastSeenAtMs;
  }

  get journalId(): string | undefined {
    return this.#journalId;
  }

  isLive(channel: ChannelName): boolean {
    const receivedAt = this.#receivedAt.get(channel);
    return receivedAt !== undefined && this.#clock.elapsed() - receivedAt <= liveForMs;
  }

  noteAnswer(channel: ChannelName, answer: AnswerMessage, isPrompt: boolean): Sighting {
    if (answer.journalId !== undefined) this.#journalId = answer.journalId;
    // An old answer makes the device's clock look late, which is safe; without it the gateway's own would count, which may be wrong.
    const isNearest = isPrompt || this.#offset.read() === undefined;
    return { isReconnect: this.#received(channel, isNearest ? answer.clock : undefined), isReboot: false };
  }

  notePresence(channel: ChannelName, presence: PresenceMessage): Sighting {
    const isReboot = this.#bootId !== undefined && presence.bootId !== undefined && presence.bootId !== this.#bootId;
    // A clock may be set anew at a boot: samples of the old boot say nothing about the new one.
    if (presence.bootId !== this.#bootId) this.#offset.reset();
    this.#bootId = presence.bootId;
    this.#journalId = presence.journalId;
    if (presence.online) this.#features = presence.features ?? [];
    const { v: _v, device: _device, ...report } = presence;
    this.#report = report;
    return { isReconnect: this.#received(channel, presence.clock), isReboot };
  }

  noteGone(channel: ChannelName): void {
    this.#receivedAt.delete(channel);
  }

  noteReport(report: JsonObject): void {
    // A device may report up to a mebibyte; for the times when it is away that is not worth its memory, and the last short one is kept.
    if (JSON.stringify(report).length <= maxKeptReport) this.#report = report;
  }

  snapshot(channels: readonly ChannelName[]): DeviceSnapshot {
    return {
      liveOn: channels.filter((channel) => this.isLive(channel)),
      liveSinceMs: Object.fromEntries(this.#liveSince),
      lastSeenAtMs: this.#lastSeenAtMs,
      journalId: this.#journalId,
      bootId: this.#bootId,
      features: this.#features,
      clockOffsetMs: this.clockOffsetMs,
      report: this.#report,
    };
  }

  /** True if it was not live there until now. */
  #received(channel: ChannelName, deviceClock: string | undefined): boolean {
    const wasLive = this.isLive(channel);
    this.#receivedAt.set(channel, this.#clock.elapsed());
    if (!wasLive) this.#liveSince.set(channel, this.#clock.now());
    this.#lastSeenAtMs = this.#clock.now();
    if (deviceClock !== undefined) this.#offset.add(Date.parse(deviceClock) - this.#clock.elapsed());
    return !wasLive;
  }
}

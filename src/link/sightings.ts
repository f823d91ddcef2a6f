// The state of one device from its live messages: channel and time of the last messages, clock offset, journal.
// Live on a channel: a message there within 75 s, and since then no will, closed socket or lost connection of our own.
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import { createClockOffset } from './clock-offset.ts';
import type { JsonObject } from './protocol.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export interface DeviceSnapshot {
  liveOn: ChannelName[];
  /** By channel: since when the device has been live without a gap. */
  liveSinceMs?: Partial<Record<ChannelName, number>>;
  lastSeenAtMs: number;
  journalId: string | undefined;
  bootId: string | undefined;
  /** Features from its last presence [D146]; undefined: no presence has arrived at this instance yet. */
  features?: readonly string[] | undefined;
  /** Device clock minus gateway clock; 0 before the first sample. */
  clockOffsetMs: number;
  /** The last presence or the report of the last Status, without v and device. */
  report: JsonObject | undefined;
}

/** Read access to a device's state, without copying it. */
export interface SeenDevice {
  readonly lastSeenAtMs: number;
  readonly journalId: string | undefined;
  isLive(channel: ChannelName): boolean;
}

export interface Sighting {
  /** The device was not live on this channel before this message: its first message, or a reconnect. */
  isReconnect: boolean;
  /** Restarted, or other hardware under its id: its journal is another one [D304]. */
  isReboot: boolean;
}

const liveForMs = 75_000;
const maxKeptReport = 16 * 1024;

export class Sightings implements SeenDevice {
  readonly #clock: Clock;
  /** Time of the last message per channel, by clock.elapsed(); absent: disconnected since, or never seen there. */
  readonly #receivedAt = new Map<ChannelName, number>();
  readonly #liveSince = new Map<ChannelName, number>();
  readonly #offset = createClockOffset();
  #lastSeenAtMs = 0;
  #journalId: string | undefined;
  /** By channel, of the connection that is open there. */
  readonly #journals = new Map<ChannelName, string | undefined>();
  #bootId: string | undefined;
  #features: readonly string[] | undefined;
  #report: JsonObject | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Measured against the monotonic clock, so that setting the gateway's wall clock does not change it [D65]. */
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

  /** The journal behind this channel; the last one that was reported anywhere if none was there. */
  journalOn(channel: ChannelName): string | undefined {
    return this.#journals.has(channel) ? this.#journals.get(channel) : this.#journalId;
  }

  isLive(channel: ChannelName): boolean {
    const receivedAt = this.#receivedAt.get(channel);
    return receivedAt !== undefined && this.#clock.elapsed() - receivedAt <= liveForMs;
  }

  noteAnswer(channel: ChannelName, answer: AnswerMessage, isPrompt: boolean): Sighting {
    const isOtherJournal = answer.journalId !== undefined && this.#noteJournal(channel, answer.journalId);
    // An old answer makes the device's clock look late, which is safe. Without any sample the offset would be 0, which may be wrong.
    const isNearest = isPrompt || this.#offset.read() === undefined;
    return { isReconnect: this.#received(channel, isNearest ? answer.clock : undefined), isReboot: isOtherJournal };
  }

  notePresence(channel: ChannelName, presence: PresenceMessage): Sighting {
    const isOtherJournal = this.#noteJournal(channel, presence.journalId);
    const isReboot = isOtherJournal || (this.#bootId !== undefined && presence.bootId !== undefined && presence.bootId !== this.#bootId);
    // A boot may set the clock, so samples from before the boot are discarded.
    if (presence.bootId !== this.#bootId) this.#offset.reset();
    this.#bootId = presence.bootId;
    if (presence.online) this.#features = presence.features ?? [];
    const { v: _v, device: _device, ...report } = presence;
    this.#report = report;
    return { isReconnect: this.#received(channel, presence.clock), isReboot };
  }

  noteGone(channel: ChannelName): void {
    this.#receivedAt.delete(channel);
    this.#journals.delete(channel);
  }

  noteReport(report: JsonObject): void {
    // A report may have up to 1 MiB, too much to keep for an offline device: the last short one is kept.
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

  /** True if it is another journal than the last one on this channel. */
  #noteJournal(channel: ChannelName, journalId: string | undefined): boolean {
    const before = this.journalOn(channel);
    const isOther = before !== undefined && journalId !== undefined && journalId !== before;
    this.#journalId = journalId;
    this.#journals.set(channel, journalId);
    return isOther;
  }

  /** True if the device was not live there before. */
  #received(channel: ChannelName, deviceClock: string | undefined): boolean {
    const wasLive = this.isLive(channel);
    this.#receivedAt.set(channel, this.#clock.elapsed());
    if (!wasLive) this.#liveSince.set(channel, this.#clock.now());
    this.#lastSeenAtMs = this.#clock.now();
    if (deviceClock !== undefined) this.#offset.add(Date.parse(deviceClock) - this.#clock.elapsed());
    return !wasLive;
  }
}

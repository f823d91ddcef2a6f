// Who is live where, from live messages alone: no broker's memory says who is online. Also the measured clock offset and the journal of each device.
// Live: a message within 75 s on that channel, and since then no will, closed socket or lost connection of our own.
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import { type ClockOffset, createClockOffset } from './clock-offset.ts';
import type { JsonObject } from './protocol.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export interface DeviceSnapshot {
  liveOn: ChannelName[];
  /** By channel: since when it has been heard there without a gap. */
  liveSinceMs?: Partial<Record<ChannelName, number>>;
  lastSeenAtMs: number;
  journalId: string | undefined;
  bootId: string | undefined;
  /** Device clock minus gateway clock; 0 while nothing was measured. */
  clockOffsetMs: number;
  /** The last presence or the report of the last Status, without v and device. */
  report: JsonObject | undefined;
}

export const liveForMs = 75_000;
const maxKeptReport = 16 * 1024;

interface DeviceState {
  /** Per channel, when the last message came, in clock.elapsed(); absent: ended since, or never seen there. */
  heardAt: Map<ChannelName, number>;
  liveSince: Map<ChannelName, number>;
  lastSeenAtMs: number;
  journalId: string | undefined;
  bootId: string | undefined;
  offset: ClockOffset;
  report: JsonObject | undefined;
}

export interface Sighting {
  /** The device was not live on this channel just before: its first message, or a reconnect. */
  isReconnect: boolean;
  isReboot: boolean;
}

export interface PresenceBook {
  /**
   * `isPrompt`: somebody waits for it. Only then is its clock reading fresh; a device may send an old answer again.
   * That is also how `expired` corrects an offset that was too small.
   */
  noteAnswer(channel: ChannelName, deviceId: string, answer: AnswerMessage, isPrompt: boolean): Sighting;
  notePresence(channel: ChannelName, deviceId: string, presence: PresenceMessage): Sighting;
  /** True if the device was live there until now. */
  noteGone(channel: ChannelName, deviceId: string): boolean;
  /** Our own connection broke: wills sent meanwhile are lost to us, so nobody counts as live there until heard again. */
  noteDown(channel: ChannelName): void;
  noteReport(deviceId: string, report: JsonObject): void;
  isLive(deviceId: string, channel: ChannelName): boolean;
  clockOffsetMs(deviceId: string): number;
  of(deviceId: string): DeviceSnapshot | undefined;
  all(): { deviceId: string; snapshot: DeviceSnapshot }[];
  liveCount(): number;
}

export function createPresenceBook(deps: { clock: Clock; channels: readonly ChannelName[] }): PresenceBook {
  const { clock, channels } = deps;
  // Bounded by the number of registered devices: only a device that has logged in gets here.
  const devices = new Map<string, DeviceState>();

  function stateOf(deviceId: string): DeviceState {
    let state = devices.get(deviceId);
    if (state === undefined) {
      state = {
        heardAt: new Map(),
        liveSince: new Map(),
        lastSeenAtMs: 0,
        journalId: undefined,
        bootId: undefined,
        offset: createClockOffset(),
        report: undefined,
      };
      devices.set(deviceId, state);
    }
    return state;
  }

  function isStateLive(state: DeviceState, channel: ChannelName): boolean {
    const heardAt = state.heardAt.get(channel);
    return heardAt !== undefined && clock.elapsed() - heardAt <= liveForMs;
  }

  function hear(state: DeviceState, channel: ChannelName, deviceClock: string | undefined): boolean {
    const wasLive = isStateLive(state, channel);
    state.heardAt.set(channel, clock.elapsed());
    if (!wasLive) state.liveSince.set(channel, clock.now());
    state.lastSeenAtMs = clock.now();
    if (deviceClock !== undefined) state.offset.add(Date.parse(deviceClock) - clock.now());
    return !wasLive;
  }

  function snapshotOf(state: DeviceState): DeviceSnapshot {
    return {
      liveOn: channels.filter((channel) => isStateLive(state, channel)),
      liveSinceMs: Object.fromEntries(state.liveSince),
      lastSeenAtMs: state.lastSeenAtMs,
      journalId: state.journalId,
      bootId: state.bootId,
      clockOffsetMs: state.offset.read(),
      report: state.report,
    };
  }

  return {
    noteAnswer(channel, deviceId, answer, isPrompt) {
      const state = stateOf(deviceId);
      if (answer.journalId !== undefined) state.journalId = answer.journalId;
      return { isReconnect: hear(state, channel, isPrompt ? answer.clock : undefined), isReboot: false };
    },

    notePresence(channel, deviceId, presence) {
      const state = stateOf(deviceId);
      const isReboot = state.bootId !== undefined && presence.bootId !== undefined && presence.bootId !== state.bootId;
      // A clock may be set anew at a boot: samples of the old boot say nothing about the new one.
      if (presence.bootId !== state.bootId) state.offset.reset();
      state.bootId = presence.bootId;
      state.journalId = presence.journalId;
      const { v: _v, device: _device, ...report } = presence;
      state.report = report;
      return { isReconnect: hear(state, channel, presence.clock), isReboot };
    },

    noteGone(channel, deviceId) {
      const state = devices.get(deviceId);
      if (state === undefined) return false;
      const wasLive = isStateLive(state, channel);
      state.heardAt.delete(channel);
      return wasLive;
    },

    noteDown(channel) {
      for (const state of devices.values()) state.heardAt.delete(channel);
    },

    noteReport(deviceId, report) {
      // A device may report up to a mebibyte; for the times when it is away that is not worth its place, and the last short one is kept.
      if (JSON.stringify(report).length <= maxKeptReport) stateOf(deviceId).report = report;
    },

    isLive(deviceId, channel) {
      const state = devices.get(deviceId);
      return state !== undefined && isStateLive(state, channel);
    },

    clockOffsetMs: (deviceId) => devices.get(deviceId)?.offset.read() ?? 0,

    of(deviceId) {
      const state = devices.get(deviceId);
      return state === undefined ? undefined : snapshotOf(state);
    },

    all: () => [...devices].map(([deviceId, state]) => ({ deviceId, snapshot: snapshotOf(state) })),

    liveCount() {
      let count = 0;
      for (const state of devices.values()) if (channels.some((channel) => isStateLive(state, channel))) count += 1;
      return count;
    },
  };
}

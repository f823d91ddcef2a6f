// The devices that are live on each channel, derived only from live messages and not from a broker's state. Per device: sightings.ts.
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import type { JsonObject } from './protocol.ts';
import { type DeviceSnapshot, type SeenDevice, type Sighting, Sightings } from './sightings.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export interface PresenceBook {
  /**
   * `isPrompt`: a call waits for it, so its clock reading is fresh. A device may resend an old answer, whose reading is used only while there is
   * no other sample. This is also how `expired` corrects an offset that was too small.
   */
  noteAnswer(channel: ChannelName, deviceId: string, answer: AnswerMessage, isPrompt: boolean): Sighting;
  notePresence(channel: ChannelName, deviceId: string, presence: PresenceMessage): Sighting;
  noteGone(channel: ChannelName, deviceId: string): void;
  /** Our own connection broke: wills sent during that time are lost, so no device counts as connected there until its next message. */
  noteDown(channel: ChannelName): void;
  noteReport(deviceId: string, report: JsonObject): void;
  isLive(deviceId: string, channel: ChannelName): boolean;
  /** On a channel of this gateway. */
  isLiveAnywhere(deviceId: string): boolean;
  clockOffsetMs(deviceId: string): number;
  /** As last reported by the device; `otherwise` before its first report to this instance. */
  journalOf(deviceId: string, otherwise: string | undefined): string | undefined;
  of(deviceId: string): DeviceSnapshot | undefined;
  all(): Iterable<[deviceId: string, device: SeenDevice]>;
  liveCount(): number;
}

export function createPresenceBook({ clock, channels }: { clock: Clock; channels: readonly ChannelName[] }): PresenceBook {
  // Bounded by the number of registered devices: only messages of authenticated devices get here.
  const devices = new Map<string, Sightings>();

  function sightingsOf(deviceId: string): Sightings {
    let sightings = devices.get(deviceId);
    if (sightings === undefined) {
      sightings = new Sightings(clock);
      devices.set(deviceId, sightings);
    }
    return sightings;
  }

  const isAnywhere = (sightings: Sightings | undefined) => channels.some((channel) => sightings?.isLive(channel));

  return {
    noteAnswer: (channel, deviceId, answer, isPrompt) => sightingsOf(deviceId).noteAnswer(channel, answer, isPrompt),
    notePresence: (channel, deviceId, presence) => sightingsOf(deviceId).notePresence(channel, presence),
    noteGone: (channel, deviceId) => devices.get(deviceId)?.noteGone(channel),
    noteDown(channel) {
      for (const sightings of devices.values()) sightings.noteGone(channel);
    },
    noteReport: (deviceId, report) => sightingsOf(deviceId).noteReport(report),

    isLive: (deviceId, channel) => devices.get(deviceId)?.isLive(channel) ?? false,
    isLiveAnywhere: (deviceId) => isAnywhere(devices.get(deviceId)),
    clockOffsetMs: (deviceId) => devices.get(deviceId)?.clockOffsetMs ?? 0,
    journalOf(deviceId, otherwise) {
      const sightings = devices.get(deviceId);
      return sightings === undefined ? otherwise : sightings.journalId;
    },
    of: (deviceId) => devices.get(deviceId)?.snapshot(channels),
    all: () => devices.entries(),
    liveCount() {
      let count = 0;
      for (const sightings of devices.values()) if (isAnywhere(sightings)) count += 1;
      return count;
    },
  };
}

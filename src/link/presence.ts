// The devices that are live on each channel, derived only from live messages and not from a broker's state. Per device: sightings.ts.
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import type { JsonObject } from './protocol.ts';
import { type DeviceSnapshot, type SeenDevice, Sightings } from './sightings.ts';
import type { AnswerMessage, PresenceMessage } from './wire-schemas.ts';

export type PresenceBook = ReturnType<typeof createPresenceBook>;

export function createPresenceBook({ clock, channels }: { clock: Clock; channels: readonly ChannelName[] }) {
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
    /**
     * `isPrompt`: a call waits for it, so its clock reading is fresh. A device may resend an old answer, whose reading is used only while
     * there is no other sample. This is also how `expired` corrects an offset that was too small.
     */
    noteAnswer: (channel: ChannelName, deviceId: string, answer: AnswerMessage, isPrompt: boolean) =>
      sightingsOf(deviceId).noteAnswer(channel, answer, isPrompt),
    notePresence: (channel: ChannelName, deviceId: string, presence: PresenceMessage) =>
      sightingsOf(deviceId).notePresence(channel, presence),
    noteGone: (channel: ChannelName, deviceId: string) => devices.get(deviceId)?.noteGone(channel),
    /** Our own connection broke: wills sent during that time are lost, so no device counts as connected there until its next message. */
    noteDown(channel: ChannelName): void {
      for (const sightings of devices.values()) sightings.noteGone(channel);
    },
    noteReport: (deviceId: string, report: JsonObject) => sightingsOf(deviceId).noteReport(report),

    isLive: (deviceId: string, channel: ChannelName) => devices.get(deviceId)?.isLive(channel) ?? false,
    /** On a channel of this gateway. */
    isLiveAnywhere: (deviceId: string) => isAnywhere(devices.get(deviceId)),
    clockOffsetMs: (deviceId: string) => devices.get(deviceId)?.clockOffsetMs ?? 0,
    /** As last reported by the device; `otherwise` before its first report to this instance. */
    journalOf(deviceId: string, otherwise: string | undefined): string | undefined {
      const sightings = devices.get(deviceId);
      return sightings === undefined ? otherwise : sightings.journalId;
    },
    /** The same behind one channel: two pieces of hardware may be connected under one id [D304]. */
    journalOn(deviceId: string, channel: ChannelName, otherwise: string | undefined): string | undefined {
      const sightings = devices.get(deviceId);
      return sightings === undefined ? otherwise : sightings.journalOn(channel);
    },
    of: (deviceId: string): DeviceSnapshot | undefined => devices.get(deviceId)?.snapshot(channels),
    all: (): Iterable<[deviceId: string, device: SeenDevice]> => devices.entries(),
    liveCount: () => devices.values().reduce((count, sightings) => count + Number(isAnywhere(sightings)), 0),
  };
}

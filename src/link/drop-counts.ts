// Counts dropped messages by reason: in total, and per device, to find a broken or stolen one.
// Per device, drops of one kind (channel, reason, field) are one note with their number and last time, so that a flood of one kind does not
// hide another. Notes per device and devices are bounded: the least recent are evicted; totals stay. In memory of this instance, because
// invalid messages must cost no writes.
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import type { ChannelName } from './channel.ts';
import type { DropDetail, DropReason } from './messages.ts';
import { maxMessageValues } from './protocol.ts';

/** `late-question`: the answer to a question that has ended. */
export type CountedReason = DropReason | 'late-question';
export type Drops = Partial<Record<CountedReason, number>>;
export type DeviceDrops = Partial<Record<CountedReason, { count: number; lastAtMs: number }>>;

export interface Drop {
  channel: ChannelName;
  reason: CountedReason;
  field?: string | undefined;
  why: string;
}

export interface DropNote extends Drop {
  count: number;
  firstAtMs: number;
  lastAtMs: number;
}

export type DropCounts = ReturnType<typeof createDropCounts>;

interface DeviceBook {
  counts: DeviceDrops;
  notes: Map<string, DropNote>;
}

const maxNotes = 30;

/** Default reasons. */
const sentences: Record<CountedReason, string> = {
  'too-large': 'it is larger than 1 MiB',
  'too-deep': 'it is nested deeper than 100 levels',
  'too-many-values': `it holds more than ${maxMessageValues} values`,
  'not-json': 'it is no JSON object',
  version: 'it is of another version of the protocol',
  field: 'a field is missing or has the wrong form',
  'foreign-device': 'it names another device',
  'unknown-sender': 'nothing proves who sent it',
  'unknown-address': 'no gateway reads this address',
  retained: 'it was retained by a broker, so it is outdated',
  'over-budget': 'the device sends more messages, or connects more often, than its share allows',
  'late-question': 'the question that it answers has ended',
};

export function createDropCounts(clock: Pick<Clock, 'now'>, maxDevices = 10_000) {
  const inAll: Drops = {};
  const byDevice = new BoundedMap<string, DeviceBook>(maxDevices);

  /** From the latest message. */
  function bookOf(deviceId: string): DeviceBook {
    const book = byDevice.get(deviceId) ?? { counts: {}, notes: new BoundedMap<string, DropNote>(maxNotes) };
    byDevice.delete(deviceId);
    byDevice.set(deviceId, book);
    return book;
  }

  return {
    /** Returns the note of this drop; undefined without a device. */
    add(
      channel: ChannelName,
      reason: CountedReason,
      deviceId: string | undefined,
      { field, why = sentences[reason] }: DropDetail = {},
    ): DropNote | undefined {
      inAll[reason] = (inAll[reason] ?? 0) + 1;
      if (deviceId === undefined) return undefined;
      const { counts, notes } = bookOf(deviceId);
      const lastAtMs = clock.now();
      counts[reason] = { count: (counts[reason]?.count ?? 0) + 1, lastAtMs };
      const key = `${channel} ${reason} ${field ?? ''} ${why}`;
      const before = notes.get(key);
      const note = { channel, reason, field, why, count: (before?.count ?? 0) + 1, firstAtMs: before?.firstAtMs ?? lastAtMs, lastAtMs };
      notes.delete(key);
      notes.set(key, note);
      return note;
    },
    inAll: (): Drops => ({ ...inAll }),
    of: (deviceId: string): DeviceDrops => ({ ...byDevice.get(deviceId)?.counts }),
    /** The newest first. */
    notesOf: (deviceId: string): DropNote[] => [...(byDevice.get(deviceId)?.notes.values() ?? [])].reverse(),
  };
}

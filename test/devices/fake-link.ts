// A link whose devices are played by the test: who is live, what they answer, and when they are seen.

import type { AskedCommand } from '../../src/link/carrying/plain-commands.ts';
import type { ChannelName } from '../../src/link/channel.ts';
import type { DropNote } from '../../src/link/drop-counts.ts';
import type { SeenListener } from '../../src/link/incoming.ts';
import type { Link } from '../../src/link/link.ts';
import type { DeviceSnapshot } from '../../src/link/sightings.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';

export interface FakeLink extends Pick<Link, 'locate' | 'ask' | 'onSeen' | 'presence' | 'connected' | 'droppedOf' | 'dropNotesOf'> {
  readonly asked: { deviceId: string; question: AskedCommand }[];
  /** The gateway's own connections. */
  readonly isUp: Record<ChannelName, boolean>;
  readonly snapshots: Map<string, DeviceSnapshot>;
  /** What was dropped, by device. */
  readonly dropNotes: Map<string, DropNote[]>;
  /** Makes the device live; `answer` is what it says to the next questions, undefined for silence. */
  answers(deviceId: string, answer: Partial<AnswerMessage> | undefined): void;
  /** As when the link hears a device for the first time, or again. */
  seen(deviceId: string, snapshot: DeviceSnapshot): void;
}

export function snapshot(changes: Partial<DeviceSnapshot> = {}): DeviceSnapshot {
  return { liveOn: [], lastSeenAtMs: 0, journalId: undefined, bootId: undefined, clockOffsetMs: 0, report: undefined, ...changes };
}

export function createFakeLink(): FakeLink {
  const live = new Map<string, Partial<AnswerMessage> | undefined>();
  const snapshots = new Map<string, DeviceSnapshot>();
  const listeners = new Set<SeenListener>();
  const asked: FakeLink['asked'] = [];
  const connected = { mqtt: true, queue: true };
  const dropNotes: FakeLink['dropNotes'] = new Map();
  return {
    asked,
    isUp: connected,
    connected: () => connected,
    dropNotes,
    snapshots,
    answers: (deviceId, answer) => live.set(deviceId, answer),
    seen(deviceId, news) {
      snapshots.set(deviceId, news);
      for (const listener of listeners) listener(deviceId, news);
    },
    async locate(deviceId, first): Promise<ChannelName | undefined> {
      return live.has(deviceId) ? first : undefined;
    },
    async ask(deviceId, question) {
      asked.push({ deviceId, question });
      const answer = live.get(deviceId);
      if (!answer) return undefined;
      return { v: 1, id: 'c', device: deviceId, clock: '2026-01-15T09:00:00Z', outcome: 'done', ...answer };
    },
    onSeen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    droppedOf: () => ({}),
    dropNotesOf: (deviceId) => dropNotes.get(deviceId) ?? [],
    presence: {
      of: (deviceId) => snapshots.get(deviceId),
      journalOf: (deviceId, otherwise) => (snapshots.has(deviceId) ? snapshots.get(deviceId)?.journalId : otherwise),
      isLiveAnywhere: (deviceId) => (snapshots.get(deviceId)?.liveOn.length ?? 0) > 0,
      all: () => [...snapshots].map(([deviceId, one]) => [deviceId, { ...one, isLive: (channel) => one.liveOn.includes(channel) }]),
    },
  };
}

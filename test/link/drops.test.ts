// A dropped message is recorded with device, field and reason, in the log and on request; a flood of one kind hides no other.
import { describe, expect, it } from 'vitest';
import type { ChannelListener } from '../../src/link/channel.ts';
import { offerAnswer, offerPresence } from '../../src/link/channels/inbox.ts';
import { createDropCounts } from '../../src/link/drop-counts.ts';
import { createLink } from '../../src/link/link.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeChannel } from './fake-channel.ts';
import { deviceId, gatewayId, otherDeviceId } from './link-bench.ts';

async function listening() {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const logger = recordingLogger();
  const mqtt = createFakeChannel('mqtt');
  const link = createLink({ clock, random: seededRandom(1), logger, gatewayId, channels: [mqtt] });
  await link.start();
  const say = (offer: typeof offerAnswer, message: object) =>
    mqtt.offers(deviceId, 'answer', JSON.stringify(message), (listener) =>
      offer(listener, { channel: 'mqtt', deviceId, bytes: Buffer.from(JSON.stringify(message)) }),
    );
  const tell = (word: (listener: ChannelListener) => void) => mqtt.offers(deviceId, 'answer', '{}', word);
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn');
  return { clock, link, say, tell, warnings };
}

describe('a dropped message', () => {
  it('is recorded with device, field and reason, once per kind with a count', async () => {
    const { clock, link, say, warnings } = await listening();
    say(offerPresence, { v: 1, device: deviceId, online: true });
    await clock.advance(5_000);
    say(offerPresence, { v: 1, device: deviceId, online: true, clock: 'noon' });
    say(offerAnswer, { v: 1, device: deviceId, id: otherDeviceId, clock: '2026-01-15T09:00:00Z', outcome: 'perhaps' });
    expect(link.dropNotesOf(deviceId)).toMatchObject([
      { channel: 'mqtt', reason: 'field', field: 'outcome', why: expect.stringContaining('accepted, done'), count: 1 },
      { reason: 'field', field: 'clock', count: 2, firstAtMs: clock.now() - 5_000, lastAtMs: clock.now() },
    ]);
    expect(link.dropNotesOf(otherDeviceId)).toEqual([]);
    expect(warnings().map(({ fields }) => fields)).toMatchObject([
      { deviceId, channel: 'mqtt', reason: 'field', field: 'clock', why: 'must be an ISO 8601 time with a zone' },
      { deviceId, field: 'outcome' },
    ]);
    await link.stop();
  });

  it('of one kind is logged at the 1st, the 10th and the 100th', async () => {
    const { clock, link, say, warnings } = await listening();
    for (let count = 0; count < 300; count += 1) {
      say(offerAnswer, { v: 2 });
      await clock.advance(1_000);
    }
    expect(link.dropNotesOf(deviceId)).toMatchObject([{ reason: 'version', field: 'v', count: 300 }]);
    expect(warnings().map(({ fields }) => (fields as { count: number }).count)).toEqual([1, 10, 100]);
    await link.stop();
  });

  it('of an unknown sender is logged with the known fields', async () => {
    const { clock, link, tell, warnings } = await listening();
    tell((listener) => listener.dropped('mqtt', 'unknown-sender'));
    tell((listener) => listener.dropped('mqtt', 'unknown-address', undefined, { field: 'topic', why: 'nobody reads it' }));
    tell((listener) => listener.dropped('mqtt', 'retained', deviceId));
    await clock.settle();
    expect(link.stats().dropped).toEqual({ 'unknown-sender': 1, 'unknown-address': 1, retained: 1 });
    expect(warnings().map(({ fields }) => fields)).toEqual([
      { deviceId: undefined, channel: 'mqtt', reason: 'unknown-sender', field: undefined, why: undefined, count: undefined },
      { deviceId: undefined, channel: 'mqtt', reason: 'unknown-address', field: 'topic', why: 'nobody reads it', count: undefined },
      { deviceId, channel: 'mqtt', reason: 'retained', field: undefined, why: expect.stringContaining('outdated'), count: 1 },
    ]);
    await link.stop();
  });

  it('is recorded as one of at most thirty kinds per device', () => {
    const drops = createDropCounts({ now: () => 0 });
    for (let count = 0; count < 1_000; count += 1) drops.add('mqtt', 'unknown-address', deviceId, { field: `answers/${count}` });
    drops.add('mqtt', 'field', deviceId, { field: 'clock', why: 'must be a time' });
    for (let count = 0; count < 1_000; count += 1) drops.add('mqtt', 'over-budget', deviceId);
    const notes = drops.notesOf(deviceId);
    expect(notes).toHaveLength(30);
    expect(notes.slice(0, 2)).toMatchObject([{ reason: 'over-budget', count: 1_000 }, { field: 'clock' }]);
  });
});

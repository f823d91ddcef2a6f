// The event stream: each user gets the events of their merchant only, within limits, and the hub polls only while there are streams.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEventHub, type EventHub } from '../../../src/cabinet/events/event-hub.ts';
import type { Hint } from '../../../src/cabinet/events/hints.ts';
import type { Database } from '../../../src/database/database.ts';
import { nowMs } from '../../../src/database/dialect.ts';
import { createFakeLink, type FakeLink, snapshot } from '../../devices/fake-link.ts';
import { memoryDatabase } from '../../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Ear {
  heard: Hint[];
  isEnded: boolean;
}

describe('the event hub', () => {
  let clock: VirtualClock;
  let database: Database;
  let link: FakeLink;
  let hub: EventHub;
  const merchants: { id: string; deviceId: string; commandId: string }[] = [];
  beforeEach(async () => {
    clock = createVirtualClock(undefined, { settle: 'microtasks' });
    database = await memoryDatabase(clock);
    link = createFakeLink();
    hub = createEventHub({ database, clock, logger: quietLogger, link, streamBounds: { maxPerUser: 6, maxPerMerchant: 7, maxInAll: 10 } });
    merchants.length = 0;
    for (let count = 0; count < 2; count += 1) {
      const { id } = await seedMerchant(database.queries);
      const { id: deviceId } = await seedDevice(database.queries, id);
      merchants.push({ id, deviceId, commandId: (await seedCommand(database.queries, id, deviceId)).id });
    }
  });
  afterEach(async () => {
    hub.stop();
    await database.close();
  });

  function listen(merchantId?: string, user = 'ana', takes = () => true): Ear & { leave(): void } {
    const ear: Ear = { heard: [], isEnded: false };
    const leave = hub.join({
      scope: { merchantId },
      user,
      merchantOfUser: merchantId,
      send: (hint) => {
        ear.heard.push(hint);
        return takes();
      },
      end: () => {
        ear.isEnded = true;
      },
    });
    return Object.assign(ear, { leave });
  }
  const settle = async (index: number) => {
    await database.queries
      .insertInto('command_events')
      .values({ command_id: merchants[index]?.commandId ?? '', at: nowMs, step: 'settled', channel: null, detail: null })
      .execute();
  };
  const kinds = ({ heard }: Ear) => heard.map(({ kind, id }) => [kind, id]);

  it('notifies a user of the own merchant, and a user who sees all merchants of all', async () => {
    const [one, other] = merchants;
    const own = listen(one?.id);
    const everything = listen(undefined, 'operator');
    await clock.advance(2_000);
    await settle(0);
    await settle(1);
    await clock.advance(2_000);
    expect(kinds(own)).toEqual([
      ['command', one?.commandId],
      ['attention', one?.id],
    ]);
    expect(everything.heard.filter(({ kind }) => kind === 'command').map(({ id }) => id)).toEqual([one?.commandId, other?.commandId]);
    expect(JSON.stringify(own.heard)).not.toContain(other?.commandId);
  });

  it('polls soon after a wake-up, at most four times a second', async () => {
    const ear = listen();
    await clock.advance(10);
    await settle(0);
    for (let count = 0; count < 100; count += 1) database.wake('commands', 'x');
    await clock.advance(260);
    expect(kinds(ear)).toContainEqual(['command', merchants[0]?.commandId]);
  });

  it('notifies the merchant when a device connects or disconnects', async () => {
    const [one, other] = merchants;
    const own = listen(one?.id);
    const foreign = listen(other?.id, 'ben');
    await clock.advance(10);
    link.snapshots.set(one?.deviceId ?? '', snapshot({ liveOn: ['mqtt'] }));
    await clock.advance(2_100);
    link.snapshots.set(one?.deviceId ?? '', snapshot({ liveOn: [] }));
    await clock.advance(2_100);
    expect(kinds(own)).toEqual([
      ['device', one?.deviceId],
      ['device', one?.deviceId],
    ]);
    expect(foreign.heard).toEqual([]);
  });

  it('limits the streams of one merchant, without affecting other merchants or operators', () => {
    const [one, other] = merchants;
    const own = Array.from({ length: 6 }, () => listen(one?.id, 'ana'));
    listen(one?.id, 'ben');
    expect(() => listen(one?.id, 'cor')).toThrow(/The merchant has too many pages open; the page continues without live updates/);
    // A user at the limit replaces their own oldest stream.
    listen(one?.id, 'ana');
    expect(own.map(({ isEnded }) => isEnded)).toEqual([true, false, false, false, false, false]);
    listen(other?.id, 'dan');
    const above = hub.join({
      scope: { merchantId: one?.id },
      user: 'operator',
      merchantOfUser: undefined,
      send: () => true,
      end: () => {},
    });
    own[1]?.leave();
    above();
    listen(one?.id, 'cor');
    expect(() => listen(one?.id, 'eve')).toThrow(/The merchant/);
  });

  it('limits all streams; a user with several replaces their own oldest one', () => {
    const own = Array.from({ length: 6 }, () => listen(undefined, 'ana'));
    for (let count = 0; count < 4; count += 1) listen(undefined, `other ${count}`);
    expect(() => listen(undefined, 'one more')).toThrow(/Too many pages are open/);
    listen(undefined, 'ana');
    expect(own[0]?.isEnded).toBe(true);
  });

  it('allows six streams per user, closes the oldest for the next, and keeps those of others', () => {
    const other = listen(undefined, 'ben');
    const own = Array.from({ length: 8 }, () => listen());
    expect(own.map(({ isEnded }) => isEnded)).toEqual([true, true, false, false, false, false, false, false]);
    expect(other.isEnded).toBe(false);
  });

  it('closes a stream that does not accept an event, and continues with the others', async () => {
    const slow = listen(undefined, 'slow', () => false);
    const quick = listen(undefined, 'quick');
    await clock.advance(10);
    await settle(0);
    await clock.advance(2_100);
    await settle(0);
    await clock.advance(2_100);
    expect(slow.isEnded).toBe(true);
    expect(slow.heard).toHaveLength(1);
    expect(quick.heard.filter(({ kind }) => kind === 'command')).toHaveLength(2);
  });

  it('stops polling when the last stream has closed, and starts over with the next', async () => {
    const ear = listen();
    await clock.advance(10);
    ear.leave();
    expect(clock.pending).toBe(0);
    await settle(0);
    const next = listen();
    await clock.advance(2_100);
    expect(next.heard, 'what was before it is read by the page itself').toEqual([]);
    hub.stop();
    expect(next.isEnded).toBe(true);
  });
});

// The guards of the ledger's statements, on both engines: what must not happen is refused by the statement itself, in the database's clock.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deadAfterMs } from '../../src/database/instances.ts';
import type { Command } from '../../src/ledger/command.ts';
import * as reviews from '../../src/ledger/review-store.ts';
import * as store from '../../src/ledger/store.ts';
import * as sweeps from '../../src/ledger/sweep-store.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { settle } from '../support/ledger-statements.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const startMs = 1_000_000;
const by = { outcome: undefined, report: undefined, reason: undefined };
const never = { ...by, state: 'never', by: 'recall' } as const;
const person = { ...by, state: 'refused', by: 'person' } as const;

describe.each(engines)('on %s', (engine) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await openTestDatabase(engine, createVirtualClock(startMs));
  });
  afterEach(() => database.close());

  async function command(overrides: Parameters<typeof seedCommand>[3] = {}): Promise<Command> {
    const { queries } = database;
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const { id } = await seedCommand(queries, merchantId, deviceId, { answer_by: startMs + 300_000, ...overrides });
    return read(id);
  }

  async function read(id: string): Promise<Command> {
    const found = await store.findCommand(database.queries, id);
    if (!found) throw new Error('There is no such command.');
    return found;
  }

  async function instance(overrides: { heartbeat_at?: number; stopped_at?: number | null } = {}): Promise<string> {
    const id = randomUUID();
    const row = { id, host: 'shop', pid: 1, embedded: '', started_at: startMs, heartbeat_at: startMs, stopped_at: null, ...overrides };
    await database.queries.insertInto('instances').values(row).execute();
    return id;
  }

  it('a command that a device has accepted cannot be settled as never', async () => {
    const accepted = await command();
    expect(await store.markAccepted(database, [accepted.id])).toMatchObject([{ id: accepted.id, reviewSinceMs: null }]);
    expect(await store.markAccepted(database, [accepted.id])).toEqual([]);
    expect(await settle(database, accepted, never)).toBeUndefined();
    expect(await settle(database, accepted, { ...never, state: 'refused' })).toMatchObject({ state: 'refused' });
    const other = await command();
    expect(await settle(database, other, never)).toMatchObject({ state: 'never' });
    // That is a contradiction, and recorded as one.
    expect(await store.markAccepted(database, [other.id])).toEqual([]);
  });

  it('a person decides two minutes after answerBy, or when the device ended it as unknown', async () => {
    const waiting = await command({ state: 'unknown' });
    database.shiftClock(300_000 + 119_999);
    expect(await settle(database, waiting, person)).toBeUndefined();
    database.shiftClock(1);
    expect(await settle(database, waiting, person)).toMatchObject({ state: 'refused', settledBy: 'person' });

    const ended = await command({ state: 'unknown', answer_by: startMs + 1_000_000 });
    expect(await settle(database, ended, person)).toBeUndefined();
    await reviews.putOnReview(database.queries, ended.id, 'It cannot tell.', { isEnded: true });
    expect(await settle(database, ended, person)).toMatchObject({ state: 'refused' });
  });

  it('of two instances that take a command over, or of one with a stale row, only one does', async () => {
    const orphan = await command({ instance_id: 'dead' });
    const [one, other] = await Promise.all([
      store.takeOver(database.queries, orphan, 'first', 1_000),
      store.takeOver(database.queries, orphan, 'second', 1_000),
    ]);
    expect([one, other].filter(Boolean)).toHaveLength(1);
    const taken = await read(orphan.id);
    expect(taken).toMatchObject({ instanceId: one ? 'first' : 'second', recalls: 1 });
    // The same instance twice, with what it read before.
    expect(await store.takeOver(database.queries, taken, taken.instanceId, 1_000)).toBe(true);
    expect(await store.takeOver(database.queries, taken, taken.instanceId, 1_000)).toBe(false);
    expect((await read(orphan.id)).recalls).toBe(2);
    // Settled meanwhile: nothing is left to ask about.
    const latest = await read(orphan.id);
    await settle(database, latest, { ...never, state: 'done' });
    expect(await store.takeOver(database.queries, latest, 'third', 1_000)).toBe(false);
    expect(await read(orphan.id)).toMatchObject({ instanceId: latest.instanceId, recalls: 2 });
  });

  it('commands of an instance that stopped, has no heartbeat or was removed can be taken over, those of a live one cannot', async () => {
    const mine = await instance();
    const ofLiving = await command({ instance_id: await instance() });
    const ofStopped = await command({ instance_id: await instance({ stopped_at: startMs }) });
    const ofForgotten = await command({ instance_id: randomUUID() });
    const ofSilent = await command({ instance_id: await instance({ heartbeat_at: startMs - deadAfterMs - 1 }) });
    const ofLate = await command({ instance_id: await instance({ heartbeat_at: startMs - deadAfterMs }) });
    const due = await sweeps.dueForRecall(database.queries, mine, deadAfterMs, 100);
    expect(due.toSorted()).toEqual([ofStopped.id, ofForgotten.id, ofSilent.id].toSorted());
    expect(due).not.toContain(ofLiving.id);
    expect(due).not.toContain(ofLate.id);

    await database.queries
      .updateTable('commands')
      .set({ answer_by: startMs - 1 })
      .execute();
    const abandoned = await sweeps.abandoned(database.queries, mine, deadAfterMs, 0, 100);
    expect(abandoned.map(({ id }) => id).toSorted()).toEqual(due.toSorted());
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimKey, findKey, type KeyClaim, releaseKey, sweepKeys } from '../../src/access/idempotency.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

const dayMs = 24 * 60 * 60 * 1000;

describe.each(engines)('idempotency keys on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;

  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const claimOf = (subjectId: string, overrides: Partial<KeyClaim> = {}): KeyClaim => ({
    merchantId,
    key: 'order-1',
    requestHash: 'hash-1',
    subjectKind: 'command',
    subjectId,
    ...overrides,
  });
  const claim = (subjectId: string, overrides: Partial<KeyClaim> = {}) =>
    database.transaction((queries) => claimKey(queries, claimOf(subjectId, overrides)));

  it('is new once, then equal for the same request and different for another', async () => {
    expect(await claim('first')).toEqual({ kind: 'new' });
    expect(await claim('second')).toEqual({ kind: 'same', subjectKind: 'command', subjectId: 'first' });
    expect(await claim('third', { requestHash: 'hash-2' })).toEqual({ kind: 'other' });
    expect(await claim('fourth', { key: 'order-2', subjectKind: 'invoice' })).toEqual({ kind: 'new' });
    expect(await claim('fifth', { key: 'order-2' })).toEqual({ kind: 'same', subjectKind: 'invoice', subjectId: 'fourth' });
  });

  it('keeps merchants apart', async () => {
    const other = (await seedMerchant(database.queries)).id;
    expect(await claim('first')).toEqual({ kind: 'new' });
    expect(await claim('second', { merchantId: other, requestHash: 'hash-2' })).toEqual({ kind: 'new' });
    expect(await findKey(database.queries, other, 'order-1')).toEqual({
      requestHash: 'hash-2',
      subjectKind: 'command',
      subjectId: 'second',
    });
  });

  it('grants exactly one of many claims at once', async () => {
    const results = await Promise.all(Array.from({ length: 40 }, (_, index) => claim(`command-${index}`)));
    expect(results.filter(({ kind }) => kind === 'new')).toHaveLength(1);
    const winner = `command-${results.findIndex(({ kind }) => kind === 'new')}`;
    for (const result of results) {
      if (result.kind !== 'new') expect(result).toEqual({ kind: 'same', subjectKind: 'command', subjectId: winner });
    }
  });

  it('keeps nothing of a claim whose transaction is rolled back', async () => {
    const failure = database.transaction(async (queries) => {
      await claimKey(queries, claimOf('first'));
      throw new Error('the insert failed');
    });
    await expect(failure).rejects.toThrow('the insert failed');
    expect(await claim('second')).toEqual({ kind: 'new' });
  });

  it('counts for 24 hours by the database clock, and is then replaced', async () => {
    await claim('first');
    database.shiftClock(dayMs - 5_000);
    expect(await claim('second')).toMatchObject({ kind: 'same', subjectId: 'first' });
    database.shiftClock(5_001);
    expect(await findKey(database.queries, merchantId, 'order-1')).toBeUndefined();
    expect(await claim('third', { requestHash: 'hash-2' })).toEqual({ kind: 'new' });
    expect(await claim('fourth', { requestHash: 'hash-2' })).toMatchObject({ kind: 'same', subjectId: 'third' });
  });

  it.each([
    ['is open', { state: 'unknown' }, true],
    ['was settled within a day', { state: 'refused', settled_at: Date.now() - dayMs + 60_000, settled_by: 'recall' }, true],
    ['was settled longer ago, and is disputed', { state: 'disputed', settled_at: 1, settled_by: 'person' }, true],
    ['was settled longer ago', { state: 'refused', settled_at: Date.now() - dayMs - 60_000, settled_by: 'recall' }, false],
  ] as const)(
    'of a command that %s: counts for longer than a day only while it may still be asked about',
    async (_how, columns, isKept) => {
      const device = await seedDevice(database.queries, merchantId);
      const { id } = await seedCommand(database.queries, merchantId, device.id, columns);
      await claim(id);
      await database.queries
        .updateTable('idempotency_keys')
        .set({ created_at: Date.now() - 3 * dayMs })
        .execute();
      expect((await findKey(database.queries, merchantId, 'order-1'))?.subjectId).toBe(isKept ? id : undefined);
      expect(await claim('another')).toMatchObject(isKept ? { kind: 'same', subjectId: id } : { kind: 'new' });
      await database.queries
        .updateTable('idempotency_keys')
        .set({ subject_id: id, created_at: Date.now() - 3 * dayMs })
        .execute();
      expect(await sweepKeys(database.queries)).toBe(isKept ? 0 : 1);
    },
  );

  it('grants exactly one of many claims on an expired entry', async () => {
    await claim('first');
    database.shiftClock(dayMs + 1);
    const results = await Promise.all(Array.from({ length: 20 }, (_, index) => claim(`command-${index}`)));
    expect(results.filter(({ kind }) => kind === 'new')).toHaveLength(1);
  });

  it('is released only by its own subject', async () => {
    await claim('first');
    await releaseKey(database.queries, merchantId, 'order-1', 'somebody else');
    expect(await claim('second')).toMatchObject({ kind: 'same' });
    await releaseKey(database.queries, merchantId, 'order-1', 'first');
    expect(await claim('third')).toEqual({ kind: 'new' });
  });

  it('sweeps expired entries and nothing else', async () => {
    await claim('first');
    database.shiftClock(dayMs + 1);
    await claim('second', { key: 'order-2' });
    expect(await sweepKeys(database.queries)).toBe(1);
    expect(await sweepKeys(database.queries)).toBe(0);
    expect(await claim('third', { key: 'order-2' })).toMatchObject({ kind: 'same', subjectId: 'second' });
  });
});

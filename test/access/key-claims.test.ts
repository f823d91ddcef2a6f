// Idempotency-Keys under a claim that others disturb, and those that a batch claims at once: quickly, SQLite in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimAll, claimKey, claimsText, findKey, isUsed, type KeyClaim, moveKey } from '../../src/access/idempotency.ts';
import type { Database, Queries } from '../../src/database/database.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;

beforeEach(async () => {
  clock = createVirtualClock();
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
});
afterEach(() => database.close());

const claimOf = (key: string, subjectId = 's'): KeyClaim => ({ merchantId, key, requestHash: 'h', subjectKind: 'command', subjectId });

describe('a claim that finds the key taken, and then its entry gone', () => {
  /** Before each look at an entry it is released, so many times. */
  function releasing(times: number): { queries: Queries; looks: () => number } {
    let looks = 0;
    const queries = database.queries.withPlugin({
      transformQuery({ node }) {
        if (node.kind === 'SelectQueryNode') looks += 1;
        return node;
      },
      async transformResult({ result }) {
        const isTaken = result.rows.length === 0;
        if (isTaken && looks < times) await database.queries.deleteFrom('idempotency_keys').execute();
        return result;
      },
    });
    return { queries, looks: () => looks };
  }

  it('is made again, and gets it', async () => {
    await claimKey(database.queries, claimOf('k', 'other'));
    const { queries, looks } = releasing(1);
    expect(await claimKey(queries, claimOf('k'))).toEqual({ kind: 'new' });
    expect(looks()).toBe(1);
    expect((await findKey(database.queries, merchantId, 'k'))?.subjectId).toBe('s');
  });

  it('fails after the fifth attempt, with an error', async () => {
    let looks = 0;
    // Taken whenever it is claimed, gone whenever it is looked at.
    const queries = database.queries.withPlugin({
      transformQuery({ node }) {
        if (node.kind === 'SelectQueryNode') looks += 1;
        return node;
      },
      transformResult: async ({ result }) => ({ ...result, rows: [] }),
    });
    await expect(claimKey(queries, claimOf('k'))).rejects.toThrow('repeatedly');
    expect(looks).toBe(5);
  });
});

describe('claims of a batch', () => {
  it('belong to their commands from now on', async () => {
    const invoice = { ...claimOf('b', 'two'), subjectKind: 'invoice', requestHash: 'h2' } as const;
    await claimAll('sqlite', claimsText([invoice, claimOf('a', 'one')])).execute(database.queries);
    expect(await findKey(database.queries, merchantId, 'a')).toEqual({ requestHash: 'h', subjectKind: 'command', subjectId: 'one' });
    expect(await findKey(database.queries, merchantId, 'b')).toEqual({ requestHash: 'h2', subjectKind: 'invoice', subjectId: 'two' });
    const rows = await database.queries.selectFrom('idempotency_keys').select('created_at').execute();
    expect(rows).toEqual([{ created_at: clock.now() }, { created_at: clock.now() }]);
  });

  it('fail whole when one was taken since', async () => {
    await claimKey(database.queries, claimOf('b'));
    await expect(claimAll('sqlite', claimsText([claimOf('a'), claimOf('b')])).execute(database.queries)).rejects.toThrow();
    expect(await isUsed(database.queries, merchantId, 'a')).toBe(false);
  });
});

it('a key counts as used even if its entry has expired', async () => {
  await claimKey(database.queries, claimOf('k'));
  await clock.advance(25 * 3600_000);
  expect(await findKey(database.queries, merchantId, 'k')).toBeUndefined();
  expect(await isUsed(database.queries, merchantId, 'k')).toBe(true);
  expect([await isUsed(database.queries, merchantId, 'other'), await isUsed(database.queries, 'other', 'k')]).toEqual([false, false]);
});

it('a key that moves to the next attempt moves alone', async () => {
  for (const key of ['k', 'l']) await claimKey(database.queries, claimOf(key, 'first'));
  await moveKey(database.queries, merchantId, 'k', 'first', 'second');
  // Whoever looked before that does not turn it back.
  await moveKey(database.queries, merchantId, 'k', 'first', 'third');
  expect((await findKey(database.queries, merchantId, 'k'))?.subjectId).toBe('second');
  expect((await findKey(database.queries, merchantId, 'l'))?.subjectId).toBe('first');
});

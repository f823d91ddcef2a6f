// What could not be written while the database was away: tried again at growing pauses, and a first commit of which it is unclear whether it
// was made is looked for long enough, and ended if it is there.
import type { KyselyPlugin } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { createLateCommits, type LateCommits } from '../../src/ledger/settling/late-commits.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let lateCommits: LateCommits;
let commandId: string;
let merchantId: string;
let deviceId: string;
/** When the row was looked for, in milliseconds since the beginning. */
let looks: number[];
let failingLooks: number;
let ended: { id: string; reason: string }[];
let failingEnds: number;
/** Timers that were cancelled before they were due, or after. */
let cancelled: number;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  commandId = '00000000-0000-4000-8000-000000000001';
  looks = [];
  failingLooks = 0;
  ended = [];
  failingEnds = 0;
  cancelled = 0;
  const counting: Clock = {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    after(delayMs, action) {
      const cancel = clock.after(delayMs, action);
      return () => {
        cancelled += 1;
        cancel();
      };
    },
  };
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      looks.push(clock.elapsed());
      failingLooks -= 1;
      if (failingLooks >= 0) throw databaseDown('away');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  lateCommits = createLateCommits({
    database: { ...database, queries: database.queries.withPlugin(plugin) },
    clock: counting,
    logger: quietLogger,
    settlements: {
      async neverSent(command, reason) {
        failingEnds -= 1;
        if (failingEnds >= 0) throw databaseDown('away again');
        ended.push({ id: command.id, reason });
        return command;
      },
    },
  });
});

const minute = 60_000;

describe('an outcome that could not be written', () => {
  /** When it was tried, with so many failures before it is written. */
  function tryFailing(failures: number): number[] {
    const tries: number[] = [];
    lateCommits.keepTrying(async () => {
      tries.push(clock.elapsed());
      if (tries.length <= failures) throw databaseDown('away');
    });
    return tries;
  }

  it('is retried after half a second, then with pauses that double up to half a minute, until it is written', async () => {
    const tries = tryFailing(8);
    await clock.advance(10 * minute);
    const pauses = tries.map((atMs, place) => atMs - (tries[place - 1] ?? 0));
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(clock.pending).toBe(0);
  });

  it('is no longer retried once the gateway stops, and of what was written nothing is kept', async () => {
    const written = tryFailing(0);
    const unwritten = tryFailing(1_000);
    await clock.advance(2_000);
    expect([written.length, unwritten.length]).toEqual([1, 2]);
    lateCommits.stop();
    expect([clock.pending, cancelled]).toEqual([0, 1]);
    await clock.advance(minute);
    expect(unwritten).toHaveLength(2);
  });
});

describe('a command whose commit is unclear', () => {
  const seed = (overrides: object = {}) => seedCommand(database.queries, merchantId, deviceId, { id: commandId, ...overrides });

  it('is looked up at growing pauses for a minute, and then counts as not committed', async () => {
    lateCommits.readBack(commandId, new Error('lost'));
    await clock.advance(10 * minute);
    expect(looks).toEqual([500, 2_000, 5_000, 10_000, 20_000, 40_000, 60_000]);
    expect(ended).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('that is found late is settled as never sent, and not looked up again', async () => {
    lateCommits.readBack(commandId, new Error('lost'));
    await clock.advance(30_000);
    await seed();
    await clock.advance(10 * minute);
    expect(looks.at(-1)).toBe(40_000);
    expect(ended).toEqual([{ id: commandId, reason: 'The database failed before it could be sent.' }]);
  });

  it('that was settled meanwhile is left as it is', async () => {
    await seed({ state: 'never', settled_at: 1, settled_by: 'recall' });
    lateCommits.readBack(commandId, new Error('lost'));
    await clock.advance(10 * minute);
    expect(looks).toEqual([500]);
    expect(ended).toEqual([]);
  });

  it('is looked up as often when lookups fail', async () => {
    failingLooks = 3;
    lateCommits.readBack(commandId, new Error('lost'));
    await clock.advance(10 * minute);
    // After the first one, pauses that double; then the rest as always.
    expect(looks).toEqual([500, 1_500, 3_500, 7_500, 9_000, 12_000, 17_000, 27_000, 47_000, 67_000]);
  });

  it('that could not be ended is read again', async () => {
    await seed();
    failingEnds = 1;
    lateCommits.readBack(commandId, new Error('lost'));
    await clock.advance(10 * minute);
    expect(looks).toEqual([500, 1_500]);
    expect(ended).toHaveLength(1);
  });
});

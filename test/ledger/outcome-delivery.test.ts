// Which caller received which outcome [D58]: what is noted counts at once, is written soon, and outlives a database that is away.
import type { KyselyPlugin } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createOutcomeDelivery, type OutcomeDelivery } from '../../src/ledger/calls/outcome-delivery.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let isAway: boolean;
/** Statements of the outcomeDelivery. */
let tries: number;
let mostIds: number;
let outcomeDelivery: OutcomeDelivery;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  isAway = false;
  tries = 0;
  mostIds = 0;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      tries += 1;
      JSON.stringify(node, (_key, part: unknown) => {
        if (part && typeof part === 'object' && 'kind' in part && part.kind === 'PrimitiveValueListNode') {
          mostIds = Math.max(mostIds, (part as unknown as { values: unknown[] }).values.length);
        }
        return part;
      });
      if (isAway) throw new Error('The database is away.');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  outcomeDelivery = createOutcomeDelivery({
    database: { ...database, queries: database.queries.withPlugin(plugin) },
    clock,
    logger: quietLogger,
  });
});

type Columns = Parameters<typeof seedCommand>[3];
const settled: Columns = { state: 'done', settled_at: 1, settled_by: 'answer' };

async function command(overrides: Columns = {}): Promise<Command> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { name: 'Refund', request_hash: 'asked', ...overrides });
  return read(id);
}

async function read(id: string): Promise<Command> {
  const found = await findCommand(database.queries, id);
  if (!found) throw new Error('There is no such command.');
  return found;
}

describe('the outcome of a command', () => {
  it('is delivered when its recipient has received it, and undelivered when the recipient has left', async () => {
    const [told, unheard, direct] = [await command(settled), await command(settled), await command(settled)];
    const [receives, leaves] = [createFakeRecipient(), createFakeRecipient()];
    outcomeDelivery.answered(told, receives);
    outcomeDelivery.answered(unheard, leaves);
    await clock.advance(10);
    expect(await read(told.id)).toMatchObject({ outcomeReceivedAtMs: null, outcomeMissedAtMs: null });
    receives.receive();
    leaves.leave();
    outcomeDelivery.sent(direct, undefined);
    await clock.advance(10);
    expect(await read(told.id)).toMatchObject({ outcomeReceivedAtMs: expect.any(Number) as number, outcomeMissedAtMs: null });
    expect(await read(unheard.id)).toMatchObject({ outcomeReceivedAtMs: null, outcomeMissedAtMs: expect.any(Number) as number });
    expect(await read(direct.id)).toMatchObject({ outcomeReceivedAtMs: expect.any(Number) as number });
    expect([told, unheard, direct].map(({ id }) => outcomeDelivery.statusOf(id))).toEqual([undefined, undefined, undefined]);
  });

  it('that is still open was answered 3: each answer counts anew, a caller that left counts once', async () => {
    const open = await command();
    outcomeDelivery.sent(open, undefined);
    expect(outcomeDelivery.statusOf(open.id)).toBeUndefined();
    const times: (number | null)[] = [];
    for (const note of [
      () => outcomeDelivery.answered(open, undefined),
      () => outcomeDelivery.callerLeft(open),
      () => outcomeDelivery.answered(open, undefined),
    ]) {
      await clock.advance(1_000);
      note();
      await clock.advance(10);
      times.push((await read(open.id)).outcomeMissedAtMs);
    }
    expect(times[0]).toEqual(expect.any(Number));
    expect(times[1]).toBe(times[0]);
    expect(times[2]).toBe((times[0] ?? 0) + 2_020);
  });

  it('is noted of nothing that is not recognised by its content, and not twice', async () => {
    const nameless = await command({ ...settled, request_hash: null });
    const known = await command({ ...settled, outcome_received_at: 5 });
    for (const one of [nameless, known]) {
      outcomeDelivery.inferred(one);
      outcomeDelivery.callerLeft(one);
      outcomeDelivery.answered(one, undefined);
      expect(outcomeDelivery.statusOf(one.id)).toBeUndefined();
    }
    await clock.advance(10);
    expect((await read(known.id)).outcomeReceivedAtMs).toBe(5);
    expect((await read(nameless.id)).outcomeReceivedAtMs).toBeNull();
  });
});

it('what is learnt while an older note is being written is written after it', async () => {
  const one = await command(settled);
  outcomeDelivery.callerLeft(one);
  outcomeDelivery.inferred(one);
  await clock.advance(10);
  expect(await read(one.id)).toMatchObject({ outcomeReceivedAtMs: clock.now() - 10, outcomeMissedAtMs: clock.now() - 10 });
});

describe('notes while the database is down', () => {
  it('count here at once, are retried after growing pauses, and a delivery is not taken back', async () => {
    const [told, left] = [await command(settled), await command()];
    isAway = true;
    outcomeDelivery.inferred(told);
    outcomeDelivery.callerLeft(told);
    outcomeDelivery.callerLeft(left);
    outcomeDelivery.answered(left, undefined);
    await clock.advance(10_000);
    expect([outcomeDelivery.statusOf(told.id), outcomeDelivery.statusOf(left.id)]).toEqual(['received', 'answered 3']);
    expect(await read(told.id)).toMatchObject({ outcomeReceivedAtMs: null });
    isAway = false;
    await clock.advance(40_000);
    expect(await read(told.id)).toMatchObject({ outcomeReceivedAtMs: expect.any(Number) as number, outcomeMissedAtMs: null });
    expect(await read(left.id)).toMatchObject({ outcomeMissedAtMs: expect.any(Number) as number });
    expect(outcomeDelivery.statusOf(told.id)).toBeUndefined();
  });

  it('wait for the next attempt and do not begin one each', async () => {
    const first = await command(settled);
    isAway = true;
    outcomeDelivery.inferred(first);
    await clock.advance(1);
    for (let count = 0; count < 20; count += 1) outcomeDelivery.inferred({ ...first, id: `other-${count}` });
    await clock.advance(100);
    expect(tries).toBe(1);
    await clock.advance(60_000);
    // After 0.5, 1, 2, 4, 8, 16 and 30 seconds.
    expect(tries).toBe(7);
  });

  it('are ten thousand at most: the oldest is dropped, and noted anew it is the youngest', async () => {
    const one = await command(settled);
    isAway = true;
    const note = (index: number) => outcomeDelivery.callerLeft({ ...one, id: `c-${index}` });
    for (let index = 0; index < 10_000; index += 1) note(index);
    expect(outcomeDelivery.statusOf('c-0')).toBe('left');
    note(0);
    note(10_000);
    expect([0, 1, 2, 10_000].map((index) => outcomeDelivery.statusOf(`c-${index}`))).toEqual(['left', undefined, 'left', 'left']);
  });

  it.each<[string, (one: Command) => void]>([
    ['have the outcome', (one) => outcomeDelivery.inferred(one)],
    ['left', (one) => outcomeDelivery.callerLeft(one)],
  ])(
    'of those who %s are written together, five hundred by a statement, and by none where there is nothing to write',
    async (_who, note) => {
      const one = await command(settled);
      note(one);
      await clock.advance(1);
      expect(tries).toBe(1);
      isAway = true;
      note(one);
      await clock.advance(1);
      tries = 0;
      for (let index = 1; index < 1_000; index += 1) note({ ...one, id: `c-${index}` });
      isAway = false;
      await outcomeDelivery.stop();
      expect([tries, mostIds]).toEqual([2, 500]);
    },
  );

  it('are written at the end', async () => {
    const one = await command(settled);
    isAway = true;
    outcomeDelivery.inferred(one);
    await clock.advance(1);
    isAway = false;
    await outcomeDelivery.stop();
    expect((await read(one.id)).outcomeReceivedAtMs).toEqual(expect.any(Number));
  });
});

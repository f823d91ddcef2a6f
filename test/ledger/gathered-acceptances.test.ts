// What devices say about having taken commands on is gathered, and written in few statements; nothing of it is lost, and nothing stays.
import type { KyselyPlugin } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { type Acceptances, createAcceptances } from '../../src/ledger/settling/acceptance.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let acceptances: Acceptances;
let merchantId: string;
/** When each statement ran, in milliseconds since the beginning. */
let statements: number[];
let failing: number;
/** So many statements before the database goes away. */
let lasting: number;
let contradicting: string[];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  statements = [];
  failing = 0;
  lasting = Number.POSITIVE_INFINITY;
  contradicting = [];
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      statements.push(clock.elapsed());
      failing -= 1;
      if (failing >= 0 || statements.length > lasting) throw databaseDown('away');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  acceptances = createAcceptances({
    database: { ...database, queries: database.queries.withPlugin(plugin) },
    clock,
    logger: quietLogger,
    onSettledAsNever: async ({ id }) => {
      contradicting.push(id);
    },
  });
});

/** A command of a device of its own. */
async function command(overrides: object = {}): Promise<string> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  return (await seedCommand(database.queries, merchantId, deviceId, overrides)).id;
}
/** One whose row says it already, as when another instance heard it too: the statement passes it over, like a row that another one holds. */
const passedOver = () => command({ accepted_at: 1 });

async function isWritten(id: string): Promise<boolean> {
  const row = await database.queries.selectFrom('commands').select('accepted_at').where('id', '=', id).executeTakeFirstOrThrow();
  return row.accepted_at !== null;
}

describe('the acceptance by a device', () => {
  it('is written within a quarter of a second together with others, once', async () => {
    const ids = [await command(), await command(), await command()];
    acceptances.note(ids[0] ?? '');
    await clock.advance(200);
    for (const id of ids) acceptances.note(id);
    await clock.advance(49);
    expect(statements).toEqual([]);
    await clock.advance(1);
    expect(statements).toEqual([250]);
    expect(await Promise.all(ids.map(isWritten))).toEqual([true, true, true]);
    await clock.advance(60_000);
    expect([statements.length, clock.pending]).toEqual([1, 0]);
  });

  it('is skipped once if another transaction holds the row, waited for the next time, and not written again', async () => {
    const ids = [await passedOver(), await command(), await passedOver()];
    for (const id of ids) acceptances.note(id);
    await clock.advance(250);
    expect(statements).toEqual([250]);
    await clock.advance(250);
    const made = statements.length;
    await clock.advance(60_000);
    expect([statements.length - made, clock.pending]).toEqual([0, 0]);
    expect(await Promise.all(ids.map(isWritten))).toEqual([true, true, true]);
  });

  it('keeps its first turn when the device sends it twice: it is not skipped for ever', async () => {
    const ids = [await passedOver(), await command()];
    for (const id of ids) acceptances.note(id);
    await clock.advance(250);
    acceptances.note(ids[0] ?? '');
    acceptances.note(await passedOver());
    await clock.advance(250);
    // Both together once more, and then the one that was passed over, which was written before.
    expect(statements).toEqual([250, 500, 500, 500]);
    await clock.advance(250);
    expect(clock.pending).toBe(0);
  });

  it('is written five hundred to a statement', async () => {
    const ids = await Promise.all(Array.from({ length: 502 }, () => command()));
    for (const id of ids) acceptances.note(id);
    lasting = 1;
    await clock.advance(250);
    expect((await Promise.all(ids.map(isWritten))).filter(Boolean)).toHaveLength(500);
    lasting = Number.POSITIVE_INFINITY;
    await clock.advance(1_000);
    expect((await Promise.all(ids.map(isWritten))).every(Boolean)).toBe(true);
  });

  it('is retried a second later when it could not be written', async () => {
    const id = await command();
    failing = 2;
    acceptances.note(id);
    await clock.advance(60_000);
    expect(statements).toEqual([250, 1_250, 2_250]);
    expect(await isWritten(id)).toBe(true);
  });

  it('is not written when the settlement has included it meanwhile', async () => {
    const id = await command();
    acceptances.note(id);
    acceptances.forget(id);
    await clock.advance(60_000);
    expect(statements).toEqual([]);
  });

  it.each([1, 2])('contradicts what was settled as never, also as one of %i', async (count) => {
    const ids = [await command({ state: 'never', settled_at: 1, settled_by: 'recall' })];
    if (count === 2) ids.push(await command());
    for (const id of ids) acceptances.note(id);
    await clock.advance(60_000);
    expect(contradicting).toEqual([ids[0]]);
  });
});

it('what is known to be accepted, although it was settled as never, contradicts nothing once more', async () => {
  acceptances.note(await command({ state: 'never', settled_at: 1, settled_by: 'recall', accepted_at: 5 }));
  await clock.advance(60_000);
  expect(contradicting).toEqual([]);
});

describe('before a never is accepted', () => {
  it('the acceptance of that command is written at once, and once', async () => {
    const [id, other] = [await command(), await command()];
    acceptances.note(id);
    acceptances.note(other);
    await acceptances.flush(id);
    expect([await isWritten(id), await isWritten(other)]).toEqual([true, false]);
    await acceptances.flush(id);
    expect(statements).toHaveLength(1);
    await clock.advance(60_000);
    expect(statements).toHaveLength(2);
  });

  it('nothing is written for a command that no device accepted', async () => {
    await acceptances.flush(await command());
    expect(statements).toEqual([]);
  });

  it('a contradiction is found there too, and a failure is thrown to the caller of flush', async () => {
    const id = await command({ state: 'never', settled_at: 1, settled_by: 'recall' });
    acceptances.note(id);
    failing = 1;
    await expect(acceptances.flush(id)).rejects.toThrow('away');
    await acceptances.flush(id);
    expect(contradicting).toEqual([id]);
  });

  it('an acceptance that was written already is not read again', async () => {
    const id = await passedOver();
    acceptances.note(id);
    await acceptances.flush(id);
    await clock.advance(60_000);
    expect(statements).toHaveLength(2);
  });
});

describe('at the end', () => {
  it('the gathered acceptances are written at once, waiting for each row, and nothing later', async () => {
    const ids = [await passedOver(), await command()];
    for (const id of ids) acceptances.note(id);
    await acceptances.stop();
    expect(await isWritten(ids[1] ?? '')).toBe(true);
    expect(statements).toEqual([0, 0, 0]);
    acceptances.note(await command());
    await clock.advance(60_000);
    expect([statements.length, clock.pending]).toEqual([3, 0]);
  });

  it('nothing is begun any more, also when nothing was waiting', async () => {
    await acceptances.stop();
    acceptances.note(await command());
    expect(clock.pending).toBe(0);
  });

  it('an unavailable database does not keep the gateway from stopping', async () => {
    failing = 10;
    acceptances.note(await command());
    await acceptances.stop();
    expect(clock.pending).toBe(0);
  });

  it('what is being written is not written a second time', async () => {
    const ids = [await command(), await command()];
    for (const id of ids) acceptances.note(id);
    await Promise.all([clock.advance(250), acceptances.stop()]);
    expect(statements).toHaveLength(1);
  });
});

// Which device must confirm an unconfirmed decision before the same operation goes out again, and when the decision stands without that [D129].
import type { KyselyPlugin } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { CommandRequest } from '../../src/ledger/calls/call.ts';
import { createConfirmation } from '../../src/ledger/calls/confirmation.ts';
import type { Command } from '../../src/ledger/command.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
let deviceId: string;
let journalNow: string | undefined;
let answers: boolean[];
let asked: string[];
/** That it has sent to the database. */
let statements: number;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  journalNow = 'j';
  answers = [];
  asked = [];
});

const decided = async (settledAt: number, journalId: string | null = 'j') => {
  const row = { state: 'refused', settled_by: 'person', settled_at: settledAt, journal_id: journalId, document_nr: 'd' } as const;
  return (await seedCommand(database.queries, merchantId, deviceId, row)).id;
};

function createHearer(): () => Promise<number | undefined> {
  const link = {
    presence: { journalOf: (id: string, stored?: string) => (id === deviceId && stored === 'stored' ? journalNow : 'wrong') },
  };
  const recall = {
    async confirm({ id }: Command) {
      asked.push(id);
      return answers.shift() ?? false;
    },
  };
  const request = { merchantId, deviceId, name: 'Pay', documentNr: 'd', journalId: 'stored' } as CommandRequest;
  const counting: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  statements = 0;
  const hearing = createConfirmation({ database: { queries: database.queries.withPlugin(counting) }, link, recall });
  return () => hearing.confirmWithDevice(request);
}
const confirmWithDevice = () => createHearer()();

it('asks no device where nothing was decided', async () => {
  expect(await confirmWithDevice()).toBeUndefined();
  expect(asked).toEqual([]);
  expect(statements, 'one look at the device').toBe(1);
});

it('asks about each, the oldest first, and returns until when all decisions are confirmed', async () => {
  const [second, first] = [await decided(20), await decided(10)];
  answers = [true, true];
  expect(await confirmWithDevice()).toBe(20);
  expect(asked).toEqual([first, second]);
});

it('asks about more decisions than one query returns', async () => {
  for (let at = 1; at <= 41; at += 1) await decided(at);
  answers = Array.from({ length: 41 }, () => true);
  expect(await confirmWithDevice()).toBe(41);
  expect(new Set(asked).size).toBe(41);
});

it('asks one question for many calls at once, and another one afterwards', async () => {
  await decided(10);
  answers = [true, true];
  const hearer = createHearer();
  expect(await Promise.all([hearer(), hearer()])).toEqual([10, 10]);
  expect(asked).toHaveLength(1);
  await hearer();
  expect(asked).toHaveLength(2);
});

it('stops at the first that is not answered', async () => {
  const [first] = [await decided(10), await decided(20)];
  await expect(confirmWithDevice()).rejects.toThrow('nothing was sent');
  expect(asked).toEqual([first]);
});

describe('without an answer of the journal to which it was sent', () => {
  it('nothing is sent to other hardware, which is asked because it may have executed it [D304]', async () => {
    const id = await decided(10, 'before');
    await expect(confirmWithDevice()).rejects.toThrow('other hardware');
    expect(asked).toEqual([id]);
  });

  it('nor to a device that no longer keeps a journal', async () => {
    journalNow = undefined;
    await decided(10);
    await expect(confirmWithDevice()).rejects.toThrow('other hardware');
  });

  it('nor to one that kept none then, whatever it keeps now', async () => {
    for (const [now, why] of [
      [undefined, 'must first confirm'],
      ['j', 'other hardware'],
    ] as const) {
      journalNow = now;
      const id = await decided(10, null);
      await expect(confirmWithDevice()).rejects.toThrow(why);
      expect(asked.at(-1)).toBe(id);
      await database.queries.deleteFrom('commands').execute();
    }
  });
});

// A list must stay fast with a million commands: each filter uses an index, in the order of the list or for few rows.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import type { CommandFilter } from '../../../src/cabinet/views/lists/command-filter.ts';
import { listCommands, readListed } from '../../../src/cabinet/views/lists/commands-list.ts';
import type { Place } from '../../../src/cabinet/views/lists/cursor.ts';
import { readCallbacks, readSale } from '../../../src/cabinet/views/sale/sale-facts.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { fillMany, firstPlan } from './plans.ts';

const one = '0d4f3c52-7a33-4b56-9d0e-6a2f6c1f8a11';
/** A merchant with few commands beside one with many. */
const two = '1d4f3c52-7a33-4b56-9d0e-6a2f6c1f8a22';
/** One of the devices with many commands. */
const busiest = '2d4f3c52-7a33-4b56-9d0e-6a2f6c1f8a33';
const after = { atMs: 1_700_015_000_000, id: one };

describe.each(engines)('query plans of the list of commands on %s', (engine) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openNewDatabase(engine);
    await seedMerchant(database.queries, { id: one });
    await seedMerchant(database.queries, { id: two });
    await fillMany(database, one, { firstDevice: busiest });
  }, 60_000);
  afterAll(() => database.close());

  /** Reads the device locks, then commands by id. */
  const byLock =
    engine === 'sqlite'
      ? /SEARCH c USING INDEX sqlite_autoindex_commands_1 \(id=\?\).*SCAN lock/s
      : /commands_pkey.*device_locks|device_locks.*commands_pkey/s;
  const cases: [string, { merchantId: string | undefined }, CommandFilter, RegExp][] = [
    ['payments of all', { merchantId: undefined }, { mode: 'cards' }, /commands_by_time/],
    ['payments of one merchant', { merchantId: two }, { mode: 'cards' }, /commands_by_merchant/],
    ['fiscal operations of all', { merchantId: undefined }, { mode: 'fiscal' }, /commands_by_time/],
    ['fiscal operations of one merchant', { merchantId: two }, { mode: 'fiscal' }, /commands_by_merchant/],
    ['a device', { merchantId: one }, { mode: 'cards', deviceId: busiest }, /commands_by_device/],
    ['declined operations of a device', { merchantId: one }, { states: ['declined'], deviceId: busiest }, /commands_by_device/],
    ['all operations by amount', { merchantId: undefined }, { minBani: 5_000 }, /commands_by_time.*commands_by_time/s],
    ['declined operations of a merchant with few', { merchantId: two }, { states: ['declined'] }, /commands_by_merchant/],
    ['declined operations', { merchantId: undefined }, { states: ['declined'] }, /commands_by_time/],
    ['payments of one merchant that never ran', { merchantId: one }, { mode: 'cards', states: ['never'] }, /commands_by_merchant/],
    ['open documents of one merchant', { merchantId: one }, { mode: 'cards', states: ['notClosed'] }, byLock],
    ['unknown outcomes of one merchant', { merchantId: one }, { states: ['unknown'] }, byLock],
    ['reviews of one merchant', { merchantId: one }, { mode: 'cards', states: ['needsPerson'] }, /commands_to_review/],
    ['open documents', { merchantId: undefined }, { states: ['notClosed'] }, byLock],
    ['unknown outcomes', { merchantId: undefined }, { states: ['unknown'] }, byLock],
    ['reviews', { merchantId: undefined }, { states: ['needsPerson'] }, /commands_to_review/],
  ];
  it.each(cases)('%s', async (_name, scope, filter, index) => {
    const plan = await firstPlan(database, (queries) => listCommands(queries, scope, filter, { limit: 50, after }));
    expect(plan).toMatch(index);
    expect(plan).not.toMatch(/Seq Scan on commands|SCAN c(?! USING INDEX)/);
  });

  it('reads rows by id, and never scans a merchant for the order', async () => {
    const scope = { merchantId: one };
    const byId = engine === 'sqlite' ? /SEARCH c USING INDEX sqlite_autoindex_commands_1 \(id=\?\)/ : /commands_pkey/;
    expect(await firstPlan(database, (queries) => readListed(queries, scope, ['id-1', 'id-2']))).toMatch(byId);
    expect(await firstPlan(database, (queries) => readSale(queries, scope, 'id-2', []))).toMatch(byId);
    const failed = await firstPlan(database, (queries) => readAttention(queries, scope, 1_700_010_000_000, createMismatches()), {
      table: 'join commands p',
    });
    expect(failed).toMatch(/settlements_failed/);
    expect(failed).not.toMatch(/commands_by_merchant \(merchant_id=\?\)/);
    const untold = await firstPlan(database, (queries) => readAttention(queries, scope, 0, createMismatches()), {
      table: 'callbacks',
      isSmall: true,
    });
    expect(untold).toMatch(/callbacks_dead/);
    const told = await firstPlan(database, (queries) => readCallbacks(queries, scope, ['a', 'b']), { table: 'callbacks', isSmall: true });
    expect(told).not.toMatch(/callbacks_by_merchant/);
  });

  it('finds rare old rows in several bounded scans', async () => {
    const found: string[][] = [];
    let place: Place | undefined;
    do {
      const rare = { minBani: 102, maxBani: 102 };
      const page = await listCommands(database.queries, { merchantId: one }, rare, { limit: 50, after: place });
      found.push(page.commands.map(({ id }) => id));
      place = page.next;
    } while (place !== undefined);
    expect(found.flat()).toEqual(['id-7002', 'id-2']);
    expect(found.length, 'a page walks some thousand rows, and not ten').toBeGreaterThan(1);
  });

  it('a search uses one index per interpretation of the text, and scans nothing', async () => {
    for (const scope of [{ merchantId: undefined }, { merchantId: one }]) {
      const plan = await firstPlan(database, (queries) => listCommands(queries, scope, { q: '123456' }, { limit: 50 }));
      for (const index of [/commands_by_document/, /commands_by_receipt\b/, /commands_by_amount/]) expect(plan).toMatch(index);
      expect(plan).toMatch(/bank_operations_pkey|SEARCH b USING/);
      expect(plan).not.toMatch(/Seq Scan on commands|SCAN c(?! USING)/);
    }
  });
});

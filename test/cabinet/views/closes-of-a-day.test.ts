// Which closes of a shop's devices are one day [D297]: the page reads enough of the shop to show each close in exactly one day.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readShopDay } from '../../../src/cabinet/views/figures/day-close.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../../support/fixtures.ts';

describe.each(engines)('the closes of one day on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let devices: { terminal: string; register: string };
  let minute = 0;
  beforeAll(async () => {
    database = await openQuickDatabase(engine);
    ({ id: merchantId } = await seedMerchant(database.queries));
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    minute = 0;
    const point_of_sales_code = randomUUID();
    const { id: terminal } = await seedDevice(database.queries, merchantId, { point_of_sales_code });
    const { id: register } = await seedDevice(database.queries, merchantId, { kind: 'register', bank: null, point_of_sales_code });
    devices = { terminal, register };
  });

  const startMs = Date.UTC(2026, 0, 20, 12);
  async function run(kind: keyof typeof devices, name: string, row: object = {}, atMinute = minute + 1): Promise<string> {
    minute = atMinute;
    const issued_at = startMs + minute * 60_000;
    const settled = { issued_at, settled_at: issued_at + 500, settled_by: 'answer', state: 'done' } as const;
    return (await seedCommand(database.queries, merchantId, devices[kind], { name, ...settled, ...row })).id;
  }
  async function sale(): Promise<void> {
    await run('terminal', 'Pay', { amount_bani: 1_000, document_state: 'closed' });
    await run('register', 'PrintReceipt', { amount_bani: 1_000, card_bani: 1_000 });
  }
  const bank = (atMinute?: number) => run('terminal', 'CloseDay', { report: '{"amount":10}' }, atMinute);
  const z = (atMinute?: number) => run('register', 'Report', { args: '{"fiscal":true}', report: '{"number":1}' }, atMinute);
  const dayOf = async (closeId: string) => {
    const day = await readShopDay(database.queries, { merchantId }, closeId);
    return new Set(day?.sources.map(({ commandId }) => commandId));
  };

  async function shopCode(): Promise<string | null> {
    const query = database.queries.selectFrom('devices').select('point_of_sales_code as code').where('id', '=', devices.terminal);
    return (await query.executeTakeFirstOrThrow()).code;
  }

  it('are shown together from either side', async () => {
    await sale();
    const closes = [await bank(), await z()];
    for (const close of closes) expect(await dayOf(close)).toEqual(new Set(closes));
  });

  it('do not contain a bank close that belongs to an earlier Z report', async () => {
    await sale();
    const [bankClose, first] = [await bank(), await z()];
    await sale();
    const second = await z();
    expect(await dayOf(second)).toEqual(new Set([second]));
    expect(await dayOf(bankClose)).toEqual(new Set([bankClose, first]));
  });

  it('do not contain the Z report before while that of the day is still to come, however long after its bank close it was made', async () => {
    await sale();
    const first = await bank();
    const firstZ = await z(minute + 30);
    await sale();
    const second = await bank();
    expect(await dayOf(second), 'nearer to the Z report than its own bank close').toEqual(new Set([second]));
    expect(await dayOf(firstZ)).toEqual(new Set([first, firstZ]));
    const secondZ = await z(minute + 30);
    expect(await dayOf(second)).toEqual(new Set([second, secondZ]));
    expect(await dayOf(firstZ)).toEqual(new Set([first, firstZ]));
  });

  it('are all closes of the shop between two evenings, also if a register is closed twice a day', async () => {
    await sale();
    const noon = await z();
    await sale();
    await sale();
    const bankClose = await bank(600);
    const evening = await z();
    for (const close of [noon, bankClose, evening]) expect(await dayOf(close)).toEqual(new Set([noon, bankClose, evening]));
    await sale();
    const next = await bank(1440);
    expect(await dayOf(next)).toEqual(new Set([next]));
    expect(await dayOf(noon)).toEqual(new Set([noon, bankClose, evening]));
  });

  it('contain each close of several terminals and registers once, also the first close of a device after days', async () => {
    const shop = { point_of_sales_code: await shopCode() };
    const spare = await seedDevice(database.queries, merchantId, shop);
    const bar = await seedDevice(database.queries, merchantId, { kind: 'register', bank: null, ...shop });
    const both = devices;
    const shifts: Set<string>[] = [];
    for (const [shift, hour] of [8, 16, 24, 32, 40].entries()) {
      await sale();
      // The second pair makes its own sales, and is closed in the last two shifts only.
      devices = { terminal: spare.id, register: bar.id };
      await sale();
      devices = both;
      minute = hour * 60;
      const closes = [await bank(), await z()];
      devices = { terminal: spare.id, register: bar.id };
      // A late sale, between the closes.
      await sale();
      if (shift >= 3) closes.push(await bank(), await z());
      devices = both;
      shifts.push(new Set(closes));
    }
    for (const shift of shifts) for (const close of shift) expect(await dayOf(close)).toEqual(shift);
  });

  it('are the same from each of them, if two registers have shared most of their operations with different closes', async () => {
    const { register } = devices;
    const bar = await seedDevice(database.queries, merchantId, { kind: 'register', bank: null, point_of_sales_code: await shopCode() });
    for (let count = 0; count < 3; count += 1) await sale();
    const closes = [await z()];
    for (let count = 0; count < 5; count += 1) {
      devices.register = bar.id;
      await run('register', 'PrintReceipt', { amount_bani: 1_000, cash_bani: 1_000 });
      devices.register = register;
    }
    await sale();
    closes.push(await bank(), await z());
    devices.register = bar.id;
    closes.push(await z());
    for (const close of closes) expect(await dayOf(close)).toEqual(new Set(closes));
  });

  it('are further apart than a day only on different days', async () => {
    const [bankClose, later] = [await bank(), await z(minute + 19 * 60)];
    expect(await dayOf(bankClose)).toEqual(new Set([bankClose]));
    expect(await dayOf(later)).toEqual(new Set([later]));
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createQrSecrets } from '../../src/invoices/qr-secrets.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { codeOf, countStatements } from './shop.ts';

describe.each(engines)('QR secrets on %s', (engine) => {
  let database: TestDatabase;
  let clock: VirtualClock;
  let seed = 0;

  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openTestDatabase(engine, clock);
  });
  afterEach(() => database.close());

  const open = (on: Database = database) => createQrSecrets({ database: on, clock, random: seededRandom((seed += 1)) });
  const rotate = () => database.transaction((queries) => open().rotate(queries));
  const ids = async () => (await database.queries.selectFrom('qr_secrets').select('id').orderBy('id').execute()).map(({ id }) => id);

  it('are one, however many gateways start together, and all of them read each other’s QRs', async () => {
    const gateways = Array.from({ length: 10 }, () => open());
    await Promise.all(gateways.map((gateway) => gateway.load()));
    expect(await ids()).toEqual([1]);
    const { oid, qr, secretId } = await (gateways[0] ?? open()).draw();
    expect(secretId).toBe(1);
    for (const gateway of gateways) expect(await gateway.read(qr)).toBe(oid);
  });

  it('are made at the first use if they were not loaded', async () => {
    const { oid, qr } = await open().draw();
    expect(await open().read(qr)).toBe(oid);
  });

  it('stay good after a rotation; the new one signs only when every gateway can know it', async () => {
    const [here, there] = [open(), open()];
    await there.load();
    const old = await here.draw();
    expect(await rotate()).toBe(2);
    expect((await here.draw()).secretId).toBe(1);
    await clock.advance(61_000);
    const fresh = await here.draw();
    expect(fresh.secretId).toBe(2);
    // `there` has not looked since before the rotation.
    expect(await there.read(fresh.qr)).toBe(fresh.oid);
    expect(await there.read(old.qr)).toBe(old.oid);
    expect((await there.draw()).secretId).toBe(2);
    expect(await here.write(old.oid, 1)).toBe(old.qr);
    expect(await open().write(fresh.oid, 2)).toBe(fresh.qr);
    await expect(here.write(old.oid, 99)).rejects.toThrow('99');
  });

  it('that are too new sign nothing, also at a gateway that has loaded them', async () => {
    await open().load();
    // Ripeness counts by the database's clock, which runs on between two statements: ten seconds either way leave room for that.
    await clock.advance(61_000);
    await rotate();
    expect((await open().draw()).secretId).toBe(1);
    await clock.advance(50_000);
    const knowsBoth = open();
    expect((await knowsBoth.draw()).secretId).toBe(1);
    await clock.advance(20_000);
    expect((await open().draw()).secretId).toBe(2);
    // What it read before the new one was ripe holds until it looks again: late is safe, early is not.
    await clock.advance(41_000);
    expect((await knowsBoth.draw()).secretId).toBe(2);
  });

  it('sign at once if there is only one, and a second one waits even if both are too new', async () => {
    await open().load();
    await rotate();
    expect((await open().draw()).secretId).toBe(1);
  });

  it('are numbered without a gap when two gateways rotate at once', async () => {
    await open().load();
    const numbers = await Promise.all([rotate(), rotate(), rotate()]);
    expect(numbers.sort((one, other) => one - other)).toEqual([2, 3, 4]);
    expect(await ids()).toEqual([1, 2, 3, 4]);
  });

  it('begin with number 1 also if a rotation creates the first one', async () => {
    expect([await rotate(), await ids()]).toEqual([1, [1]]);
  });

  it('take the next number when another gateway was quicker with this one', async () => {
    await open().load();
    let isFirst = true;
    const late = database.queries.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        const wasFirst = isFirst;
        isFirst = false;
        if (wasFirst) await rotate();
        return result;
      },
    });
    expect(await open().rotate(late)).toBe(3);
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it('are read seldom: neither good QRs nor a flood of forged ones ask the database each time', async () => {
    const forged = (await open().draw()).qr.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    const { watched, count } = countStatements(database);
    const gateway = open(watched);
    // As old as its process may be: what counts is how old the list is.
    await clock.advance(86_400_000);
    const { oid, qr, secretId } = await gateway.draw();
    const atStart = count();
    for (let time = 0; time < 50; time += 1) {
      expect(await gateway.read(qr)).toBe(oid);
      expect(await codeOf(gateway.read(forged))).toBe(21);
      expect(await gateway.write(oid, secretId)).toBe(qr);
      await gateway.draw();
    }
    await clock.advance(5_000);
    expect(await codeOf(gateway.read(forged))).toBe(21);
    expect(count()).toBe(atStart);
    await clock.advance(1);
    await Promise.all(Array.from({ length: 50 }, () => codeOf(gateway.read(forged))));
    expect(count()).toBe(atStart + 1);
  });
});

// QR Mode with a database that loses the answer to a commit [D59]: what was written is found, and nothing happens twice.
import { beforeEach, describe, expect, it } from 'vitest';
import { hookedStorage, type StatementHook } from '../../simulation/hooked-storage.ts';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage } from '../../src/database/sqlite/memory.ts';
import { isNewCore } from '../support/core.ts';
import { seedCommand } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, eventRows, openShop, orphanRows, receipt, type Shop, template } from './shop.ts';

let hook: StatementHook;
let database: Database;
let shop: Shop;

beforeEach(async () => {
  hook = () => undefined;
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const storage = hookedStorage(createMemoryStorage(), (step) => hook(step));
  database = await openDatabase({ inMemory: true, storage, role: 'gateway', clock, logger: quietLogger });
  shop = await openShop(database, { clock });
  await shop.invoices.start();
  await clock.advance(61_000);
});

/** The answer to the next commit, or to the next write of an invoice by itself, is lost; `andAfter`: the database stays away. */
function loseAnswer(andAfter = false): void {
  let isLost = false;
  hook = ({ kind, sql, when }) => {
    const isCommit = kind === 'commit' || (kind === 'run' && /(insert into|update) "invoices"/.test(sql));
    if (isLost ? andAfter : when === 'after' && isCommit) {
      isLost = true;
      throw databaseDown('The connection was lost.');
    }
    return undefined;
  };
}

const count = async (table: 'invoices' | 'callbacks') => (await database.queries.selectFrom(table).selectAll().execute()).length;
const create = (idempotency?: { key: string; requestHash: string }) =>
  shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template, idempotency });

describe('an unclear commit', () => {
  it.each([undefined, { key: 'k', requestHash: 'h' }])(
    'of Create (%o) is read back: its answer is that of the invoice that is there',
    async (key) => {
      // Inside a transaction it is the commit whose answer counts.
      loseAnswer();
      if (key) {
        let isLost = false;
        hook = ({ kind, when }) => {
          if (isLost || kind !== 'commit' || when !== 'after') return undefined;
          isLost = true;
          throw databaseDown('The connection was lost.');
        };
      }
      const created = await create(key);
      hook = () => undefined;
      expect(await count('invoices')).toBe(1);
      expect((await shop.invoices.scan(created.qr, anybody)).oid).toBe(created.oid);
    },
  );

  it('of Get and Payd is read back: one move and one callback each', async () => {
    const { qr } = await create();
    loseAnswer();
    expect(await codeOf(shop.invoices.scan(qr, anybody))).toBe(0);
    expect(await count('callbacks')).toBe(1);
    const payment = { receiptId: 'r-1', deviceId: shop.deviceId };
    loseAnswer();
    expect(await codeOf(shop.invoices.pay(qr, payment, anybody))).toBe(0);
    expect(await count('callbacks')).toBe(2);
    loseAnswer();
    expect(await codeOf(shop.invoices.pay(qr, { ...payment, receiptId: 'r-2' }, anybody))).toBe(22);
  });

  // The card payment is a row of the old core; paid-beside-card.test.ts has the same for both.
  it.runIf(!isNewCore)(
    'or any other loss in a Payd beside a card payment: one move, one callback and one entry on the orphan board',
    async () => {
      const steps = { seen: 0, lostAt: 0 };
      const losing: StatementHook = () => {
        steps.seen += 1;
        if (steps.seen === steps.lostAt) throw databaseDown('The connection was lost.');
        return undefined;
      };
      for (steps.lostAt = 1; steps.lostAt <= steps.seen + 1 && steps.lostAt < 100; steps.lostAt += 1) {
        hook = () => undefined;
        const { oid, qr } = await create();
        await codeOf(shop.invoices.scan(qr, anybody));
        await database.queries.updateTable('invoices').set({ payment_begun_at: 1 }).where('oid', '=', oid).execute();
        await seedCommand(database.queries, shop.merchantId, shop.secondDeviceId, { document_nr: oid });
        const payment = { receiptId: 'r-1', deviceId: shop.deviceId };
        steps.seen = 0;
        hook = losing;
        expect(await codeOf(shop.invoices.pay(qr, payment, anybody))).toBe(0);
        hook = () => undefined;
        expect(await codeOf(shop.invoices.pay(qr, payment, anybody))).toBe(0);
        expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
        expect(await orphanRows(database, oid)).toMatchObject([{ receipt_id: 'r-1', reason: 'paid-by-card-too' }]);
        expect(await count('callbacks')).toBe(2 * steps.lostAt);
      }
      expect(steps.lostAt).toBeGreaterThan(10);
    },
  );

  it('that cannot be read back is 2, and repeating it is safe', async () => {
    const key = { key: 'k', requestHash: 'h' };
    loseAnswer(true);
    expect(await codeOf(create(key))).toBe(2);
    hook = () => undefined;
    const created = await create(key);
    expect(await count('invoices')).toBe(1);
    loseAnswer(true);
    expect(await codeOf(shop.invoices.scan(created.qr, anybody))).toBe(2);
    hook = () => undefined;
    expect(await codeOf(shop.invoices.scan(created.qr, anybody))).toBe(0);
    expect(await count('callbacks')).toBe(1);
  });
});

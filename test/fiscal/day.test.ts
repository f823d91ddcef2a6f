// A random day of hundreds of operations on a bad network: the register's Z says to the ban what the ledger holds.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/link/protocol.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { createSaleWorld, type Told } from '../support/sale-world.ts';
import { seededRandom } from '../support/seeded-random.ts';

const operations = byDayOrNight(300, 1_000);

it('Z totals equal the sums of the ledger', { timeout: 120_000 }, async () => {
  const world = await createSaleWorld({ seed: 20260304 });
  const register = await world.register({ timing: { slowMs: 2_000, newRollMs: 500 }, restartAfterMs: 500 });
  const dice = seededRandom(7);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(dice.fraction() * items.length)] as Item;
  const call = { merchantId: world.merchantId, deviceId: register.id };
  world.weather = { ...world.weather, lossRate: 0.02, duplicateRate: 0.05, shortestDelayMs: 1, maxDelayMs: 400 };

  /** As an ERP does: the same request until the answer is a yes or a no. */
  async function insist(send: () => Promise<{ report?: string }>): Promise<Told> {
    for (let tries = 0; tries < 60; tries += 1) {
      const answer = await world.run(send());
      if (answer.code === 0 || answer.code === 50) return answer;
      await world.clock.advance(5_000);
    }
    throw new Error('No answer in an hour.');
  }

  const told = { receiptBani: 0, receipts: 0, cashInBani: 0, cashOutBani: 0 };
  for (let count = 0; count < operations; count += 1) {
    // A few magic endings: declined, slow, late, lost, twice, power cuts, paper, busy.
    const endings = [0, 1, 5, 10, 25, 50, 60, 99, 61, 66, 67, 68, 69, 71, 73, 74, 75];
    const bani = (1 + Math.floor(dice.fraction() * 90)) * 100 + pick(endings);
    const idempotency = { key: `key ${count}`, requestHash: 'h' };
    const kind = pick(['receipt', 'receipt', 'receipt', 'receipt', 'card', 'card', 'in', 'out', 'x']);
    if (kind === 'in') {
      const { code } = await insist(() => world.fiscal.cashIn({ ...call, amountBani: bani, idempotency }));
      if (code === 0) told.cashInBani += bani;
    } else if (kind === 'out') {
      const { code } = await insist(() => world.fiscal.cashOut({ ...call, amountBani: bani, idempotency }));
      if (code === 0) told.cashOutBani += bani;
    } else if (kind === 'x') {
      expect((await insist(() => world.fiscal.createReport({ ...call, isFiscal: false, idempotency }))).code).toBe(0);
    } else {
      const value = {
        Uid: `uid ${count}`,
        Items: [{ Name: 'Goods', Quantity: 1, Price: bani / 100 }],
        Payments: [{ PaymentCode: kind === 'card' ? 1 : 0, Amount: bani / 100 }],
      };
      const { code } = await insist(() => world.fiscal.printReceipt({ ...call, receipt: value }));
      if (code === 0) {
        told.receiptBani += bani;
        told.receipts += 1;
      }
    }
  }

  world.weather = { ...world.weather, lossRate: 0, duplicateRate: 0 };
  const z = await insist(() => world.fiscal.createReport({ ...call, isFiscal: true }));
  const totals = z.report?.totals as JsonObject;
  const commands = await world.commands();
  expect(commands.length).toBeGreaterThanOrEqual(operations);
  const done = commands.filter(({ state }) => state === 'done');
  const sum = (name: string) =>
    done.filter((command) => command.name === name).reduce((bani, { amountBani }) => bani + (amountBani ?? 0), 0);
  const printed = done.filter(({ name }) => name === 'PrintReceipt');
  const printedBani = printed.reduce(
    (bani, { report }) => bani + Math.round((JSON.parse(report ?? '{}') as { total: number }).total * 100),
    0,
  );
  const bani = (lei: unknown) => Math.round(Number(lei) * 100);

  // Register, ledger and ERP agree.
  expect(bani(totals.total)).toBe(printedBani);
  expect(totals.receipts).toBe(printed.length);
  expect(bani(totals.moneyIn)).toBe(sum('MoneyIn'));
  expect(bani(totals.moneyOut)).toBe(sum('MoneyOut'));
  expect(told).toEqual({ receiptBani: printedBani, receipts: printed.length, cashInBani: sum('MoneyIn'), cashOutBani: sum('MoneyOut') });
  // What was paid by card is what the bank holds.
  expect(register.bank.netBani()).toBe(bani((totals.byPayment as JsonObject).card));
  expect(commands.filter(({ state }) => state === 'sent' || state === 'unknown')).toEqual([]);
  const uids = register
    .fiscalMemory()
    .documents()
    .flatMap((document) => (document.type === 'receipt' ? [document.uid] : []));
  expect(new Set(uids).size).toBe(uids.length);
  expect(world.ledger.stats().contradictions).toBe(0);
});

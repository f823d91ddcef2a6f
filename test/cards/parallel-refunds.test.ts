// Parallel refunds never add up to more than was paid: on both engines, in real time, from several callers and two gateways.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { createSaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';

describe.each(engines)('refunds on %s', (engine) => {
  it('under parallel load sum up to the original at most, and ledger and bank agree', async () => {
    const database = await openTestDatabase(engine);
    const world = await createSaleWorld({ database, clock: systemClock });
    const terminal = await world.terminal({ hasMagic: false, timing: { customerMs: 1, bankMs: 1 } });
    await until(() => world.life.link.presence.of(terminal.id) !== undefined);
    const documentNr = world.random.uuid();
    const call = { merchantId: world.merchantId, deviceId: terminal.id };
    const paid = await world.told(world.pay(terminal.id, 10, documentNr));
    expect(paid.code).toBe(0);
    const payment = { documentNr, operationId: String(paid.report?.operationId), rrn: String(paid.report?.rrn) };
    expect((await world.told(world.cards.closeDoc({ ...call, ...payment }))).code).toBe(0);

    const amounts = [300, 400, 500, 150, 250];
    const codes: number[] = [];
    async function customer(seed: number): Promise<void> {
      for (let round = 0; round < 8; round += 1) {
        const amountBani = amounts[(seed + round) % amounts.length] ?? 100;
        const { code } = await world.told(world.cards.refund({ ...call, ...payment, amountBani, currency: 'MDL' }));
        codes.push(code);
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map(customer));

    const refunds = (await world.commands()).filter(({ name }) => name === 'Refund');
    const doneBani = refunds.filter(({ state }) => state === 'done').reduce((sum, { amountBani }) => sum + (amountBani ?? 0), 0);
    expect(doneBani).toBeLessThanOrEqual(1_000);
    expect(doneBani).toBeGreaterThan(500);
    expect(terminal.bank.netBani()).toBe(1_000 - doneBani);
    // 31 only for who meets another one on its way: they may also come one after the other.
    expect(codes.filter((code) => code !== 31)).toEqual(expect.arrayContaining([0, 40]));
    expect(codes.every((code) => [0, 31, 40].includes(code))).toBe(true);
    // Not one reached the bank only to be turned down there.
    expect(refunds.every(({ state }) => state === 'done')).toBe(true);
    await world.stop();
    await database.close();
  });
});

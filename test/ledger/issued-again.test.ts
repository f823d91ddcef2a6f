// A command that expired by a wrong clock and went out once more [D65]: whoever follows the first is led to the second by its row.
import { describe, expect, it } from 'vitest';
import { createSaleWorld } from '../support/sale-world.ts';

describe('a command that went out once more', () => {
  it('and ended under its new id before a joiner at another gateway looked again is told him as it ended', async () => {
    const world = await createSaleWorld();
    const quick = await world.terminal({ timing: { customerMs: 1, bankMs: 1 } });
    // It hears nothing, so it looks every now and then.
    const other = await world.startLife({ database: { ...world.database, onWake: () => () => {} } });
    await world.clock.advance(31_000);
    quick.setFaults({ clockSkewMs: 60_000 });
    const documentNr = world.random.uuid();
    const declined = { merchantId: world.merchantId, deviceId: quick.id, amountBani: 1061, documentNr };
    world.weather = { ...world.weather, shortestDelayMs: 50, maxDelayMs: 50 };
    const paying = world.told(world.cards.pay(declined));
    await world.clock.advance(20);
    const joined = world.told(other.cards.pay(declined));
    await world.clock.advance(5_000);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'refused']);
    expect(await paying).toMatchObject({ code: 50 });
    expect(await joined).toEqual(await paying);
  });

  it('still closes the document of the payment that its first insert found', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal({ timing: { customerMs: 1, bankMs: 1 } });
    const documentNr = world.random.uuid();
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr };
    const paid = await world.run(world.cards.pay({ ...call, amountBani: 1064 }));
    terminal.setFaults({ clockSkewMs: 60_000 });
    const operationId = String(paid.report?.['operationId']);
    expect(await world.run(world.cards.closeDoc({ ...call, operationId }))).toMatchObject({ code: 0 });
    const [payment, expired, again] = await world.commands();
    expect([expired?.state, again?.state, payment?.documentState]).toEqual(['never', 'done', 'closed']);
    expect(again?.targetId).toBe(payment?.id);
  });
});

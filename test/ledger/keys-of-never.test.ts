// What an Idempotency-Key stands for when its command did not happen [D13]: with the key alone, so that no documentNr hides a mistake.
import { beforeEach, describe, expect, it } from 'vitest';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let register: Awaited<ReturnType<SaleWorld['register']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  register = await world.register();
});

const cashIn = (key: string, amountBani = 500) =>
  world.fiscal.cashIn({
    merchantId: world.merchantId,
    deviceId: register.id,
    amountBani,
    idempotency: { key, requestHash: `in ${amountBani}` },
  });

describe('an Idempotency-Key', () => {
  it('moves along when an expired command is issued again: by the gateway, on the new core by the repeat [D301]', async () => {
    await world.clock.advance(1_000);
    register.setFaults({ clockSkewMs: 60_000 });
    if (isNewCore) expect((await world.run(cashIn('k'))).code).toBe(30);
    const first = await world.run(cashIn('k'));
    expect(first.code).toBe(0);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'done']);
    expect(await world.run(cashIn('k'))).toEqual(first);
    expect(register.fiscalMemory().documents()).toHaveLength(1);
  });

  it('is free again when a joined caller learns that the command never began, though its own call is gone', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    void world.told(cashIn('k'));
    await world.clock.advance(100);
    await world.crash();
    await world.restart();
    const joined = world.told(cashIn('k'));
    await world.clock.advance(100);
    world.weather = { ...world.weather, lossRate: 0 };
    await world.clock.advance(60_000);
    expect((await joined).code).toBe(30);
    // Nothing is kept under it: it may stand for something else now.
    expect((await world.run(cashIn('k', 700))).code).toBe(0);
  });

  it('is free again when its own call learns that nothing was sent', async () => {
    const { link } = world.life;
    const carry = link.carry.bind(link);
    link.carry = async () => ({ kind: 'not-sent', reason: 'The register went as it was about to be sent.' });
    expect((await world.run(cashIn('k'))).code).toBe(30);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never']);
    link.carry = carry;
    expect((await world.run(cashIn('k', 700))).code).toBe(0);
  });
});

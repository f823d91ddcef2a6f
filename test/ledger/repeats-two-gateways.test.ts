// Repeats by content [D58] across two gateways on one database, in real time, on both engines.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';

async function openPair(engine: (typeof engines)[number]) {
  const database = await openTestDatabase(engine);
  const world = await createSaleWorld({ database, clock: systemClock });
  const second = engine === 'postgres' ? await database.another() : database;
  const other = await world.startLife({ database: second });
  const register = await world.register({ hasMagic: false });
  await until(() => [world.life, other].every(({ link }) => link.presence.of(register.id) !== undefined));
  const cashIn = (gateway: typeof other, extras: object = {}) =>
    world.told(
      gateway.fiscal.cashIn({ merchantId: world.merchantId, deviceId: register.id, amountBani: 500, hashRequest: () => 'in', ...extras }),
    );
  const deposits = () => register.fiscalMemory().documents().length;
  async function close() {
    await other.stop();
    await world.stop();
    if (second !== database) await second.close();
    await database.close();
  }
  return { world, other, register, cashIn, deposits, close };
}

describe.each(engines)('two gateways on %s', (engine) => {
  it('treat an equal call after each other’s answer as a new one, each time', async () => {
    const { world, other, cashIn, deposits, close } = await openPair(engine);
    for (let round = 1; round <= 6; round += 1) {
      const caller = createFakeRecipient();
      const answer = await cashIn(round % 2 === 0 ? other : world.life, { recipient: caller });
      expect(answer).toMatchObject({ code: 0, isRepeated: false });
      expect(deposits()).toBe(round);
      caller.receive();
    }
    await close();
  });

  it('find on one the outcome that was not delivered on the other: the caller gone, in flight or answered', async () => {
    const { world, other, cashIn, deposits, close } = await openPair(engine);
    const caller = createFakeRecipient();
    const leaving = cashIn(world.life, { recipient: caller });
    await until(async () => (await world.commands()).length === 1);
    caller.leave();
    await until(async () => (await world.lastCommand()).outcomeMissedAtMs !== null);
    const repeat = createFakeRecipient();
    const found = await cashIn(other, { recipient: repeat });
    expect(found).toMatchObject({ code: 0, isRepeated: true, oid: (await leaving).oid });
    repeat.leave();
    expect(await cashIn(world.life)).toMatchObject({ code: 0, isRepeated: true, oid: found.oid });
    expect(deposits()).toBe(1);
    await close();
  });

  it('find it when the gateway that sent it has died, as soon as that is known', async () => {
    const { world, other, cashIn, deposits, close } = await openPair(engine);
    const silent = createFakeRecipient();
    const first = await cashIn(other, { recipient: silent });
    expect(first.code).toBe(0);
    await world.database.queries.updateTable('instances').set({ stopped_at: 1 }).where('id', '=', other.instanceId).execute();
    expect(await cashIn(world.life)).toMatchObject({ code: 0, isRepeated: true, oid: first.oid });
    expect(deposits()).toBe(1);
    await close();
  });

  it('run nothing for many repeats at once', async () => {
    const { world, other, cashIn, deposits, close } = await openPair(engine);
    const caller = createFakeRecipient();
    const first = await cashIn(world.life, { recipient: caller });
    caller.leave();
    await until(async () => (await world.lastCommand()).outcomeMissedAtMs !== null);
    const repeats = await Promise.all(
      Array.from({ length: 10 }, (_, at) => cashIn(at % 2 === 0 ? world.life : other, { recipient: createFakeRecipient() })),
    );
    expect(new Set(repeats.map(({ code, oid, isRepeated }) => `${code} ${oid} ${isRepeated}`))).toEqual(new Set([`0 ${first.oid} true`]));
    expect(deposits()).toBe(1);
    await close();
  });
});

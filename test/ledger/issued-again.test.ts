// A command that expired by a wrong clock and went out once more [D65]: the row of the first leads its callers to the second. On the new core
// it goes out again by the repeat of the ERP alone [D301].
import { describe, expect, it } from 'vitest';
import { isNewCore } from '../support/core.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld } from '../support/sale-world.ts';

describe.runIf(isNewCore)('a command that expired by a wrong clock', () => {
  const expiring = async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal({ timing: { customerMs: 1, bankMs: 1 } });
    const documentNr = world.random.uuid();
    return { world, terminal, documentNr, call: { merchantId: world.merchantId, deviceId: terminal.id, documentNr } };
  };

  it('is answered 30 to its caller and to one that joined it at another gateway; the repeat runs', async () => {
    const { world, terminal, call } = await expiring();
    const other = await world.startLife({ database: { ...world.database, onWake: () => () => {} } });
    await world.clock.advance(31_000);
    terminal.setFaults({ clockSkewMs: 60_000 });
    world.weather = { ...world.weather, shortestDelayMs: 50, maxDelayMs: 50 };
    const paying = world.told(world.cards.pay({ ...call, amountBani: 1_000 }));
    await world.clock.advance(20);
    const joined = world.told(other.cards.pay({ ...call, amountBani: 1_000 }));
    await world.clock.advance(5_000);
    expect(await paying).toMatchObject({ code: 30, state: 'Never' });
    expect(await joined).toEqual(await paying);
    // This gateway has corrected its measure of the clock; the other one does so with the next word of the terminal.
    expect(await world.run(world.cards.pay({ ...call, amountBani: 1_000 }))).toMatchObject({ code: 0 });
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'done']);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('and was to close a document leaves it open, and its repeat closes it', async () => {
    const { world, terminal, call } = await expiring();
    const paid = await world.run(world.cards.pay({ ...call, amountBani: 1_064 }));
    terminal.setFaults({ clockSkewMs: 60_000 });
    const closing = () => world.run(world.cards.closeDoc({ ...call, operationId: String(paid.report?.['operationId']) }));
    expect(await closing()).toMatchObject({ code: 30 });
    expect((await world.lastCommand('Pay')).documentState).toBe('open');
    expect(await closing()).toMatchObject({ code: 0 });
    const [payment, expired, again] = await world.commands();
    expect([expired?.state, again?.state, payment?.documentState]).toEqual(['never', 'done', 'closed']);
    expect(again?.targetId).toBe(payment?.id);
  });

  it('known by its content alone is a new attempt in its repeat: one charge, although its caller has left', async () => {
    const { world, terminal, call } = await expiring();
    terminal.setFaults({ clockSkewMs: 60_000 });
    const recipient = createFakeRecipient();
    const unnamed = { ...call, documentNr: undefined, amountBani: 1_000, hashRequest: () => 'pay' };
    const paying = world.told(world.cards.pay({ ...unnamed, recipient }));
    await world.clock.runUntil(() => world.ledgerSends().length === 1);
    recipient.leave();
    await world.clock.advance(100);
    expect(await paying).toMatchObject({ code: 30 });
    expect(await world.run(world.cards.pay(unnamed))).toMatchObject({ code: 0, isRepeated: false });
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

// The gateway of the new core never does it.
describe.skipIf(isNewCore)('a command that was sent once more', () => {
  it('and ended under its new id before a joiner at another gateway looked again is answered to that joiner as it ended', async () => {
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

  it('is not sent when its second commit took longer than it may begin: nothing is charged late [D65]', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal({ timing: { customerMs: 1, bankMs: 1 } });
    terminal.setFaults({ clockSkewMs: 60_000 });
    let inserts = 0;
    world.hook = ({ sql, when }) => {
      if (when === 'after' && sql.includes('insert into "commands"')) inserts += 1;
      if (when === 'before' && inserts === 2 && sql === 'commit') {
        inserts += 1;
        world.clock.setWallClock(world.clock.now() + 11_000);
      }
      return undefined;
    };
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(30);
    expect(inserts).toBe(3);
    expect(world.ledgerSends().map(({ name }) => name)).toEqual(['Pay']);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'never']);
    expect(terminal.bank.charges()).toEqual([]);
  });

  it('whose caller disconnects then is what the same request again joins: not 31, and not a second payment [D58]', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal({ timing: { customerMs: 5_000, bankMs: 1 } });
    terminal.setFaults({ clockSkewMs: 60_000 });
    const recipient = createFakeRecipient();
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, hashRequest: () => 'pay' };
    const paying = world.told(world.cards.pay({ ...call, recipient }));
    await world.clock.runUntil(() => world.ledgerSends().length === 2);
    recipient.leave();
    await world.clock.advance(100);
    const [first, second] = await world.commands();
    expect([first?.outcomeMissedAtMs, second?.outcomeMissedAtMs]).toEqual([null, expect.any(Number)]);
    const repeat = await world.run(world.cards.pay(call));
    expect(repeat).toMatchObject({ code: 0, isRepeated: true, oid: second?.id });
    expect(await paying).toMatchObject({ code: 0, oid: second?.id });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('while its gateway is frozen is not sent, and the settlement by another gateway counts: one payment at most', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal({ timing: { customerMs: 1, bankMs: 1 } });
    terminal.setFaults({ clockSkewMs: 60_000 });
    let inserts = 0;
    // Dead between the commit of the second issue and its publish.
    world.hook = ({ sql, when }) => {
      if (when === 'after' && sql.includes('insert into "commands"')) inserts += 1;
      if (when !== 'after' || inserts !== 2 || sql !== 'commit') return undefined;
      inserts += 1;
      void world.crash();
      return 'hang';
    };
    const documentNr = world.random.uuid();
    void world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(5_000);
    world.hook = () => undefined;
    await world.restart();
    await world.clock.advance(60_000);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'never']);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

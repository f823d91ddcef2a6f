// Between commit and publish [D65]: whatever holds a gateway up there, nothing is published late, and never what was settled meanwhile.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Link } from '../../src/link/link.ts';
import { isNewCore } from '../support/core.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;

beforeEach(async () => {
  world = await createSaleWorld();
});

const minutes = (count: number) => count * 60_000;

/** The process is stopped between its commit and its publish until the test lets it go on. */
function pausing() {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const alterLink = (link: Link): Link => ({
    ...link,
    async carry(delivery) {
      await promise;
      return link.carry(delivery);
    },
  });
  return { alterLink, goOn };
}

describe('a gateway that stalls between commit and publish', () => {
  it('for too long sends nothing; the command becomes never and the caller is answered 30', async () => {
    const terminal = await world.terminal();
    const { clock } = world;
    world.hook = ({ sql, when }) => {
      if (when === 'after' && sql.includes('insert into "commands"')) clock.setWallClock(clock.now() + 60_000);
      return undefined;
    };
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(30);
    world.hook = () => undefined;
    expect(world.ledgerSends()).toEqual([]);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'gateway' });
    // The jump concerned what was known of the terminal's clock, too: expired, and on the new core issued again by the ERP alone [D301].
    if (isNewCore) expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(30);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('does not publish a command that another gateway and a person have settled meanwhile: one charge, by the repeat, and both callers are answered', async () => {
    const { alterLink, goOn } = pausing();
    const paused = await world.startLife({ database: world.database, alterLink });
    const terminal = await world.terminal({ faults: { noJournal: true } });
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr: world.random.uuid() };
    const held = world.told(paused.cards.pay(call));
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    // The other one waits for answerBy and beyond, and then a person looks into the bank's list.
    await world.clock.advance(minutes(8));
    await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'The bank has nothing.', actor: 'ana' }));
    const repeat = await world.run(world.cards.pay(call));
    expect(repeat.code).toBe(0);
    goOn();
    await world.clock.advance(minutes(1));
    // Its own was refused; the sale is paid [D125].
    expect(await held).toMatchObject({ code: 0, oid: repeat.oid });
    expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', settledBy: 'person' });
    expect(world.ledgerSends().filter((send) => send.id === id)).toEqual([]);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('and whose command became unknown at another gateway settles it as never: no caller keeps a wrong answer', async () => {
    const { alterLink, goOn } = pausing();
    const paused = await world.startLife({ database: world.database, alterLink });
    const terminal = await world.terminal({ isAway: true });
    world.setAway(terminal.id, false);
    await world.clock.advance(20_000);
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr: world.random.uuid() };
    const held = world.told(paused.cards.pay(call));
    await world.clock.advance(1_000);
    world.setAway(terminal.id, true);
    await world.clock.advance(minutes(6));
    goOn();
    await world.clock.advance(1_000);
    expect((await held).code).toBe(30);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'gateway' });
  });
});

describe('a caller that leaves between the insert and the publish', () => {
  it.each([
    ['of a payment with a documentNr', 'named'],
    ['of a payment that only its content identifies', 'unnamed'],
  ])('%s: nothing is sent, and its repeat is a new attempt', async (_what, kind) => {
    const terminal = await world.terminal();
    const documentNr = kind === 'named' ? world.random.uuid() : undefined;
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr, hashRequest: () => 'h' };
    const caller = createFakeRecipient();
    world.hook = ({ sql, when }) => {
      if (when === 'after' && sql.includes('insert into "commands"')) caller.leave();
      return undefined;
    };
    expect((await world.run(world.cards.pay({ ...call, recipient: caller }))).code).toBe(30);
    world.hook = () => undefined;
    expect(world.ledgerSends()).toEqual([]);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'gateway' });
    expect(await world.run(world.cards.pay(call))).toMatchObject({ code: 0, isRepeated: false });
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('the row and the wire', () => {
  it('agree: the answerBy that the terminal gets is not later than the row’s, however slow the commit was', async () => {
    const terminal = await world.terminal();
    const { clock } = world;
    world.hook = ({ sql, when }) => {
      // The database takes 4 s to get to the insert.
      if (when === 'before' && sql.includes('insert into "commands"')) clock.setWallClock(clock.now() + 4_000);
      return undefined;
    };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(0);
    const { answerByMs, issuedAtMs } = await world.lastCommand();
    const [send] = world.ledgerSends();
    const clockOffsetMs = world.life.link.presence.of(terminal.id)?.clockOffsetMs ?? 0;
    expect(Math.abs(clockOffsetMs)).toBeLessThan(100);
    expect(Date.parse(send?.message.answerBy ?? '')).toBe(answerByMs - 4_000 + clockOffsetMs);
    expect(Date.parse(send?.message.startBy ?? '')).toBe(issuedAtMs + 6_000 + clockOffsetMs);
  });
});

describe('a gateway that has just started', () => {
  it('measures the clock of the terminal before it fixes the deadlines', async () => {
    const terminal = await world.terminal({ faults: { clockSkewMs: 200_000 } });
    const fresh = await world.startLife({ database: world.database });
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr: world.random.uuid() };
    expect(await world.run(fresh.cards.pay(call))).toMatchObject({ code: 0 });
    const { answerByMs, state } = await world.lastCommand();
    expect(state).toBe('done');
    const [send] = world.ledgerSends();
    expect(Math.abs(Date.parse(send?.message.answerBy ?? '') - 200_000 - answerByMs)).toBeLessThan(1_000);
    expect(await world.commands()).toHaveLength(1);
  });
});

describe('after expired', () => {
  // On the new core nothing is issued again [D301].
  it.each([isNewCore ? ([9_000, ['never'], 30] as const) : ([9_000, ['never', 'done'], 0] as const), [10_000, ['never'], 30] as const])(
    '%i ms after the first insert began, the command is sent again or not',
    async (laterMs, states, code) => {
      const terminal = await world.terminal();
      await world.clock.advance(1_000);
      terminal.setFaults({ clockSkewMs: 60_000 });
      const { clock } = world;
      let isHeld = false;
      world.onAnswer = (answer) => {
        if (answer.outcome === 'expired' && !isHeld) {
          isHeld = true;
          clock.setWallClock(Date.parse(world.ledgerSends()[0]?.message.issuedAt ?? '') + laterMs);
        }
        return answer;
      };
      expect((await world.run(world.pay(terminal.id, 10))).code).toBe(code);
      expect((await world.commands()).map(({ state }) => state)).toEqual(states);
      expect(terminal.bank.charges()).toHaveLength(code === 0 ? 1 : 0);
    },
  );
});

// Settling what stayed open: Recall when the device is seen and at growing intervals, dead instances, old terminals, the review list.
import { beforeEach, describe, expect, it } from 'vitest';
import { isNewCore } from '../support/core.ts';
import { seedCallback } from '../support/fixtures.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;

beforeEach(async () => {
  world = await createSaleWorld();
});

const minutes = (count: number) => count * 60_000;
const key = (name: string, body = 'body') => ({ idempotency: { key: name, requestHash: body } });

/** A Pay that was done and whose answer is lost with the device: it stays away. */
async function lostPay(deviceId: string, lei = 10, documentNr: string = world.random.uuid()) {
  const paying = world.run(world.pay(deviceId, lei, documentNr));
  await world.clock.advance(100);
  world.setAway(deviceId, true);
  expect((await paying).code).toBe(3);
  const { id } = await world.lastCommand('Pay');
  return { id, documentNr };
}

describe('an unknown outcome', () => {
  it('is asked about at growing intervals, up to five minutes', async () => {
    const terminal = await world.terminal();
    await lostPay(terminal.id);
    const since = world.clock.now();
    await world.clock.advance(minutes(40));
    const { id } = await world.lastCommand();
    const asked = (await world.ledger.timelineOf(id))
      .filter(({ step, atMs }) => step === 'recall' && atMs >= since)
      .map(({ atMs }) => atMs);
    const pauses = asked.slice(1).map((atMs, at) => (atMs - (asked[at] ?? 0)) / 1_000);
    expect(pauses.length).toBeGreaterThan(8);
    // A question waits 10 s for its answer, and the sweep looks every 2 s.
    for (const [at, pause] of pauses.entries()) {
      const due = Math.max(10, Math.min(2 * 2 ** at, 300));
      expect(pause).toBeGreaterThanOrEqual(due);
      expect(pause).toBeLessThanOrEqual(due + 4);
    }
  });

  it('is settled as soon as the device is seen again', async () => {
    const terminal = await world.terminal();
    const { id } = await lostPay(terminal.id);
    await world.clock.advance(minutes(60));
    world.setAway(terminal.id, false);
    await world.clock.advance(20_000); // its own reconnecting takes up to 15 s
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done' });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('is on the review list 15 minutes after its time ran out, and leaves it when it is settled', async () => {
    const terminal = await world.terminal();
    const { id } = await lostPay(terminal.id);
    const { answerByMs } = await world.lastCommand();
    await world.clock.advance(answerByMs + minutes(15) - world.clock.now() - 1);
    expect(await world.ledger.listReview(10)).toEqual([]);
    await world.clock.advance(3_000);
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    expect(await world.steps(id)).toContain('review');
    world.setAway(terminal.id, false);
    await world.clock.advance(20_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done' });
    expect(await world.ledger.listReview(10)).toEqual([]);
  });

  it('is on that list also when another merchant has an operation that cannot be ended, which the log names now and then', async () => {
    const register = await world.register({ merchantId: world.otherMerchantId });
    const call = { merchantId: world.otherMerchantId, deviceId: register.id, amountBani: 1085 }; // answers after its time
    world.fiscal.cashIn({ ...call, callbackUri: 'http://erp.example/n' }).catch(() => {});
    await world.clock.advance(1_000);
    // The database will refuse its notice: the number is taken.
    const bad = await world.lastCommand('MoneyIn');
    await seedCallback(world.database.queries, world.otherMerchantId, { subject_kind: 'operation', subject_id: bad.id, sequence: 1 });
    const terminal = await world.terminal();
    const { id } = await lostPay(terminal.id);
    await world.clock.advance(minutes(60));
    expect((await world.ledger.listReview(10, world.merchantId)).map((command) => command.id)).toEqual([id]);
    const named = world.logger.lines.filter(
      ({ level, fields }) => level === 'error' && 'commandId' in fields && fields.commandId === bad.id,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.length).toBeLessThan(30);
  });

  it('a repeat asks the device at once', async () => {
    const terminal = await world.terminal();
    const { documentNr } = await lostPay(terminal.id);
    await world.clock.advance(minutes(30));
    // Back on the wire, but the gateway has not heard of it yet: its presence is lost.
    world.weather = { ...world.weather, lossRate: 1 };
    world.setAway(terminal.id, false);
    await world.clock.advance(16_000);
    world.weather = { ...world.weather, lossRate: 0 };
    const startedAt = world.clock.elapsed();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(world.clock.elapsed() - startedAt).toBeLessThan(5_000);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('a decision of a person about a device that is connected and silent', () => {
  it('is compared with the device’s first answer, although the device was never away, and then not asked about any more', async () => {
    const terminal = await world.terminal();
    world.onAnswer = () => undefined;
    expect((await world.run(world.pay(terminal.id, 10, world.random.uuid()))).code).toBe(3);
    await world.clock.advance(minutes(8));
    const { id } = await world.lastCommand();
    await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'The bank has it.', actor: 'ana' }));
    const decidedAtMs = world.clock.now();
    const steps = async (name: string) =>
      (await world.ledger.timelineOf(id)).filter(({ step, atMs }) => step === name && atMs >= decidedAtMs).length;
    await world.clock.advance(minutes(2));
    expect(await steps('recalled')).toBe(0);
    expect(await steps('recall')).toBeGreaterThan(3);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(minutes(3));
    expect(await steps('recalled')).toBe(1);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', outcome: 'done', operationId: expect.any(String) });
    const asked = await steps('recall');
    await world.clock.advance(minutes(20));
    expect(await steps('recall')).toBe(asked);
  });
});

describe('a gateway that dies', () => {
  it('after the commit and before the publish: Recall reports never, and a repeat is a new attempt', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    world.hook = ({ sql, when }) => {
      if (when === 'before' || !sql.includes('insert into "commands"')) return undefined;
      void world.crash();
      return 'hang';
    };
    void world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(1_000);
    expect(world.ledgerSends()).toHaveLength(0);
    world.hook = () => undefined;
    await world.restart();
    expect(await world.lastCommand()).toMatchObject({ state: 'sent' });
    await world.clock.advance(15_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'recall' });
    await world.clock.advance(30_000);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it.each([
    ['while the customer is at the terminal', 5_000, 10.64],
    ['after the bank said yes, before it received that', 171, 10],
  ])('%s: the same one settles it after its restart, within 15 s of knowing the device', async (_name, afterMs, lei) => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    void world.pay(terminal.id, lei, documentNr);
    await world.clock.advance(afterMs);
    await world.crash();
    await world.clock.advance(30_000);
    await world.restart();
    await world.clock.advance(15_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect((await world.run(world.pay(terminal.id, lei, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('leaves its commands to another instance, which Recalls them within 20 s under its own id', async () => {
    const other = await world.startLife({ database: world.database });
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    void world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(2_000);
    const { id } = await world.lastCommand();
    world.life.crash();
    const diedAt = world.clock.elapsed();
    await world.clock.runUntil(() => world.sendsOf('Recall').length > 0, 60_000);
    expect(world.clock.elapsed() - diedAt).toBeLessThanOrEqual(20_000);
    expect(world.sendsOf('Recall')[0]).toMatchObject({ replyTo: other.instanceId, args: { target: id } });
    // The repeat on the other one returns the first one's outcome.
    const call = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1064, documentNr };
    expect((await world.run(other.cards.pay(call))).code).toBe(0);
    expect(await other.ledger.find(id)).toMatchObject({ state: 'done', instanceId: other.instanceId });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('is noticed although this one has hundreds of its own in flight', async () => {
    const other = await world.startLife({ database: world.database });
    const terminal = await world.terminal();
    const terminals = [];
    for (let count = 0; count < 60; count += 1) terminals.push(await world.terminal());
    for (const each of terminals) {
      const call = { merchantId: world.merchantId, deviceId: each.id, amountBani: 1064, documentNr: world.random.uuid() };
      other.cards.pay(call).catch(() => {});
    }
    await world.clock.advance(1_000);
    void world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    world.life.crash();
    await world.clock.advance(20_000);
    expect(world.sendsOf('Recall').map(({ args }) => (args as { target: string }).target)).toContain(id);
  });

  it('a living instance’s command is not asked about by another', async () => {
    const other = await world.startLife({ database: world.database });
    const terminal = await world.terminal();
    const paying = world.pay(terminal.id, 10.64);
    await world.clock.advance(15_000);
    expect(world.sendsOf('Recall')).toEqual([]);
    expect((await world.run(paying)).code).toBe(0);
    expect(await other.ledger.find((await world.lastCommand()).id)).toMatchObject({ instanceId: world.life.instanceId });
  });

  it('whose command passes its deadline makes it unknown, so that a repeat need not wait', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    void world.pay(terminal.id, 10.65, documentNr); // answers 5 s after its time
    await world.clock.advance(1_000);
    world.setAway(terminal.id, true);
    await world.crash();
    await world.restart();
    await world.clock.advance(minutes(6));
    expect(await world.lastCommand()).toMatchObject({ state: 'unknown' });
    const startedAt = world.clock.elapsed();
    expect((await world.run(world.pay(terminal.id, 10.65, documentNr))).code).toBe(3);
    expect(world.clock.elapsed() - startedAt).toBeLessThanOrEqual(5_500);
  });
});

describe('a device without a journal', () => {
  it('is sent each command once and never Recalled; LastTransaction settles by an equal id', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true } });
    world.onAnswer = (answer) => (answer.outcome === 'done' && answer.report?.['state'] === undefined ? undefined : answer);
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(20_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'last-transaction', journalId: null });
    expect(world.ledgerSends()).toHaveLength(1);
    expect(world.sendsOf('Recall')).toEqual([]);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('that reports another transaction goes to the review list at once, and stays locked', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true } });
    world.onAnswer = (answer) =>
      answer.report?.['state'] === undefined ? undefined : { ...answer, report: { ...answer.report, commandId: 'another' } };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    await world.clock.advance(20_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'unknown', reviewReason: expect.stringContaining('another one') });
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(31);
  });

  it('whose last transaction is refused with an equal id is settled so', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true } });
    world.onAnswer = (answer) => (answer.report?.['state'] === undefined ? undefined : answer);
    expect((await world.run(world.pay(terminal.id, 10.61))).code).toBe(3);
    await world.clock.advance(20_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'refused', settledBy: 'last-transaction' });
  });

  it('that still runs it is not changed', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true }, timing: { slowMs: 299_000 } });
    void world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    await world.crash();
    await world.restart();
    await world.clock.advance(60_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'sent', reviewSinceMs: null });
    await world.clock.advance(minutes(10));
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'last-transaction' });
    expect(await world.ledger.listReview(10)).toEqual([]);
  });
});

// The new core leaves it to the repeat of the caller (docs/core-differences.md).
describe('expired', () => {
  /** The terminal's clock jumps ahead after the gateway measured it. */
  async function skewed() {
    const terminal = await world.terminal();
    await world.clock.advance(1_000);
    terminal.setFaults({ clockSkewMs: 60_000 });
    return terminal;
  }

  it.skipIf(isNewCore)('is sent again with another id before its call ends, and the Idempotency-Key moves along', async () => {
    const terminal = await skewed();
    const documentNr = world.random.uuid();
    const answer = await world.run(world.pay(terminal.id, 10, documentNr, key('k')));
    expect(answer.code).toBe(0);
    const [first, second, ...more] = await world.commands();
    expect(more).toEqual([]);
    expect(first).toMatchObject({ state: 'never', outcome: 'expired' });
    expect(second).toMatchObject({ state: 'done', documentNr });
    expect(await world.run(world.pay(terminal.id, 10, documentNr, key('k')))).toEqual(answer);
    expect(terminal.bank.charges()).toHaveLength(1);
    expect(await world.steps(second?.id ?? '')).toContain('issued again');
  });

  it.skipIf(isNewCore)('a caller that joined the first one is answered by the second', async () => {
    const terminal = await skewed();
    const documentNr = world.random.uuid();
    world.weather = { ...world.weather, shortestDelayMs: 1_000, maxDelayMs: 1_000 };
    const paying = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(500);
    const joined = world.pay(terminal.id, 10.64, documentNr, key('joined'));
    const [a, b] = await Promise.all([world.run(paying), world.run(joined)]);
    expect(a.code).toBe(0);
    expect(b).toEqual(a);
    expect(await world.run(world.pay(terminal.id, 10.64, documentNr, key('joined')))).toEqual(a);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['never', 'done']);
  });

  it('a second time is 30, and nothing is charged', async () => {
    const terminal = await world.terminal();
    world.onAnswer = (answer) => ({ ...answer, clock: new Date(0).toISOString() });
    terminal.setFaults({ clockSkewMs: 3_600_000 });
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(30);
    expect((await world.commands()).map(({ state }) => state)).toEqual(isNewCore ? ['never'] : ['never', 'never']);
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('is not tried again when it is to be aborted: the abort is answered 0', async () => {
    const terminal = await skewed();
    world.weather = { ...world.weather, shortestDelayMs: 1_000, maxDelayMs: 1_000 };
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(900);
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'x', token: 'x', amountBani: 1000 };
    expect((await world.run(world.cards.cancelTransaction(call))).code).toBe(0);
    expect((await world.run(paying)).code).toBe(30);
    expect(await world.commands()).toHaveLength(1);
    expect(terminal.bank.charges()).toHaveLength(0);
  });
});

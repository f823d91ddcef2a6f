// What the callers of Abort and LastTransaction are answered, field by field, and what a call that names a payment shows.
import { beforeEach, describe, expect, it } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import type { Outcome } from '../../src/link/protocol.ts';
import { isNewCore } from '../support/core.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { interruptible } from '../support/interruptible.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal({ timing: { customerMs: 5_000, bankMs: 100 } });
});

const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });

describe('an abort', () => {
  async function running() {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    const abort = (extras: object = {}) =>
      world.run(world.cards.cancelTransaction({ ...call(), documentNr, operationId: 'none', token: 'none', amountBani: 1_000, ...extras }));
    return { id, paying, abort };
  }

  it('that stopped the payment answers with the payment’s OID and report; it is no repeat, and under its key it is answered the same', async () => {
    const { id, paying, abort } = await running();
    world.onAnswer = (answer) => (answer.outcome === 'refused' && answer.id === id ? { ...answer, report: { text: 'stopped' } } : answer);
    const key = { idempotency: { key: 'k', requestHash: 'h' } };
    const told = await abort(key);
    expect(told).toMatchObject({ code: 0, oid: id, isRepeated: false, report: { text: 'stopped' } });
    expect(await abort(key)).toEqual(told);
    expect((await world.run(paying)).code).toBe(50);
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('that stopped a payment of which the terminal reports nothing has no report', async () => {
    const { id, abort } = await running();
    world.onAnswer = (answer) => {
      const { report: _report, ...rest } = answer;
      return answer.id === id ? rest : answer;
    };
    expect(await abort()).toMatchObject({ code: 0, oid: id, report: undefined });
  });

  it.each<Outcome>(['refused', 'unsupported'])(
    'that the terminal answers with %s is 22 two seconds later, and leaves no mark',
    async (outcome) => {
      const { id, paying, abort } = await running();
      world.onAnswer = (answer) => {
        if (answer.id === id) return undefined;
        const { report: _report, ...rest } = answer;
        return world.sendsOf('Abort').some((sent) => sent.id === answer.id) ? { ...rest, outcome } : answer;
      };
      const startedAt = world.clock.elapsed();
      expect(await abort()).toMatchObject({ code: 22, oid: id });
      expect(world.clock.elapsed() - startedAt).toBeLessThan(3_000);
      expect((await world.lastCommand()).abortRequestedAtMs).toBeNull();
      world.onAnswer = (answer) => answer;
      await world.run(paying);
    },
  );
});

describe('an abort that meets', () => {
  it('a database that fails after the terminal has refused it is 3: 22 would mean that no mark remains', async () => {
    terminal = await world.terminal({ timing: { customerMs: 100, bankMs: 10_000 } });
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    world.hook = ({ sql }) => {
      const isWithdrawal = sql.startsWith('update') && sql.includes('"abort_requested_at" = ?') && sql.includes('"abort_id" = ?');
      // The new core ends the row of the abort instead.
      const isEnd =
        isNewCore && world.sendsOf('Abort').length > 0 && sql.includes('update "commands"') && sql.includes('"is_stop_refused"');
      if (isEnd || (isWithdrawal && !sql.includes('now_ms()'))) throw databaseDown('The connection to the database was lost.');
      return undefined;
    };
    const asked = { ...call(), documentNr, operationId: 'none', token: 'none', amountBani: 1_000 };
    expect(await world.run(world.cards.cancelTransaction(asked))).toMatchObject({ code: 3, oid: id });
    if (!isNewCore) expect((await world.lastCommand()).abortRequestedAtMs).not.toBeNull();
    world.hook = () => undefined;
    expect((await world.run(paying)).code).toBe(0);
  });

  it.each([
    ['refused without an abort is too late, or was not made [D302]', 10.61, isNewCore ? 0 : 22],
    ['done is too late', 10, 22],
  ])('a payment that was settled since it was looked up and %s', async (_what, lei, code) => {
    const { database, afterNextLook } = interruptible(world.database);
    const slow = await world.startLife({ database });
    await world.clock.advance(60_000);
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, lei, documentNr);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    const [isThere, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    afterNextLook(() => {
      isThere.resolve();
      return goesOn.promise;
    }, 'abort_requested_at');
    const asked = { ...call(), documentNr, operationId: 'none', token: 'none', amountBani: 1_000 };
    const answer = world.told(slow.cards.cancelTransaction(asked));
    await isThere.promise;
    await world.run(paying);
    goesOn.resolve();
    expect(await world.meanwhile(answer)).toMatchObject({ code, oid: id, isRepeated: false });
    expect(world.sendsOf('Abort')).toEqual([]);
  });
});

describe('LastTransaction', () => {
  const last = () => world.run(world.cards.lastTransaction(call()));
  const say = (outcome: Outcome, reason?: string) => {
    world.onAnswer = (answer) => ({ ...answer, outcome, ...(reason === undefined ? {} : { reason }) });
  };

  it.each<[Outcome, number]>([
    ['done', 20],
    ['refused', 50],
    ['unsupported', 50],
    ['busy', 3],
    ['unknown', 3],
    ['never', 3],
  ])('that is answered %s is %i', async (outcome, code) => {
    say(outcome);
    expect((await last()).code).toBe(code);
  });

  it('that was refused has the reason, without a card number', async () => {
    say('refused', 'No paper for 4111111111111111.');
    const told = await last();
    expect(told.message).toContain('The terminal refused: No paper');
    expect(told.message).not.toContain('4111111111111111');
    say('refused');
    expect((await last()).message).toContain('refused to tell');
  });
});

describe('a caller that names a payment by the number that its answer had', () => {
  it.each(['closeDoc', 'refund', 'cancelTransaction'] as const)('in %s has its outcome: an equal Pay is a new one', async (name) => {
    const caller = createFakeRecipient();
    const pay = () =>
      world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr: undefined, hashRequest: () => 'equal', recipient: caller }));
    const { report } = await pay();
    caller.leave();
    await world.clock.advance(100);
    const { outcomeMissedAtMs } = await world.lastCommand();
    expect(outcomeMissedAtMs).not.toBeNull();
    const named = { ...call(), documentNr: 'any', operationId: String(report?.['operationId']), rrn: String(report?.['rrn']) };
    world.setAway(terminal.id, true);
    await world.clock.advance(100);
    const refused = await world.run(world.cards[name]({ ...named, token: 't', amountBani: 1_000, currency: undefined }));
    // The open document stands before a refund; the others find the terminal away.
    expect(refused.code).toBe(name === 'refund' ? 31 : 30);
    world.setAway(terminal.id, false);
    await world.clock.advance(60_000);
    expect((await world.lastCommand()).outcomeReceivedAtMs).not.toBeNull();
    expect(await pay()).toMatchObject({ code: 31, isRepeated: false });
  });
});

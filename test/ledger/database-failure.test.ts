// The database fails, or loses its answer, at each statement of a Pay in turn: nothing is sent without a confirmed commit,
// the caller is answered correctly, or 3, or 2 if the request sent nothing [D59], and repeating ends with one charge and a ledger that agrees with the bank.
import { describe, expect, it } from 'vitest';
import type { StatementHook, StatementStep } from '../../simulation/hooked-storage.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { isNewCore } from '../support/core.ts';
import { seedCommand } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';

const lost = () => databaseDown('The connection to the database was lost.');

interface Case {
  hasKey: boolean;
  hasJournal: boolean;
}

async function worldOf({ hasKey, hasJournal }: Case) {
  const world = await createSaleWorld();
  // Slow enough that it is written by itself that it has accepted.
  const terminal = await world.terminal({ faults: { noJournal: !hasJournal }, timing: { customerMs: 500 } });
  const documentNr = world.random.uuid();
  const pay = () => world.pay(terminal.id, 10, documentNr, hasKey ? { idempotency: { key: 'k', requestHash: 'h' } } : {});
  return { world, terminal, pay };
}

/** Statements that a Pay makes, background ones included. */
async function countSteps(kind: Case): Promise<number> {
  const { world, pay } = await worldOf(kind);
  let count = 0;
  world.hook = () => {
    count += 1;
    return undefined;
  };
  expect((await world.run(pay())).code).toBe(0);
  return count;
}

async function payThrough(kind: Case, hookOf: (at: number) => StatementHook, at: number) {
  const { world, terminal, pay } = await worldOf(kind);
  world.hook = hookOf(at);
  const first = await world.run(pay());
  const wasSent = world.ledgerSends().length > 0;
  const answers = [first.code];
  for (let tries = 0; tries < 10 && answers.at(-1) !== 0; tries += 1) {
    await world.clock.advance(30_000);
    answers.push((await world.run(pay())).code);
  }
  world.hook = () => undefined;
  await world.clock.advance(60_000);
  const commands = await world.commands();
  return { answers, wasSent, commands, charges: terminal.bank.charges(), review: await world.ledger.listReview(10) };
}

const failures: Record<string, (at: number) => StatementHook> = {
  'fails at': (at) => {
    let count = 0;
    return () => {
      count += 1;
      if (count === at) throw lost();
      return undefined;
    };
  },
  'fails at, and for a dozen more after,': (at) => {
    let count = 0;
    return (step: StatementStep) => {
      count += 1;
      // Rollbacks of what was begun still go through, as the server does them by itself.
      if (count >= at && count < at + 12 && step.kind !== 'rollback') throw lost();
      return undefined;
    };
  },
};

describe.each<Case>([
  { hasKey: false, hasJournal: true },
  { hasKey: true, hasJournal: true },
  { hasKey: true, hasJournal: false },
])('Pay with a database that fails (%o)', (kind) => {
  it.each(Object.keys(failures))('%s each statement in turn', async (name) => {
    const hookOf = failures[name] as (at: number) => StatementHook;
    const steps = await countSteps(kind);
    expect(steps).toBeGreaterThan(8);
    const seen = new Set<number>();
    for (let at = 1; at <= steps; at += 1) {
      const { answers, wasSent, commands, charges, review } = await payThrough(kind, hookOf, at);
      const where = `${name} ${at}: ${answers.join(', ')}`;
      for (const code of answers) seen.add(code);
      expect(charges, where).toHaveLength(1);
      expect(answers.at(-1), where).toBe(0);
      expect(
        commands.filter(({ state }) => state === 'done'),
        where,
      ).toHaveLength(1);
      expect(
        commands.filter(({ state }) => state === 'sent' || state === 'unknown'),
        where,
      ).toEqual([]);
      expect(review, where).toEqual([]);
      // 2 is said only by a request that sent nothing; and the first 0 is the truth.
      expect(wasSent && answers[0] === 2, where).toBe(false);
      expect(
        answers.every((code) => [0, 2, 3, 30, 31].includes(code)),
        where,
      ).toBe(true);
    }
    expect(seen).toContain(2);
    // The new core repeats a commit whose answer is lost, so a single failure delays no caller.
    if (!isNewCore || name !== 'fails at') expect(seen).toContain(3);
  });

  it.runIf(isNewCore)('whose commit answer is lost is found committed, and is sent', async () => {
    const { world, terminal, pay } = await worldOf(kind);
    let isLost = false;
    world.hook = ({ sql, when }) => {
      if (!isLost && when === 'after' && sql.includes('insert into "commands"')) {
        isLost = true;
        throw lost();
      }
      return undefined;
    };
    expect((await world.run(pay())).code).toBe(0);
    expect(isLost).toBe(true);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it.skipIf(isNewCore)('whose commit answer is lost sends nothing, and reads the row back by its id', async () => {
    const { world, terminal, pay } = await worldOf(kind);
    let isLost = false;
    world.hook = ({ sql, when }) => {
      if (!isLost && when === 'after' && sql.includes('insert into "commands"')) {
        isLost = true;
        throw lost();
      }
      return undefined;
    };
    expect((await world.run(pay())).code).toBe(2);
    expect(world.ledgerSends()).toEqual([]);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['sent']);
    await world.clock.advance(1_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'gateway' });
    expect((await world.run(pay())).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('an outcome that cannot be committed', () => {
  const failing = (): never => {
    throw lost();
  };

  it('is answered 3, kept, and committed when the database is back', async () => {
    const { world, pay } = await worldOf({ hasKey: false, hasJournal: true });
    const paying = pay();
    await world.clock.advance(100);
    world.hook = failing;
    expect((await world.run(paying)).code).toBe(3);
    await world.clock.advance(20_000);
    world.hook = () => undefined;
    await world.clock.advance(30_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done' });
    expect((await world.run(pay())).code).toBe(0);
  });

  it('is answered 3 to a joined caller too, or 0 if the database comes back while that caller waits', async () => {
    const { world, terminal, pay } = await worldOf({ hasKey: false, hasJournal: true });
    const paying = pay();
    const joined = pay();
    await world.clock.advance(100);
    world.hook = failing;
    expect((await world.run(paying)).code).toBe(3);
    const joinedAnswer = world.run(joined);
    await world.clock.advance(10_000);
    world.hook = () => undefined;
    expect((await joinedAnswer).code).toBe(0);

    const late = await worldOf({ hasKey: false, hasJournal: true });
    void late.pay();
    const waiting = late.pay();
    await late.world.clock.advance(100);
    late.world.hook = failing;
    expect((await late.world.run(waiting)).code).toBe(3);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('makes an abort that was sent answer 3, never 2', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(1_000);
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'x', token: 'x', amountBani: 1064 };
    world.hook = () => (world.sendsOf('Abort').length > 0 ? failing() : undefined);
    const abort = world.run(world.cards.cancelTransaction(call));
    expect((await abort).code).toBe(3);
    expect(world.sendsOf('Abort')).toHaveLength(1);
    expect((await world.run(paying)).code).toBe(3);
    world.hook = () => undefined;
    await world.clock.advance(60_000);
    expect((await world.lastCommand()).state).toBe('refused');
  });

  const refusedAborts: readonly (readonly [string, number])[] = [
    ['takes its mark back', 10_000],
    ['cancels the invoice', 2_000],
  ];
  // The new core has no mark: the end of the request is one commit, and the payment's own end the other.
  const isWriteOfAbort = (sql: string) => sql.includes(isNewCore ? 'update "commands"' : '"abort_requested_at" =');
  it.each(isNewCore ? refusedAborts.slice(0, 1) : refusedAborts)(
    'makes an abort that was sent and refused answer 3, when the database fails as it %s',
    async (_when, bankMs) => {
      const world = await createSaleWorld();
      const terminal = await world.terminal({ timing: { customerMs: 100, bankMs } });
      const documentNr = world.random.uuid();
      const paying = world.pay(terminal.id, 10.61, documentNr);
      await world.clock.advance(1_000);
      const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'x', token: 'x', amountBani: 1061 };
      const abort = () => world.run(world.cards.cancelTransaction({ ...call, hashRequest: () => 'abort' }));
      world.hook = ({ sql }) => {
        if (world.sendsOf('Abort').length > 0 && isWriteOfAbort(sql)) throw lost();
        return undefined;
      };
      expect(await abort()).toMatchObject({ code: 3, oid: (await world.lastCommand()).id });
      world.hook = () => undefined;
      expect((await world.run(paying)).code).toBe(50);
      // Nobody was told 22, so the mark stands, and the same request hears that the payment was not made.
      if (bankMs > 2_000) expect(await abort()).toMatchObject({ code: 0, isRepeated: !isNewCore });
    },
  );

  it('because of a bug in the gateway is 3 as well, not 1', async () => {
    const { world, pay } = await worldOf({ hasKey: false, hasJournal: true });
    const paying = pay();
    await world.clock.advance(100);
    let isBroken = true;
    world.hook = ({ sql }) => {
      if (isBroken && sql.includes('update "commands"')) throw new TypeError('a mistake');
      return undefined;
    };
    expect((await world.run(paying)).code).toBe(3);
    isBroken = false;
    await world.clock.advance(30_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done' });
  });

  it('is answered 2 if nothing was sent, because this request did nothing', async () => {
    const { world, pay } = await worldOf({ hasKey: false, hasJournal: true });
    world.hook = ({ sql, when }) => {
      if (when === 'after' && sql.includes('insert into "commands"')) {
        world.clock.setWallClock(world.clock.now() + 60_000); // held up until it was too late to send
        world.hook = failing;
      }
      return undefined;
    };
    expect((await world.run(pay())).code).toBe(2);
    expect(world.ledgerSends()).toEqual([]);
    world.hook = () => undefined;
    await world.clock.advance(5_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'never', settledBy: 'gateway' });
  });
});

describe('an unclear first commit', () => {
  it.each([40_000, 55_000])('that becomes visible %i ms later is found and ended: it is read back for a minute', async (laterMs) => {
    const { world, terminal, pay } = await worldOf({ hasKey: false, hasJournal: false });
    world.hook = ({ sql, when }) => {
      if (when === 'before' && sql.includes('insert into "commands"')) throw lost();
      return undefined;
    };
    expect((await world.run(pay())).code).toBe(2);
    world.hook = () => undefined;
    await world.clock.advance(laterMs);
    expect(await world.commands()).toEqual([]);
    // The server finishes it only now.
    const line = world.logger.lines.find(({ message }) => message.includes('is not known whether a command was committed'));
    const { commandId: id } = (line as { fields: object }).fields as { commandId: string };
    await seedCommand(world.database.queries, world.merchantId, terminal.id, {
      id,
      instance_id: world.life.instanceId,
      answer_by: world.clock.now() + 300_000,
    });
    await world.clock.advance(20_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'never', settledBy: 'gateway' });
    expect(world.ledgerSends()).toEqual([]);
  });
});

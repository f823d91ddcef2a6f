// Settled exactly once, by whichever word comes first; what cannot be trusted goes to a person; what contradicts is kept.
import { beforeEach, describe, expect, it } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
});

const isEnding = (answer: AnswerMessage) => answer.outcome !== 'accepted' && answer.report?.['state'] === undefined;

async function eventsOf(id: string) {
  return world.ledger.timelineOf(id);
}

describe('a settlement', () => {
  it('happens once, however often and on whichever channels the outcome arrives', async () => {
    const paying = world.pay(terminal.id, 10.67); // answers twice
    world.weather = { ...world.weather, duplicateRate: 1 };
    const answer = await world.run(paying);
    const { id } = await world.lastCommand();
    // Recall and late answers of a settled command, all at once.
    for (let time = 0; time < 5; time += 1) {
      void world.life.link.ask(terminal.id, { name: 'Recall', args: { target: id }, timeoutMs: 1_000, preferredChannel: 'mqtt' });
    }
    await world.clock.advance(5_000);
    expect(answer.code).toBe(0);
    const steps = (await eventsOf(id)).map(({ step }) => step);
    expect(steps.filter((step) => step === 'settled')).toHaveLength(1);
    expect(world.ledger.stats().contradictions).toBe(0);
    expect(await world.ledger.listReview(10)).toEqual([]);
  });

  it('of an unknown outcome: late answers and Recall at the same moment settle it once', async () => {
    let held: AnswerMessage | undefined;
    world.onAnswer = (answer) => {
      if (answer.outcome !== 'done') return answer;
      held ??= answer;
      return undefined;
    };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.onAnswer = (answer) => answer;
    const { id } = await world.lastCommand();
    // The device comes back, which makes the gateway ask, while its old answer arrives three times.
    world.setAway(terminal.id, true);
    world.setAway(terminal.id, false);
    for (let time = 0; time < 3; time += 1) world.sayAs(terminal.id, held as AnswerMessage);
    await world.clock.advance(20_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', settledBy: 'late-answer' });
    const settled = (await eventsOf(id)).filter(({ step }) => step === 'settled');
    expect(settled).toHaveLength(1);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('keeps each step for the timeline', async () => {
    await world.run(world.pay(terminal.id, 10));
    const { id } = await world.lastCommand();
    expect((await eventsOf(id)).map(({ step, channel, detail }) => [step, channel, detail])).toEqual([
      ['sent', 'mqtt', undefined],
      ['accepted', 'mqtt', undefined],
      ['answered', 'mqtt', 'done'],
      ['settled', undefined, 'done by answer'],
    ]);
  });
});

describe('the settlement and its effects', () => {
  /** In the settlement, before the document is written. Those of the new core go to the embedded database in one message. */
  const isEffect = (sql: string) =>
    isNewCore
      ? /^(?!.*insert into "commands").*update "device_locks".*update "commands"/s.test(sql)
      : sql.includes('update "commands" set "document_state"');

  /** A CloseDoc whose effect, the closed document, meets `mishap` after the command itself was settled. */
  async function closingWith(mishap: () => 'hang' | undefined) {
    const documentNr = world.random.uuid();
    const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
    let isOver = false;
    let isAwayUntil = 0;
    world.hook = ({ sql, when }) => {
      if (when === 'before' && world.clock.elapsed() < isAwayUntil) throw databaseDown('The effect fails.');
      if (isOver || when === 'after' || !isEffect(sql)) return undefined;
      isOver = true;
      // The new core tries once more at once.
      if (isNewCore) isAwayUntil = world.clock.elapsed() + 100;
      return mishap();
    };
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.['operationId']) };
    const closing = world.cards.closeDoc(call);
    closing.catch(() => {});
    await world.clock.advance(1_000);
    expect(isOver).toBe(true);
    return { call, closing };
  }

  async function documentOf(name: 'Pay' | 'CloseDoc') {
    const { state, documentState } = await world.lastCommand(name);
    return [state, documentState];
  }

  it('are one transaction: if the effect fails, the command is not settled either, and both are when it is retried', async () => {
    const { call, closing } = await closingWith(() => {
      throw databaseDown('The effect fails.');
    });
    expect((await world.run(closing)).code).toBe(3);
    await world.clock.advance(5_000);
    expect([await documentOf('CloseDoc'), await documentOf('Pay')]).toEqual([
      ['done', null],
      ['done', 'closed'],
    ]);
    expect((await world.run(world.cards.closeDoc(call))).code).toBe(0);
  });

  it('are one transaction: a gateway that dies between the two leaves neither, and Recall brings both', async () => {
    await closingWith(() => {
      void world.crash();
      return 'hang';
    });
    world.hook = () => undefined;
    await world.restart();
    expect([await documentOf('CloseDoc'), await documentOf('Pay')]).toEqual([
      ['sent', null],
      ['done', 'open'],
    ]);
    await world.clock.advance(30_000);
    expect([await documentOf('CloseDoc'), await documentOf('Pay')]).toEqual([
      ['done', null],
      ['done', 'closed'],
    ]);
  });
});

describe('a late answer of another device', () => {
  it.each(['done', 'refused', 'never', 'unknown'] as const)('that says %s about a payment changes nothing', async (outcome) => {
    const other = await world.terminal();
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    const before = await world.lastCommand();
    const journalId = terminal.journal().journalId as string;
    const report = { rrn: '1', authCode: '1', operationId: '1', amount: 10 };
    world.setAway(terminal.id, true);
    const heard: string[] = [];
    world.life.link.onLateAnswer((_deviceId, answer) => heard.push(answer.id));
    world.sayAs(other.id, {
      v: 1,
      id: before.id,
      device: other.id,
      clock: new Date(world.clock.now()).toISOString(),
      journalId,
      outcome,
      report,
    });
    await world.clock.advance(100);
    expect(heard).toEqual([before.id]);
    expect(await world.ledger.find(before.id)).toMatchObject({ state: 'unknown', operationId: null, reviewSinceMs: null });
    expect(world.ledger.stats().contradictions).toBe(0);
  });
});

describe('a report that cannot be trusted', () => {
  it.each<[string, (report: Record<string, unknown>) => void]>([
    ['without rrn', (report) => delete report['rrn']],
    ['without operationId', (report) => delete report['operationId']],
    ['with an empty rrn', (report) => (report['rrn'] = '')],
    ['of another amount', (report) => (report['amount'] = 9.99)],
    ['of no amount', (report) => delete report['amount']],
  ])('an approval %s goes to the review list, is answered 3 and leaves the terminal locked; a person decides', async (_name, spoil) => {
    world.onAnswer = (answer) => {
      const spoiled = structuredClone(answer);
      const inner = (spoiled.report?.['report'] ?? spoiled.report) as Record<string, unknown> | undefined;
      if (inner && 'amount' in inner) spoil(inner);
      return spoiled;
    };
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);
    await world.clock.advance(60 * 60_000);
    const { id } = await world.lastCommand();
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    expect((await world.run(world.pay(terminal.id, 5), 1_000)).code).toBe(31);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);

    const [charge] = terminal.bank.charges();
    const numbers = { operationId: charge?.entry.operationId, rrn: charge?.entry.rrn };
    await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'It is in the bank’s list.', actor: 'ana', ...numbers }));
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'person', operationId: charge?.entry.operationId });
    expect(await world.ledger.listReview(10)).toEqual([]);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(await world.steps(id)).toContain('decided');
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('"never" from another journal: the command goes to the review list', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    const paying = world.run(world.pay(terminal.id, 10));
    await world.clock.advance(100);
    world.weather = { ...world.weather, lossRate: 0 };
    world.onAnswer = (answer) => ({ ...answer, journalId: '00000000-0000-4000-8000-000000000000' });
    // The second channel would bring it after all: it is away.
    world.setAway(terminal.id, true, ['queue']);
    world.setAway(terminal.id, true, ['mqtt']);
    await world.clock.advance(11_000);
    world.setAway(terminal.id, false);
    expect((await paying).code).toBe(3);
    await world.clock.advance(60_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'unknown', reviewReason: expect.stringContaining('journal') });
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('"never" after accepted goes to the review list, even when the call that received accepted has ended', async () => {
    world.onAnswer = (answer) => (isEnding(answer) || answer.outcome === 'done' ? undefined : answer);
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    const { id } = await world.lastCommand();
    expect(await world.steps(id)).toContain('accepted');
    world.onAnswer = (answer) => (answer.report?.['state'] === 'final' ? { ...answer, report: { state: 'never' } } : answer);
    await world.clock.advance(60_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'unknown', reviewReason: expect.stringContaining('accepted') });
    world.onAnswer = (answer) => answer;
    await world.clock.advance(10 * 60_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect(await world.ledger.listReview(10)).toEqual([]);
  });

  it('"unknown" goes to the review list, and a later answer may settle it', async () => {
    world.onAnswer = (answer) =>
      answer.outcome === 'done' && isEnding(answer) ? { ...answer, outcome: 'unknown', reason: 'Power cut.' } : answer;
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    expect((await world.ledger.listReview(10))[0]?.reviewReason).toContain('Power cut.');
    await world.clock.advance(60_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect(await world.ledger.listReview(10)).toEqual([]);
  });
});

describe('an answer that contradicts', () => {
  async function refusedByPerson() {
    world.setAway(terminal.id, false);
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);
    const { id } = await world.lastCommand();
    await world.clock.advance(2 * 60_000);
    await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'The customer says no.', actor: 'ana' }));
    return id;
  }

  async function hear(id: string, change: (answer: AnswerMessage) => AnswerMessage = (answer) => answer) {
    world.onAnswer = change;
    const entry = terminal.journal().find(id);
    const answer: AnswerMessage = {
      v: 1,
      id,
      device: terminal.id,
      clock: new Date(world.clock.now()).toISOString(),
      journalId: terminal.journal().journalId as string,
      outcome: entry?.outcome ?? 'unknown',
      ...(entry?.report ? { report: entry.report } : {}),
    };
    const channel = world.wires.mqtt.channel(world.life.instanceId);
    expect(channel.isConnected).toBe(true);
    world.sayAs(terminal.id, change(answer));
    await world.clock.advance(1_000);
  }

  it('is stored, counted and put on the review list until a person closes it', async () => {
    const id = await refusedByPerson();
    await hear(id);
    expect(world.ledger.stats().contradictions).toBe(1);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed', disputedFrom: 'refused', settledBy: 'person' });
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    expect((await eventsOf(id)).find(({ step }) => step === 'contradiction')?.detail).toContain('"amount":10');
    const { deviceId, documentNr } = (await world.ledger.find(id)) ?? {};
    const told = world.logger.lines.find(({ level, message }) => level === 'error' && message.includes('contradicts'));
    expect(told?.fields).toMatchObject({ commandId: id, deviceId, documentNr: documentNr ?? undefined });
    await world.ledger.decide(id, { state: 'refused', reason: 'Money was given back.', actor: 'ana', closesReview: true });
    expect(await world.ledger.listReview(10)).toEqual([]);
    await expect(world.ledger.decide(id, { state: 'done', reason: 'x', actor: 'ana', closesReview: true })).rejects.toMatchObject({
      errorName: 'The_status_cannot_be_applied',
    });
  });

  it('is not lost when it is doubtful besides', async () => {
    const id = await refusedByPerson();
    await hear(id, (answer) => ({ ...answer, report: { amount: 10 } }));
    expect(world.ledger.stats().contradictions).toBe(1);
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
  });

  it('a second operation under a settled command is one', async () => {
    await world.run(world.pay(terminal.id, 10));
    const { id } = await world.lastCommand();
    await hear(id);
    expect(world.ledger.stats().contradictions).toBe(0);
    await hear(id, (answer) => ({ ...answer, report: { ...answer.report, operationId: '777777' } }));
    expect(world.ledger.stats().contradictions).toBe(1);
    expect((await world.ledger.listReview(10))[0]?.reviewReason).toContain('777777');
  });
});

describe('a person', () => {
  it('does not decide a command that is running or does not exist', async () => {
    const paying = world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    const decision = { state: 'refused', reason: 'x', actor: 'ana' } as const;
    await expect(world.ledger.decide(id, decision)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    await expect(world.ledger.decide(world.random.uuid(), decision)).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    expect((await world.run(paying)).code).toBe(0);
    await expect(world.ledger.decide(id, decision)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
  });

  it('decides two minutes after answerBy and not before, also if the caller was answered 3 long ago', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    const { id, state, answerByMs } = await world.lastCommand();
    expect(state).toBe('unknown');
    // Silent to Recall at 40 s, while a terminal that got it may wait for the card until 300 s.
    expect(world.clock.now()).toBeLessThan(answerByMs - 200_000);
    const decision = { state: 'refused', reason: 'x', actor: 'ana' } as const;
    const tooEarly = {
      errorName: 'The_status_cannot_be_applied',
      message: expect.stringContaining(new Date(answerByMs + 120_000).toISOString()),
    };
    await expect(world.ledger.decide(id, decision)).rejects.toMatchObject(tooEarly);
    await world.clock.advance(answerByMs + 120_000 - world.clock.now() - 1);
    await expect(world.ledger.decide(id, decision)).rejects.toMatchObject(tooEarly);
    expect(await world.steps(id)).not.toContain('decided');
    await world.clock.advance(1);
    expect(await world.meanwhile(world.ledger.decide(id, decision))).toMatchObject({ state: 'refused', settledBy: 'person' });
  });

  it('decides at once if the device itself reported unknown, but not from another journal', async () => {
    world.onAnswer = (answer) =>
      answer.outcome === 'accepted' ? answer : { ...answer, outcome: 'unknown', journalId: world.random.uuid() };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    const { id } = await world.lastCommand();
    const decision = { state: 'done', reason: 'It is in the bank’s list.', actor: 'ana', operationId: '1', rrn: '1' } as const;
    await expect(world.ledger.decide(id, decision)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    const journalId = terminal.journal().journalId as string;
    world.sayAs(terminal.id, {
      v: 1,
      id,
      device: terminal.id,
      clock: new Date(world.clock.now()).toISOString(),
      journalId,
      outcome: 'unknown',
    });
    await world.clock.advance(100);
    expect(await world.ledger.decide(id, decision)).toMatchObject({ state: 'done', settledBy: 'person' });
  });

  it('does not decide a command in flight on another instance', async () => {
    const other = await world.startLife({ database: world.database });
    const paying = world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    await expect(other.ledger.decide(id, { state: 'refused', reason: 'x', actor: 'ana' })).rejects.toMatchObject({
      errorName: 'The_status_cannot_be_applied',
    });
    expect((await world.run(paying)).code).toBe(0);
  });
});

describe('card numbers', () => {
  it('in a report or a reason reach neither the database nor the caller', async () => {
    const canary = '4111111111111111';
    world.onAnswer = (answer) => ({
      ...answer,
      ...(answer.report === undefined ? {} : { report: { ...answer.report, card: canary, nested: [{ [canary]: `PAN ${canary}` }] } }),
      reason: `card 4111 1111 1111 1111 said ${answer.outcome}`,
    });
    const answers = [
      await world.run(world.pay(terminal.id, 10)),
      await world.run(world.pay((await world.terminal()).id, 10.61)),
      await world.run(world.cards.lastTransaction({ merchantId: world.merchantId, deviceId: terminal.id })),
      await world.run(world.pay((await world.terminal()).id, 10.65)),
    ];
    await world.clock.advance(60_000);
    const dump: unknown[] = [answers, world.logger.lines];
    for (const table of ['commands', 'command_events', 'devices', 'callbacks', 'audit_log'] as const)
      dump.push(await world.database.queries.selectFrom(table).selectAll().execute());
    const text = JSON.stringify(dump);
    expect(text).toContain('411111******1111');
    expect(text).not.toContain(canary);
    expect(text).not.toContain('4111 1111 1111 1111');
  });
});

// A person asks a device about one command, open or settled: the device's journal is read and compared, and asking starts nothing.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/ledger/command.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;

beforeEach(async () => {
  world = await createSaleWorld();
});

async function ask(command: Command): Promise<Command> {
  let told: Command | undefined;
  void world.ledger.askDevice(command, 'Ana').then((latest) => {
    told = latest;
  });
  await world.clock.runUntil(() => told !== undefined, 60_000);
  return told as Command;
}

describe('a person who asks about a payment', () => {
  it('that was done gets the entry of the terminal’s journal; nothing is changed', async () => {
    const terminal = await world.terminal();
    await world.run(world.pay(terminal.id, 10));
    const payment = await world.lastCommand();
    expect(await ask(payment)).toEqual(payment);
    expect(await world.lastCommand()).toEqual(payment);
    expect(world.sendsOf('Recall')).toMatchObject([{ args: { target: payment.id } }]);
    const events = (await world.ledger.timelineOf(payment.id)).slice(-4);
    expect(events).toMatchObject([
      { step: 'asked by person', detail: 'Ana: asked' },
      { step: 'recall', channel: 'mqtt' },
      { step: 'recalled', channel: 'mqtt', detail: 'final done' },
      { step: 'answered again', detail: 'done' },
    ]);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('that was done, of a terminal that reports otherwise, puts it on the review list', async () => {
    const terminal = await world.terminal();
    await world.run(world.pay(terminal.id, 10));
    const payment = await world.lastCommand();
    world.onAnswer = (answer) =>
      answer.report?.['state'] === 'final' ? { ...answer, report: { ...answer.report, outcome: 'refused' } } : answer;
    await ask(payment);
    expect(await world.lastCommand()).toMatchObject({ state: 'done', reviewSinceMs: expect.any(Number) as number });
  });

  it('that was settled gets it unchanged if the terminal reports that it runs or does not answer', async () => {
    const terminal = await world.terminal();
    await world.run(world.pay(terminal.id, 10));
    const payment = await world.lastCommand();
    world.onAnswer = (answer) => (answer.report?.['state'] === 'final' ? { ...answer, report: { state: 'running' } } : answer);
    expect(await ask(payment)).toEqual(payment);
    expect((await world.ledger.timelineOf(payment.id)).at(-1)).toMatchObject({ step: 'recalled', detail: 'running' });
    world.onAnswer = () => undefined;
    expect(await ask(payment)).toEqual(payment);
    expect((await world.ledger.timelineOf(payment.id)).at(-1)).toMatchObject({ step: 'recall' });
    expect(await world.lastCommand()).toEqual(payment);
  });

  it('that was settled, of a terminal without a journal, sends no question: the terminal could report another payment', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true } });
    await world.run(world.pay(terminal.id, 10));
    const sent = world.passings.length;
    const payment = await world.lastCommand();
    // The page says why it cannot be asked, and so does the step [D327].
    if (isNewCore) await expect(world.ledger.askDevice(payment, 'Ana')).rejects.toThrow('This device keeps no journal.');
    else expect(await ask(payment)).toEqual(payment);
    expect(world.passings).toHaveLength(sent);
  });

  it('that is on the terminal right now sends no question: its own call receives the answer', async () => {
    const terminal = await world.terminal();
    const paying = world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    const payment = await world.lastCommand();
    expect(await ask(payment)).toEqual(payment);
    expect(world.sendsOf('Recall')).toEqual([]);
    expect((await world.run(paying)).code).toBe(0);
  });

  it('whose outcome is unknown settles it', async () => {
    const terminal = await world.terminal();
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.onAnswer = (answer) => answer;
    expect(await ask(await world.lastCommand())).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

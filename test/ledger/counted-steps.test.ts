// What may come without end is in a command's timeline all the same: repeats of its call with what the caller was answered, and answers of
// the device that agree with what was settled. The first twenty one by one, the rest as a count. A call that repeats nothing writes nothing.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { CountedSteps, listFurther } from '../../src/ledger/counted-steps.ts';
import { addEvents, listEvents } from '../../src/ledger/timeline.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';

describe('the timeline', () => {
  const asked = async (world: Awaited<ReturnType<typeof createSaleWorld>>, id: string, step = 'asked again') =>
    (await world.life.ledger.timelineOf(id)).filter((event) => event.step === step);

  it('has no such step for a payment that is not repeated, and no row about it', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    await world.run(world.pay(terminal.id, 10, world.random.uuid()));
    const { id: commandId } = await world.lastCommand('Pay');
    expect(await asked(world, commandId)).toEqual([]);
    expect(await asked(world, commandId, 'answered again')).toEqual([]);
    expect(await world.database.queries.selectFrom('command_step_counts').selectAll().execute()).toEqual([]);
    await world.stop();
  });

  it('lists how a repeat was recognised, what its caller was answered and how long that took', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const call = { merchantId: world.merchantId, deviceId: terminal.id };
    const documentNr = world.random.uuid();
    await world.run(world.pay(terminal.id, 10, documentNr));
    const { id: commandId } = await world.lastCommand('Pay');
    await world.run(world.pay(terminal.id, 10, documentNr));
    const idempotency = { key: 'k', requestHash: 'h' };
    await world.run(world.cards.pay({ ...call, amountBani: 1_000, documentNr, idempotency }));
    await world.run(world.cards.pay({ ...call, amountBani: 1_000, documentNr, idempotency }));
    const answered = isNewCore ? 'answered 0 0' : 'done done 0';
    expect((await asked(world, commandId)).map(({ detail }) => detail)).toEqual([
      `number ${answered}`,
      `number ${answered}`,
      `key ${answered}`,
    ]);
    await world.stop();
  });

  it('has twenty repeats of a call one by one, and how many more there were', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    await world.run(world.pay(terminal.id, 10, documentNr));
    const { id: commandId } = await world.lastCommand('Pay');
    for (let count = 0; count < 25; count += 1) {
      await world.run(world.pay(terminal.id, 10, documentNr));
      await world.clock.advance(count % 2 === 0 ? 100 : 10);
    }
    const steps = await asked(world, commandId);
    expect(steps).toHaveLength(21);
    expect(steps.at(-1)).toMatchObject({ further: 5 });
    await world.stop();
  });

  it('has an answer that comes once more and agrees', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    let last: AnswerMessage | undefined;
    world.onAnswer = (answer) => {
      if (answer.outcome === 'done') last = answer;
      return answer;
    };
    await world.run(world.pay(terminal.id, 10, world.random.uuid()));
    const { id: commandId } = await world.lastCommand('Pay');
    if (!last) throw new Error('There was no answer.');
    world.sayAs(terminal.id, last);
    await world.clock.advance(100);
    expect(await asked(world, commandId, 'answered again')).toMatchObject([{ detail: 'done' }]);
    await world.stop();
  });

  it('has one contradiction of a device that repeats it without end, and how often it was repeated', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    let last: AnswerMessage | undefined;
    world.onAnswer = (answer) => {
      if (answer.outcome === 'done') last = answer;
      return answer;
    };
    await world.run(world.pay(terminal.id, 10, world.random.uuid()));
    const { id: commandId } = await world.lastCommand('Pay');
    if (!last) throw new Error('There was no answer.');
    for (let count = 0; count < 25; count += 1) {
      world.sayAs(terminal.id, { ...last, outcome: 'refused' });
      await world.clock.advance(100);
    }
    expect(await asked(world, commandId, 'contradiction')).toMatchObject([{ detail: expect.stringContaining('refused') }]);
    const repeats = await asked(world, commandId, 'answered again');
    expect(repeats).toHaveLength(21);
    expect(repeats.at(-1)).toMatchObject({ further: 4 });
    await world.stop();
  });
});

it.each(engines)('unlimited steps are all counted, across many gateways, and twenty are listed, on %s', async (engine) => {
  const { queries, close } = await openTestDatabase(engine);
  try {
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
    const gateways = [new CountedSteps(), new CountedSteps()];
    let atMs = 0;
    for (let round = 0; round < 5; round += 1) {
      for (const steps of gateways) {
        for (let count = 0; count < 3; count += 1) steps.add({ commandId, atMs: (atMs += 1), step: 'asked again', detail: String(atMs) });
        await addEvents({ engine, queries }, await steps.count(queries));
      }
    }
    const told = (await listEvents(queries, commandId)).map(({ detail, further }) => detail ?? further);
    expect(told).toEqual([...Array.from({ length: 20 }, (_, index) => String(index + 1)), 10]);
    expect(await listFurther(queries, commandId)).toMatchObject([{ atMs: 30, further: 10 }]);
  } finally {
    await close();
  }
});

it('counts a bounded number of commands at a time, and logs it', () => {
  const steps = new CountedSteps();
  const added = Array.from({ length: 1_100 }, (_, index) => steps.add({ commandId: `c${index}`, atMs: 0, step: 'asked again' }));
  expect(added.filter(Boolean)).toHaveLength(1_000);
  expect(steps.add({ commandId: 'c1', atMs: 0, step: 'asked again' })).toBe(true);
});

it('keeps the twenty steps that are listed while they wait, and only counts the others', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const steps = new CountedSteps();
  const add = (index: number) => {
    const event = { commandId: 'c', atMs: index, step: 'asked again' } as const;
    steps.add(event);
    return new WeakRef(event);
  };
  const added = Array.from({ length: 25 }, (_, index) => add(index));
  await nextTurn();
  collectGarbage();
  const kept = added.flatMap((reference) => reference.deref()?.atMs ?? []);
  expect(kept).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(add(25).deref()).toMatchObject({ atMs: 25 });
});

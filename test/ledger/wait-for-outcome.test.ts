// Many who wait for one operation [D62]: one look at its row at a time for all of them, so many and no more, and a caller that hangs up waits no longer.
import { beforeEach, describe, expect, it } from 'vitest';
import { createOutcomeWaits } from '../../src/ledger/calls/wait-for-outcome.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createSaleWorld, type SaleWorld, type Told } from '../support/sale-world.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
let documentNr: string;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
  documentNr = world.random.uuid();
  // The customer takes his time: the terminal's ending answers come when the test lets them.
  world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
});

interface Joined {
  recipient: ReturnType<typeof createFakeRecipient>;
  told: Told | undefined;
}

/** The payment, or one that joins it. */
function ask(): Joined {
  const recipient = createFakeRecipient();
  const joined: Joined = { recipient, told: undefined };
  const call = world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr, recipient });
  void world.told(call).then((told) => {
    joined.told = told;
  });
  return joined;
}

async function askOften(times: number): Promise<Joined[]> {
  const all: Joined[] = [];
  for (let time = 0; time < times; time += 1) {
    all.push(ask());
    await world.clock.advance(20);
  }
  return all;
}

const commandId = async () => (await world.database.queries.selectFrom('commands').select('id').executeTakeFirstOrThrow()).id;

describe('those who joined a payment', () => {
  it('cost one query in half a second, however many they are', async () => {
    await askOften(1);
    const count = async () => {
      let looks = 0;
      world.hook = ({ kind, sql, when }) => {
        if (kind === 'run' && when === 'before' && /^select.*from "commands" where "id" =/.test(sql)) looks += 1;
        return undefined;
      };
      await world.clock.advance(10_000);
      world.hook = () => undefined;
      return looks;
    };
    const withNobody = await count();
    await askOften(1);
    const withOne = await count();
    await askOften(18);
    const withMany = await count();
    expect(withOne - withNobody).toBeGreaterThanOrEqual(15);
    expect(withMany).toBeLessThanOrEqual(withOne + 2);
  });

  it('are all answered with the outcome, once it is there', async () => {
    const all = await askOften(10);
    world.onAnswer = (answer) => answer;
    await world.clock.runUntil(() => all.every(({ told }) => told !== undefined), 10 * 60_000);
    expect(new Set(all.map(({ told }) => told?.oid))).toEqual(new Set([await commandId()]));
    expect(new Set(all.map(({ told }) => told?.code))).toEqual(new Set([0]));
  });

  it('are so many and no more; the next is answered that it goes on, and how to ask without doing', async () => {
    const all = await askOften(21);
    expect(all.filter(({ told }) => told !== undefined)).toEqual([]);
    const late = (await askOften(2)).map(({ told }) => told);
    for (const told of late) {
      expect(told).toMatchObject({
        code: 41,
        oid: await commandId(),
        message: expect.stringMatching(/continues.*Device\/Operation\/Status/),
      });
    }
    // A place that becomes free is the next one's.
    all.at(-1)?.recipient.leave();
    await world.clock.advance(1);
    const [next] = await askOften(1);
    expect(next?.told).toBeUndefined();
    world.onAnswer = (answer) => answer;
    await world.clock.runUntil(() => next?.told !== undefined, 10 * 60_000);
    expect(next?.told).toMatchObject({ code: 0 });
  });

  it('wait no longer after they have disconnected, and the payment continues for the others', async () => {
    const [first, leaving, staying] = await askOften(3);
    leaving?.recipient.leave();
    await world.clock.advance(1);
    expect(leaving?.told).toBeDefined();
    expect([first?.told, staying?.told]).toEqual([undefined, undefined]);
    // He who began it has gone too: the payment is carried on all the same.
    first?.recipient.leave();
    await world.clock.advance(1);
    expect(first?.told).toBeUndefined();
    world.onAnswer = (answer) => answer;
    await world.clock.runUntil(() => staying?.told !== undefined, 10 * 60_000);
    expect(staying?.told).toMatchObject({ code: 0 });
  });

  it('that had disconnected before they began to wait do not wait at all', async () => {
    await askOften(1);
    const recipient = createFakeRecipient();
    recipient.leave();
    const call = world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr, recipient });
    let told: Told | undefined;
    void world.told(call).then((answer) => {
      told = answer;
    });
    await world.clock.advance(20);
    expect(told).toMatchObject({ code: 41 });
  });
});

it('a caller that leaves after its wait has ended breaks nothing', async () => {
  ask();
  await world.clock.advance(100);
  const command = await world.lastCommand();
  const waits = createOutcomeWaits({ database: world.database, clock: world.clock });
  const left: (() => void)[] = [];
  const waiting = waits.waitFor(command, 1_000, { onLeft: (action) => left.push(action) });
  expect(waits.countOf(command.id)).toBe(1);
  await world.clock.advance(2_000);
  expect(await waiting).toMatchObject({ id: command.id, state: 'sent' });
  expect(left).toHaveLength(1);
  for (const leave of left) expect(leave).not.toThrow();
  expect(waits.countOf(command.id)).toBe(0);
  waits.stop();
});

it.each([
  ['back', -3_600_000],
  ['forward', 3_600_000],
])('no caller waits longer or shorter because an operator sets the clock %s meanwhile', async (_direction, byMs) => {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const database = await memoryDatabase(clock);
  const { id: merchantId } = await seedMerchant(database.queries);
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { state: 'unknown' });
  const waits = createOutcomeWaits({ database, clock });
  let latest: Command | undefined;
  void waits.waitFor((await findCommand(database.queries, id)) as Command, 10_000).then((command) => {
    latest = command;
  });
  await clock.advance(1_000);
  clock.setWallClock(clock.now() + byMs);
  await clock.advance(8_999);
  expect(latest).toBeUndefined();
  await clock.advance(1);
  expect(latest).toMatchObject({ id, state: 'unknown' });
  waits.stop();
});

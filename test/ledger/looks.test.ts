// A look at a command's row that was under way when something happened may have read what was before: it is followed by another one.
import type { KyselyPlugin } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createOutcomeWaits, type OutcomeWaits } from '../../src/ledger/calls/wait-for-outcome.ts';
import type { Command } from '../../src/ledger/command.ts';
import { commandsTopic } from '../../src/ledger/settling/state-change.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let waits: OutcomeWaits;
let command: Command;
let looks: number;
let atOnce: number;
let gate: PromiseWithResolvers<void> | undefined;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  const { id: merchantId } = await seedMerchant(database.queries);
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { name: 'Refund' });
  command = (await findCommand(database.queries, id)) as Command;
  looks = 0;
  let running = 0;
  atOnce = 0;
  gate = undefined;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    // What was read is held back, so that it is old when it arrives.
    async transformResult({ result }) {
      looks += 1;
      running += 1;
      atOnce = Math.max(atOnce, running);
      await gate?.promise;
      running -= 1;
      return result;
    },
  };
  waits = createOutcomeWaits({ database: { ...database, queries: database.queries.withPlugin(plugin) }, clock });
});

const settle = () => database.queries.updateTable('commands').set({ state: 'done', settled_at: 1, settled_by: 'answer' }).execute();
const wake = () => database.wake(commandsTopic, command.id);

it('so that a waiting caller gets each change at once, by one query at a time', async () => {
  let heard: Command | undefined;
  void waits.waitFor(command, 60_000).then((latest) => {
    heard = latest;
  });
  gate = Promise.withResolvers<void>();
  wake();
  await clock.advance(1);
  await settle();
  wake();
  wake();
  await clock.advance(1);
  expect([heard, looks]).toEqual([undefined, 1]);
  gate.resolve();
  await clock.advance(1);
  expect(heard?.state).toBe('done');
  expect([looks, atOnce, waits.countOf(command.id)]).toEqual([2, 1, 0]);
  // And nobody looks for somebody who waits no more.
  expect(clock.pending).toBe(0);
});

it('and nothing is read of a command without waiting callers, however often it is named', async () => {
  let hear: ((id: string) => void) | undefined;
  const onWake = (_topic: string, listener: (id: string) => void) => {
    hear = listener;
    return () => {};
  };
  createOutcomeWaits({ database: { ...database, onWake }, clock });
  expect(() => hear?.(command.id)).not.toThrow();
  await clock.advance(60_000);
  expect([looks, clock.pending]).toEqual([0, 0]);
});

it('and by no more than that: the next look comes half a second later', async () => {
  void waits.waitFor(command, 60_000);
  gate = Promise.withResolvers<void>();
  wake();
  await clock.advance(1);
  wake();
  gate.resolve();
  await clock.advance(1);
  expect(looks).toBe(2);
  await clock.advance(498);
  expect(looks).toBe(2);
  await clock.advance(2);
  expect([looks, atOnce]).toEqual([3, 1]);
});

it('and goes on as long as one caller waits: a leaving caller gets the current state, and the last one ends it', async () => {
  const [one, other] = [createFakeRecipient(), createFakeRecipient()];
  const told: Command[] = [];
  for (const caller of [one, other]) void waits.waitFor(command, 60_000, caller).then((latest) => told.push(latest));
  await clock.advance(500);
  expect(looks).toBe(1);
  one.leave();
  await clock.advance(499);
  expect([told.length, looks, waits.countOf(command.id)]).toEqual([1, 1, 1]);
  await clock.advance(1);
  expect(looks).toBe(2);
  other.leave();
  await clock.advance(1);
  expect([told.length, waits.countOf(command.id), clock.pending]).toEqual([2, 0, 0]);
  expect(told[0]).toEqual(command);
  // Whoever comes after that is looked for as the first was.
  void waits.waitFor(command, 60_000);
  await clock.advance(500);
  expect(looks).toBe(3);
});

it('and no caller waits for a settled command, or beyond its own deadline', async () => {
  const settled: Command = { ...command, state: 'refused' };
  expect(await waits.waitFor(settled, 60_000)).toBe(settled);
  expect([looks, clock.pending]).toEqual([0, 0]);
  let told: Command | undefined;
  void waits.waitFor(command, 700).then((latest) => {
    told = latest;
  });
  await clock.advance(699);
  expect(told).toBeUndefined();
  await clock.advance(1);
  expect([told, looks]).toEqual([command, 2]);
});

it('and a caller that joined a running command returns when its outcome becomes unknown, as its own call does; a later caller waits on', async () => {
  await database.queries.updateTable('commands').set({ state: 'unknown' }).execute();
  const told: string[] = [];
  void waits.waitFor(command, 60_000).then(({ state }) => told.push(`joined: ${state}`));
  void waits.waitFor({ ...command, state: 'unknown' }, 60_000).then(({ state }) => told.push(`came later: ${state}`));
  wake();
  await clock.advance(1);
  expect(told).toEqual(['joined: unknown']);
  await settle();
  wake();
  await clock.advance(1);
  expect(told).toEqual(['joined: unknown', 'came later: done']);
});

// A command enters another state: what is written with it, in how many commits, and which callers are woken.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database, Queries } from '../../src/database/database.ts';
import type { Command, SettledState } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import type { CommandKind, CommandKinds } from '../../src/ledger/command-kind.ts';
import { settleWithin } from '../../src/ledger/settle-batch.ts';
import { commandsTopic, createStateChanges, type StateChange } from '../../src/ledger/settling/state-change.ts';
import { findCommand, markUnknown } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { lockAsSeeded, seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let paymentId: string;
let command: Command;
let transactions: number;
let hints: unknown[];
let forgotten: string[];
let events: Omit<CommandEvent, 'atMs'>[];

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  const merchantId = (await seedMerchant(database.queries)).id;
  const paid = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'open' } as const;
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  paymentId = (await seedCommand(database.queries, merchantId, deviceId, { name: 'Pay', ...paid })).id;
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { name: 'CloseDoc', target_id: paymentId });
  command = (await findCommand(database.queries, id)) as Command;
  transactions = 0;
  hints = [];
  forgotten = [];
  events = [];
});
afterEach(() => database.close());

const onState = { done: async () => {}, refused: async () => {} };
const noting: CommandKinds = { CloseDoc: { onState } };

function change(to: StateChange['to'], kinds: CommandKinds = {}, more: Partial<StateChange> = {}): Promise<Command | undefined> {
  const watched: Pick<Database, 'queries' | 'transaction' | 'hint'> = {
    queries: database.queries,
    transaction(work) {
      transactions += 1;
      return database.transaction(work);
    },
    hint: (...told) => hints.push(told),
  };
  const changeState = createStateChanges({
    database: watched as Database,
    timeline: {
      add: (event) => events.push(event),
      addWithin: async ({ isTransaction }, event) => void events.push({ ...event, channel: isTransaction ? 'transaction' : 'none' }),
      addCounted() {},
      flush: async () => {},
    },
    kinds,
    onSettled: (id) => forgotten.push(id),
  });
  const settlement = { by: 'answer', outcome: undefined, report: undefined, reason: undefined } as const;
  const update: StateChange['update'] = (queries) =>
    to === 'unknown'
      ? markUnknown(queries, command.id, 0)
      : settleWithin(database.engine, queries, { command, settlement: { ...settlement, state: to as SettledState } });
  return changeState({ command, to, update, ...more });
}
const documentState = async () => (await findCommand(database.queries, paymentId))?.documentState;

describe('the document of a command’s target', () => {
  it('is closed, in the same transaction, by one of a kind that closes documents and that is done', async () => {
    await change('done');
    expect(await documentState()).toBe('closed');
    expect(transactions).toBe(1);
  });

  it.each<[string, StateChange['to'], CommandKinds]>([
    ['was refused', 'refused', {}],
    ['was refused, and writes something else', 'refused', noting],
  ])('stays open when the command %s', async (_what, to, kinds) => {
    expect(await change(to, kinds)).toMatchObject({ state: to });
    expect(await documentState()).toBe('open');
  });
});

describe('a change of state', () => {
  it('shares a commit with those of other commands unless its slice or its caller writes something with it', async () => {
    const together = async () => ({ ...command, reason: 'together' });
    expect(await change('done', {}, { together })).toMatchObject({ reason: 'together' });
    const written: string[] = [];
    const alongside = async () => void written.push('alongside');
    const slice: CommandKinds = { CloseDoc: { onState: { done: async () => void written.push('slice') } } };
    expect(await change('done', {}, { together, alongside })).toMatchObject({ state: 'done', reason: null });
    await database.queries
      .updateTable('commands')
      .set({ state: 'sent', settled_at: null, settled_by: null })
      .where('id', '=', command.id)
      .execute();
    await lockAsSeeded(database.queries, command.id);
    expect(await change('done', slice, { together })).toMatchObject({ reason: null });
    expect(written).toEqual(['alongside', 'slice']);
    expect(transactions).toBe(2);
  });

  it.each<[StateChange['to'], boolean]>([
    ['done', true],
    ['refused', true],
    ['never', false],
    ['unknown', false],
  ])('to %s drops the reports received meanwhile: %s', async (to, isForgotten) => {
    await change(to);
    expect(forgotten).toEqual(isForgotten ? [command.id] : []);
  });

  it('that finds the command in another state writes nothing alongside', async () => {
    await change('refused');
    const written: unknown[] = [];
    const alongside = async (_queries: unknown, changed: Command) => void written.push(changed);
    expect(await change('done', {}, { alongside })).toBeUndefined();
    expect(written).toEqual([]);
    expect(await documentState()).toBe('open');
  });

  it('wakes the callers that wait for the command, and only if the state changed', async () => {
    await change('done');
    expect(hints).toEqual([[commandsTopic, command.id]]);
    expect(await change('done')).toBeUndefined();
    expect(hints).toHaveLength(1);
  });
});

describe('the writes of the slice', () => {
  /** What was called, in which order, and the state of the command at that time. */
  let calls: string[];
  const hook =
    (name: string) =>
    async (queries: Queries, { id }: Command) =>
      void calls.push(`${name}: ${(await findCommand(queries, id))?.state}`);
  const whole = {
    hold: hook('hold'),
    onExecuted: async (queries: Queries, changed: Command) => {
      await hook('executed')(queries, changed);
      return 'the invoice';
    },
    onReversed: async (queries: Queries, changed: Command) => {
      await hook('reversed')(queries, changed);
      return 'the money of refunds';
    },
    onState: { done: hook('done') },
  } satisfies CommandKind;
  beforeEach(() => {
    calls = [];
  });

  it('lock their rows before the command changes, because the payment of an invoice locks in that order [D142]', async () => {
    await change('done', { CloseDoc: whole }, { alongside: hook('alongside') });
    expect(calls).toEqual(['hold: sent', 'done: done', 'alongside: done']);
  });

  it('lock nothing for a state in which the slice writes nothing', async () => {
    await change('refused', { CloseDoc: whole });
    expect(calls).toEqual([]);
  });

  it('include those of a dispute that is resolved as executed, under the same lock', async () => {
    await change('done', { CloseDoc: { hold: whole.hold, onExecuted: whole.onExecuted } }, { resolvedAs: 'executed' });
    expect(calls).toEqual(['hold: sent', 'executed: done']);
    expect(events).toContainEqual({ commandId: command.id, step: 'not undone', detail: 'the invoice', channel: 'transaction' });
  });

  it('need no lock, if the slice has none', async () => {
    await change('done', { CloseDoc: { onState: whole.onState } });
    expect(calls).toEqual(['done: done']);
  });

  it('undo those of an earlier done, once, and the timeline lists what cannot be undone, in the same commit', async () => {
    const reversed = () => change('refused', { CloseDoc: whole }, { resolvedAs: 'reversed' });
    await reversed();
    expect(calls).toEqual(['hold: sent', 'reversed: refused']);
    expect(await reversed()).toBeUndefined();
    expect(calls.slice(2)).toEqual(['hold: refused']);
    const remains = { commandId: command.id, step: 'not undone', detail: 'the money of refunds', channel: 'transaction' };
    expect(events).toEqual([remains, { commandId: command.id, step: 'settled', detail: 'refused by answer' }]);
  });

  it.each<StateChange['resolvedAs']>(['executed', 'reversed'])('are none where the slice has none: %s', async (resolvedAs) => {
    expect(await change('refused', {}, { resolvedAs })).toMatchObject({ state: 'refused' });
    expect(events.map(({ step }) => step)).toEqual(['settled']);
  });

  it('are followed by its steps outside the transaction, and only if the state changed', async () => {
    const afterState = ({ state }: Command) => void calls.push(`after: ${state}, in ${transactions} transactions`);
    await change('done', { CloseDoc: { afterState } });
    await change('done', { CloseDoc: { afterState } });
    expect(calls).toEqual(['after: done, in 1 transactions']);
  });
});

describe('the timeline', () => {
  it('lists a settlement with its source, and an outcome that became unknown', async () => {
    await change('unknown');
    await change('done');
    const commandId = command.id;
    expect(events).toEqual([
      { commandId, step: 'unknown', detail: undefined },
      { commandId, step: 'settled', detail: 'done by answer' },
    ]);
  });

  it('lists no settlement for a dispute: it has the contradiction', async () => {
    const disputed: Command = { ...command, state: 'disputed', settledBy: 'person' };
    expect(await change('disputed', {}, { update: async () => disputed })).toBe(disputed);
    expect(events).toEqual([]);
    expect([hints.length, forgotten]).toEqual([1, [command.id]]);
  });
});

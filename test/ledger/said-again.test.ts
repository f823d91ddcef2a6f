// What an operator's decision writes, and what a change of a state does: each by itself, on a small database.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database, Queries } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import type { CommandKinds } from '../../src/ledger/command-kind.ts';
import type { Settlement } from '../../src/ledger/settle-batch.ts';
import { createReview } from '../../src/ledger/settling/review.ts';
import { createStateChanges } from '../../src/ledger/settling/state-change.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let deviceId: string;
let events: Omit<CommandEvent, 'atMs'>[];
let counted: Omit<CommandEvent, 'atMs'>[];
const timeline = {
  add: (event: CommandEvent) => void events.push(event),
  addCounted: (event: CommandEvent) => void counted.push(event),
  flush: async () => {},
} as never;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  events = [];
  counted = [];
});

async function command(overrides: object = {}): Promise<Command> {
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { journal_id: 'j', ...overrides });
  return latest(id);
}
const latest = async (id: string) => (await findCommand(database.queries, id)) as Command;
const refused = { state: 'refused', settled_at: 1, settled_by: 'answer' } as const;

describe('a decision', () => {
  let isRunning = false;
  let said: Command | undefined;
  const reviewOf = (kinds: CommandKinds = {}, decide: (settlement: Settlement) => Promise<Command | undefined> = async () => undefined) =>
    createReview({
      database,
      kinds,
      timeline,
      recall: { whatNow: async () => (isRunning ? 'running' : said) },
      settlements: { decide: (_command: Command, settlement: Settlement) => decide(settlement) } as never,
    });
  const yes = { state: 'done', reason: 'In the list.', actor: 'ana', operationId: '7', rrn: '8' } as const;
  const no = { ...yes, state: 'refused' } as const;
  const seen = { ...yes, closesReview: true } as const;
  const notAllowed = (sentence: string) => ({ errorName: 'The_status_cannot_be_applied', message: expect.stringContaining(sentence) });

  it('that it was done is stored with the report that later calls need; that it was not, without one', async () => {
    const open = await command({ state: 'unknown' });
    const settlements: Settlement[] = [];
    const { decide } = reviewOf({ Pay: { reportOfDecision: (_command, found) => ({ found }) } }, async (settlement) => {
      settlements.push(settlement);
      return open;
    });
    expect(await decide(open.id, yes)).toBe(open);
    await decide(open.id, no);
    const { actor: _actor, ...fields } = yes;
    expect(settlements).toEqual([
      { ...fields, by: 'person', outcome: undefined, report: '{"found":{"operationId":"7","rrn":"8"}}' },
      { ...fields, state: 'refused', by: 'person', outcome: undefined, report: undefined },
    ]);
    expect(events).toEqual([
      { commandId: open.id, step: 'decided', detail: 'ana: done, In the list.' },
      { commandId: open.id, step: 'decided', detail: 'ana: refused, In the list.' },
    ]);
  });

  it('waits for a device that reports that it still runs, once the decision would be possible', async () => {
    isRunning = true;
    const { decide } = reviewOf({}, async () => open);
    const open = await command({ state: 'unknown', answer_by: clock.now() - 120_000 });
    await expect(decide(open.id, no)).rejects.toMatchObject(notAllowed('The device says that it is still carrying the command out'));
    // Too early is for the statement to say, and what the device itself has ended is not running.
    for (const overrides of [{ answer_by: clock.now() - 119_999 }, { answer_by: 0, ended_unknown_at: 1 }]) {
      await database.queries.updateTable('commands').set(overrides).execute();
      expect(await decide(open.id, no)).toBe(open);
    }
    isRunning = false;
    await database.queries.updateTable('commands').set({ answer_by: 0, ended_unknown_at: null }).execute();
    expect(await decide(open.id, no)).toBe(open);
  });

  it('waits until the person has seen the device’s answer, unless that settles it or is "unknown"', async () => {
    const open = await command({ state: 'unknown', answer_by: 0, review_since: 1, review_reason: 'Silent.' });
    const { decide } = reviewOf({}, async () => open);
    said = { ...open, reviewReason: 'Another amount.' };
    await expect(decide(open.id, no)).rejects.toMatchObject(notAllowed('reported something new: Another amount. Check it, then decide.'));
    for (const heard of [open, { ...said, endedUnknownAtMs: 1 }, undefined]) {
      said = heard;
      expect(await decide(open.id, no)).toBe(open);
    }
  });

  it('needs no report of a kind that has none', async () => {
    const open = await command({ state: 'unknown', name: 'Refund' });
    const reports: unknown[] = [];
    for (const kinds of [{}, { Refund: {} }] as CommandKinds[]) {
      await reviewOf(kinds, async ({ report }) => {
        reports.push(report);
        return open;
      }).decide(open.id, yes);
    }
    expect(reports).toEqual([undefined, undefined]);
  });

  it('that comes too late fails with what was decided before', async () => {
    const open = await command({ state: 'unknown' });
    const { decide } = reviewOf({}, async () => {
      await database.queries
        .updateTable('commands')
        .set({ ...refused, settled_by: 'recall' })
        .execute();
      return undefined;
    });
    await expect(decide(open.id, yes)).rejects.toMatchObject(notAllowed('The command is settled already: refused by recall.'));
    expect(events).toEqual([]);
  });

  it('that comes too early is refused, with the time when it is possible: two minutes after the last moment at which the device may begin', async () => {
    const open = await command({ state: 'unknown', answer_by: Date.UTC(2026, 0, 1, 12) });
    await expect(reviewOf().decide(open.id, no)).rejects.toMatchObject(notAllowed('decide it from 2026-01-01T12:02:00.000Z on'));
  });

  it('about an unknown command is answered so', async () => {
    await expect(reviewOf().decide('none', yes)).rejects.toMatchObject({ errorName: 'Record_not_exist' });
  });

  it('about a settled command closes its review, with the caller’s writes in the same transaction, once', async () => {
    const settled = await command({ ...refused, review_since: 1, review_reason: 'why' });
    const { decide } = reviewOf();
    // From a page that still shows it as open: what was never seen is not waved through.
    await expect(decide(settled.id, yes)).rejects.toThrow(
      'The device has contradicted it since: check the command again, then close the review.',
    );
    await expect(
      decide(settled.id, seen, async () => {
        throw new Error('the audit log');
      }),
    ).rejects.toThrow('the audit log');
    expect(await latest(settled.id)).toEqual(settled);
    const told: Command[] = [];
    const alongside = async (_queries: unknown, closed: Command) => void told.push(closed);
    const closed = await decide(settled.id, seen, alongside);
    expect(closed).toEqual({ ...settled, reviewedAtMs: clock.now() });
    expect(told).toEqual([closed]);
    const message = 'The command is settled already: refused by answer.';
    await expect(decide(settled.id, seen, alongside)).rejects.toMatchObject({ message });
    await database.queries.updateTable('commands').set({ review_since: null, review_reason: null, reviewed_at: null }).execute();
    await expect(decide(settled.id, seen, alongside)).rejects.toMatchObject({ message });
    await database.queries.updateTable('commands').set({ review_since: 1, review_reason: 'why', reviewed_at: 1 }).execute();
    expect([told.length, events]).toEqual([1, [{ commandId: settled.id, step: 'review closed', detail: 'ana: done, In the list.' }]]);
    await expect(reviewOf().decide(settled.id, seen)).rejects.toThrow('settled already');
    await database.queries.updateTable('commands').set({ reviewed_at: null }).execute();
    expect(await decide(settled.id, seen)).toMatchObject({ state: 'refused', reviewedAtMs: clock.now() });
  });
});

describe('the resolution of a dispute', () => {
  let given: object | undefined;
  /** As the ledger is given it: another operation has its number by now, or it is not disputed any more. */
  const resolve = async (
    row: object,
    decision: { state: 'done' | 'refused'; operationId?: string; rrn?: string },
    { isDisplaced = false, isOver = false } = {},
  ) => {
    const disputed = await command({ settled_at: 1, settled_by: 'person', disputed_from: 'refused', ...row, state: 'disputed' });
    const review = createReview({
      database,
      kinds: { Pay: { reportOfDecision: (_command, found) => ({ found }) } },
      timeline,
      recall: { whatNow: async () => undefined },
      settlements: {
        async resolve(of: Command, resolution: object) {
          given = resolution;
          return isOver ? undefined : { command: of, isDisplaced };
        },
      } as never,
    });
    return review.decide(disputed.id, { reason: 'In the list.', actor: 'ana', closesReview: true, ...decision });
  };
  const numbers = { operation_id: '7', rrn: '8' };

  it.each<[string, object, Parameters<typeof resolve>[1], object]>([
    ['executed keeps what the device reported', { outcome: 'done', ...numbers }, { state: 'done' }, { report: undefined }],
    ['not executed keeps how the device refused it', { outcome: 'refused' }, { state: 'refused' }, { report: undefined }],
    ['not executed drops what an operator gave instead', { disputed_from: 'done' }, { state: 'refused' }, { report: null }],
    [
      'executed has the numbers that were known before',
      { disputed_from: 'done', outcome: 'never', ...numbers },
      { state: 'done' },
      { report: '{"found":{"operationId":"7","rrn":"8"}}' },
    ],
    [
      'executed has the numbers that the operator gives now',
      { disputed_from: 'done', outcome: 'never', ...numbers },
      { state: 'done', operationId: '1', rrn: '2' },
      { report: '{"found":{"operationId":"1","rrn":"2"}}', operationId: '1', rrn: '2' },
    ],
    ['executed, of what the device only was at', {}, { state: 'done' }, { report: '{"found":{}}' }],
    ['executed, of what is no payment', { name: 'MoneyIn' }, { state: 'done' }, { report: null, isPayment: false }],
  ])('as %s', async (_what, row, decision, expected) => {
    await resolve(row, decision);
    const { state, ...own } = decision;
    expect(given).toEqual({
      ...{ isPayment: true, operationId: undefined, rrn: undefined },
      ...own,
      state,
      reason: 'In the list.',
      ...expected,
    });
  });

  it('is in the timeline, with what could not be given back; one that came too late is not', async () => {
    const { id } = await resolve({}, { state: 'done' }, { isDisplaced: true });
    expect(events).toEqual([
      { commandId: id, step: 'review closed', detail: 'ana: done, In the list. Another operation holds its number.' },
    ]);
    await expect(resolve({}, { state: 'done' }, { isOver: true })).rejects.toThrow('The command is disputed.');
    expect(events).toHaveLength(1);
  });
});

describe('a command that enters another state', () => {
  let hints: unknown[];
  let transactions: number;
  let kinds: CommandKinds;
  const changeState = (change: Parameters<ReturnType<typeof createStateChanges>>[0]) =>
    createStateChanges({
      database: {
        ...database,
        hint: (...args: unknown[]) => hints.push(args),
        transaction(work) {
          transactions += 1;
          return database.transaction(work);
        },
      },
      timeline,
      kinds,
      onSettled: (id) => hints.push(['settled', id]),
    })(change);

  beforeEach(() => {
    hints = [];
    transactions = 0;
    kinds = {};
  });

  const moveTo =
    (state: 'done' | 'refused' | 'unknown', { id }: Command) =>
    async (queries: Queries) => ({
      ...((await findCommand(queries, id)) as Command),
      state,
      settledBy: state === 'unknown' ? null : ('answer' as const),
    });

  it('wakes its waiting callers, and is passed to the timeline and to its slice; nothing of this when nothing has changed', async () => {
    const after: Command[] = [];
    kinds = { Pay: { afterState: (changed) => after.push(changed) } };
    const open = await command();
    expect(await changeState({ command: open, to: 'done', update: async () => undefined })).toBeUndefined();
    expect([hints, events, after]).toEqual([[], [], []]);
    const settled = await changeState({ command: open, to: 'done', update: moveTo('done', open) });
    expect(hints).toEqual([
      ['settled', open.id],
      ['commands', open.id],
    ]);
    expect(events).toEqual([{ commandId: open.id, step: 'settled', detail: 'done by answer' }]);
    expect(after).toEqual([settled]);
  });

  it('that is unknown is not settled, and lists no source', async () => {
    const open = await command();
    await changeState({ command: open, to: 'unknown', update: moveTo('unknown', open) });
    expect(hints).toEqual([['commands', open.id]]);
    expect(events).toEqual([{ commandId: open.id, step: 'unknown', detail: undefined }]);
  });

  it('shares a commit with others unless something is written with it', async () => {
    const open = await command();
    const ways: string[] = [];
    const settled = moveTo('done', open);
    const change = {
      command: open,
      to: 'done' as const,
      update: (queries: Queries) => {
        ways.push('alone');
        return settled(queries);
      },
      together: () => {
        ways.push('together');
        return settled(database.queries);
      },
    };
    await changeState(change);
    await changeState({ ...change, alongside: async (_queries, { state }) => void ways.push(`alongside ${state}`) });
    kinds = { Pay: { onState: { done: async () => void ways.push('slice') } } };
    await changeState(change);
    kinds = { Pay: { onState: { refused: async () => void ways.push('slice') } } };
    await changeState(change);
    expect(ways).toEqual(['together', 'alone', 'alongside done', 'alone', 'slice', 'together']);
  });

  it('writes nothing with it when the command was in another state', async () => {
    const open = await command();
    const ways: string[] = [];
    kinds = { Pay: { onState: { done: async () => void ways.push('slice') } } };
    const alongside = async () => void ways.push('alongside');
    expect(await changeState({ command: open, to: 'done', update: async () => undefined, alongside })).toBeUndefined();
    expect(ways).toEqual([]);
  });
});

// What became known about a command, and its one settlement: on a small database, with the slice's own rules in the test's hand.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import type { CommandKind } from '../../src/ledger/command-kind.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import { createSettlements, type Settlements } from '../../src/ledger/settling/settlement.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let deviceId: string;
let kind: CommandKind;
let settlements: Settlements;
let steps: Omit<CommandEvent, 'atMs'>[];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  kind = {};
  steps = [];
  const timeline = { add: (event: CommandEvent) => steps.push(event), addCounted: (event: CommandEvent) => steps.push(event) };
  settlements = createSettlements({
    database,
    clock,
    logger: quietLogger,
    timeline: timeline as never,
    kinds: {
      get Pay() {
        return kind;
      },
      CloseDoc: {},
    },
    settleGroup: createSettleGroup(database),
  });
});

async function command(overrides: object = {}): Promise<Command> {
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { journal_id: 'j', ...overrides });
  return latest(id);
}
const latest = async (id: string) => (await findCommand(database.queries, id)) as Command;
const finding = (outcome: Finding['outcome'], overrides: Partial<Finding> = {}): Finding => ({
  ...{ outcome, report: undefined, reason: undefined, journalId: 'j', wasAccepted: false },
  ...overrides,
});
const stepsOf = () => steps.map(({ step, detail }) => [step, detail]);

describe('a finding', () => {
  it('that it was done settles it with the report and what the slice reads in it, and opens its document', async () => {
    kind = { ...kind, extract: (report) => ({ operationId: String(report['operationId']), rrn: 'r' }) };
    const open = await command();
    const settled = await settlements.apply(open, finding('done', { report: { operationId: '7' }, wasAccepted: true }), 'answer');
    expect(settled).toEqual({
      ...{ ...open, state: 'done', settledBy: 'answer', settledAtMs: clock.now(), outcome: 'done', report: '{"operationId":"7"}' },
      ...{ operationId: '7', rrn: 'r', documentState: 'open', acceptedAtMs: clock.now() },
    });
    expect(await latest(open.id)).toEqual(settled);
    expect(stepsOf()).toEqual([['settled', 'done by answer']]);
  });

  it('without a report is judged as an empty one, and none is kept', async () => {
    const read: unknown[] = [];
    kind = { ...kind, doubt: (_command, report) => void read.push(report), extract: (report) => (read.push(report), {}) };
    expect(await settlements.apply(await command(), finding('done'), 'recall')).toMatchObject({ state: 'done', report: null });
    expect(read).toEqual([{}, {}]);
  });

  it('that it was not done is no affair of what the slice reads in reports', async () => {
    const never = () => {
      throw new Error('There is nothing to read.');
    };
    kind = { ...kind, doubt: never, extract: never };
    const report = { code: 51 };
    expect(await settlements.apply(await command(), finding('refused', { report, reason: 'No money.' }), 'answer')).toMatchObject({
      ...{ state: 'refused', report: '{"code":51}', reason: 'No money.', documentState: null },
    });
  });

  it('that cannot be taken as it is makes it unknown, due for Recall at once, and puts it on the review list with what was said', async () => {
    kind = { ...kind, doubt: () => 'Another amount.' };
    const open = await command();
    const said = finding('done', { report: { amount: 9 } });
    expect(await settlements.apply(open, said, 'answer')).toMatchObject({
      ...{ state: 'unknown', reviewSinceMs: clock.now(), reviewReason: 'Another amount.', endedUnknownAtMs: clock.now(), report: null },
    });
    const detail = JSON.stringify({ why: 'Another amount.', outcome: 'done', report: { amount: 9 } });
    expect(stepsOf()).toEqual([
      ['unknown', undefined],
      ['review', detail],
    ]);
    const row = await database.queries.selectFrom('commands').select('next_recall_at').executeTakeFirstOrThrow();
    expect(row.next_recall_at).toBe(clock.now());
  });

  it('that is heard again and again is on the list once, with the newest reason', async () => {
    let why = 'Another amount.';
    kind = { ...kind, doubt: () => why };
    let told = await settlements.apply(await command(), finding('done'), 'answer');
    for (let time = 0; time < 3; time += 1) {
      await clock.advance(1_000);
      expect(await settlements.apply(told, finding('done'), 'recall')).toEqual(told);
    }
    expect(steps).toHaveLength(2);
    why = 'No amount.';
    told = await settlements.apply(told, finding('done'), 'recall');
    expect(told).toMatchObject({ reviewReason: 'No amount.', reviewSinceMs: clock.now() - 3_000 });
    expect(steps).toHaveLength(3);
  });

  it('that the device ended it as unknown is noted although it is on the list for the same', async () => {
    const why = 'The device cannot tell how the command ended.';
    const listed = await command({ state: 'unknown', review_since: 5, review_reason: why });
    expect(await settlements.apply(listed, finding('unknown', { journalId: 'other' }), 'recall')).toEqual(listed);
    const ended = await settlements.apply(listed, finding('unknown'), 'recall');
    expect(ended).toEqual({ ...listed, endedUnknownAtMs: clock.now() });
    expect(await settlements.apply(ended, finding('unknown'), 'recall')).toEqual(ended);
    expect(steps).toHaveLength(1);
  });

  it.each(['never', 'busy', 'expired'] as const)('of %s is not believed of what was accepted, whoever was told', async (outcome) => {
    const heardHere = await command();
    settlements.accepted(heardHere.id);
    expect(await settlements.apply(heardHere, finding(outcome), 'recall')).toMatchObject({ state: 'unknown', acceptedAtMs: clock.now() });
    await database.queries.deleteFrom('commands').execute();
    const heardElsewhere = await command();
    await database.queries.updateTable('commands').set({ accepted_at: 5 }).execute();
    expect(await settlements.apply(heardElsewhere, finding(outcome), 'recall')).toMatchObject({
      state: 'unknown',
      reviewSinceMs: clock.now(),
    });
    await database.queries.deleteFrom('commands').execute();
    expect(await settlements.apply(await command(), finding(outcome), 'recall')).toMatchObject({ state: 'never', acceptedAtMs: null });
  });

  it('of what was settled meanwhile is compared with that: it agrees, or it is for a person', async () => {
    kind = { ...kind, extract: (report) => ({ operationId: String(report['operationId']) }) };
    const open = await command();
    const done = await settlements.apply(open, finding('done', { report: { operationId: '7' } }), 'answer');
    expect(await settlements.apply(open, finding('done', { report: { operationId: '7' } }), 'late-answer')).toEqual(done);
    expect(settlements.contradictions()).toBe(0);
    expect(await settlements.apply(open, finding('done', { report: { operationId: '8' } }), 'late-answer')).toMatchObject({
      ...{ state: 'done', operationId: '7', reviewReason: expect.stringContaining('a second operation, 8') },
    });
    expect(settlements.contradictions()).toBe(1);
    // What cannot be trusted besides is not lost either.
    kind = { ...kind, doubt: () => 'Another amount.' };
    await database.queries.updateTable('commands').set({ state: 'refused', document_state: null }).execute();
    expect(await settlements.apply(open, finding('done'), 'late-answer')).toMatchObject({ state: 'disputed', disputedFrom: 'refused' });
    expect(settlements.contradictions()).toBe(2);
    expect(stepsOf().map(([step]) => step)).toEqual(['settled', 'answered again', 'contradiction', 'contradiction']);
  });

  it.each(['never', 'busy', 'expired'] as const)(
    'of %s about what was settled meanwhile agrees, or contradicts what was done',
    async (outcome) => {
      const open = await command();
      const refused = await settlements.apply(open, finding('refused'), 'answer');
      expect(await settlements.apply(open, finding(outcome), 'recall')).toEqual(refused);
      await database.queries.updateTable('commands').set({ state: 'done', document_state: 'open', accepted_at: 5 }).execute();
      expect(await settlements.apply(open, finding(outcome), 'recall')).toMatchObject({ state: 'disputed', reviewSinceMs: clock.now() });
      expect(stepsOf().map(([step]) => step)).toEqual(['settled', 'answered again', 'contradiction']);
    },
  );

  it('closes the document of its target if that is its affair, and leaves it open otherwise', async () => {
    const paid = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'open' } as const;
    const payment = await command(paid);
    const cancel = await command({ name: 'CancelTransaction', target_id: payment.id });
    await settlements.apply(cancel, finding('done', { report: {} }), 'answer');
    expect((await latest(payment.id)).documentState).toBe('open');
    const closeDoc = await command({ name: 'CloseDoc', target_id: payment.id });
    await settlements.apply(closeDoc, finding('done', { report: {} }), 'answer');
    expect((await latest(payment.id)).documentState).toBe('closed');
  });

  it('has no card numbers', async () => {
    const said = finding('refused', { report: { card: '4111111111111111' }, reason: 'Card 4111111111111111.' });
    const { report, reason } = await settlements.apply(await command(), said, 'answer');
    expect([report, reason]).toEqual(['{"card":"411111******1111"}', 'Card 411111******1111.']);
  });

  it('of a kind that nobody defined is settled all the same', async () => {
    expect(await settlements.apply(await command({ name: 'Report' }), finding('done', { report: {} }), 'answer')).toMatchObject({
      ...{ state: 'done', documentState: null, operationId: null },
    });
  });
});

describe('the gateway itself', () => {
  it('ends what was never sent, and finds what somebody else settled as it is', async () => {
    const open = await command();
    expect(await settlements.neverSent(open, 'Not sent.')).toMatchObject({
      ...{ state: 'never', settledBy: 'gateway', reason: 'Not sent.', outcome: null, report: null },
    });
    const over = await latest(open.id);
    await clock.advance(10);
    expect(await settlements.neverSent(open, 'Another reason.')).toEqual(over);
    expect(await settlements.becomeUnknown(open, 0)).toEqual(over);
    expect(stepsOf()).toEqual([['settled', 'never by gateway']]);
  });

  it('writes at its end what devices accepted', async () => {
    const open = await command();
    settlements.accepted(open.id);
    await settlements.stop();
    expect((await latest(open.id)).acceptedAtMs).toBe(clock.now());
  });
});

it('a person’s decision that it was done opens its document, and what is written alongside goes with it', async () => {
  const open = await command({ state: 'unknown', ended_unknown_at: 5 });
  const decision = { state: 'done', by: 'person', outcome: undefined, report: undefined, reason: 'In the list.' } as const;
  const failing = async () => {
    throw new Error('the audit log');
  };
  await expect(settlements.decide(open, decision, failing)).rejects.toThrow('the audit log');
  expect(await latest(open.id)).toEqual(open);
  expect(await settlements.decide(open, decision)).toMatchObject({ state: 'done', settledBy: 'person', documentState: 'open' });
});

it('a person decides about a kind that nobody defined, too', async () => {
  const open = await command({ state: 'unknown', ended_unknown_at: 5, name: 'Report' });
  const decision = { state: 'done', by: 'person', outcome: undefined, report: undefined, reason: 'On paper.' } as const;
  expect(await settlements.decide(open, decision)).toMatchObject({ state: 'done', documentState: null });
});

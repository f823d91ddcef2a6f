// What a device's answer makes of an open command, with the slice's own checks in the test's hand: settled, or on the review list.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import { createSettlements, type Settlements } from '../../src/ledger/settling/settlement.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let settlements: Settlements;
let merchantId: string;
let doubt: string | undefined;
let doubted: object[];
let events: Omit<CommandEvent, 'atMs'>[];

beforeEach(async () => {
  const clock = createVirtualClock(1_000_000);
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  doubt = undefined;
  doubted = [];
  events = [];
  settlements = createSettlements({
    database,
    clock,
    logger: quietLogger,
    timeline: { add: (event) => events.push(event), addWithin: async () => {}, addCounted() {}, flush: async () => {} },
    kinds: {
      Refund: {},
      Pay: {
        doubt(_command, report) {
          doubted.push(report);
          return doubt;
        },
        extract: ({ operationId }) => ({ operationId: typeof operationId === 'string' ? operationId : 'none reported' }),
      },
    },
    settleGroup: createSettleGroup(database),
    unmatched: { async keepAnswer() {} },
  });
});

async function open(overrides: object = {}): Promise<Command> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { journal_id: 'j', ...overrides });
  return (await findCommand(database.queries, id)) as Command;
}
const says = (outcome: Finding['outcome'], report?: Finding['report']): Finding => ({
  ...{ outcome, report, reason: undefined, journalId: 'j', wasAccepted: false },
});

it('a report that its slice doubts is for an operator, and is settled by none', async () => {
  doubt = 'Another amount.';
  const now = await settlements.apply(await open(), says('done', { operationId: '7' }), 'answer');
  expect(now).toMatchObject({ state: 'unknown', reviewReason: 'Another amount.', operationId: null, endedUnknownAtMs: 1_000_000 });
  expect(doubted).toEqual([{ operationId: '7' }]);
});

it('one that it does not doubt settles it, with the number that later calls look for; a missing report is an empty one', async () => {
  const reported = says('done', { operationId: '7' });
  expect(await settlements.apply(await open(), reported, 'answer')).toMatchObject({ state: 'done', operationId: '7', settledBy: 'answer' });
  expect(await settlements.apply(await open(), says('done'), 'recall')).toMatchObject({ state: 'done', operationId: 'none reported' });
  expect(doubted.at(-1)).toEqual({});
});

it('a refusal is no report of what was done: nothing is doubted, and no number taken from it', async () => {
  doubt = 'Another amount.';
  const now = await settlements.apply(await open(), says('refused', { operationId: '7' }), 'answer');
  expect(now).toMatchObject({ state: 'refused', operationId: null, report: '{"operationId":"7"}', reviewReason: null });
  expect(doubted).toEqual([]);
});

it('what no slice says anything about is settled as the device says', async () => {
  expect(await settlements.apply(await open({ name: 'MoneyIn' }), says('done', {}), 'answer')).toMatchObject({ state: 'done' });
  expect(await settlements.apply(await open({ name: 'Refund' }), says('done', {}), 'answer')).toMatchObject({ state: 'done' });
});

it('a CloseDoc that was called refused while it ran is done when the device says so', async () => {
  const refused = { name: 'CloseDoc', state: 'refused', settled_at: 1, settled_by: 'person' };
  const disputed = await settlements.stillRuns(await open(refused));
  expect(disputed).toMatchObject({ state: 'disputed', disputedFrom: 'refused' });
  expect(await settlements.apply(disputed, says('done', {}), 'recall')).toMatchObject({ state: 'done', settledBy: 'recall' });
});

it('a CloseDoc that was disputed and resolved as not executed is done when the device says so later', async () => {
  const resolved = { name: 'CloseDoc', state: 'refused', disputed_from: 'done', settled_at: 1, settled_by: 'person' };
  expect(await settlements.apply(await open(resolved), says('done', {}), 'recall')).toMatchObject({ state: 'done', settledBy: 'recall' });
});

it('a refusal and its report are stored without card numbers', async () => {
  const refusal = { ...says('refused', { text: 'PAN 4111111111111111' }), reason: 'Declined: 4111111111111111' };
  const now = await settlements.apply(await open(), refusal, 'answer');
  expect(now.reason).toMatch(/^Declined: .*1111$/u);
  expect(`${now.reason} ${now.report}`).not.toContain('4111111111111111');
});

describe('an answer that needs an operator', () => {
  const cannotTell = 'The device cannot tell how the command ended.';
  const reviewed = () => events.filter(({ step }) => step === 'review');
  const listed = async (finding: Finding) => {
    const command = await open({ state: 'unknown' });
    return settlements.apply(command, finding, 'answer');
  };

  it('is listed once with its report, however often the device repeats it', async () => {
    const told = says('unknown', { screen: 'dark' });
    const now = await listed(told);
    expect(now).toMatchObject({ state: 'unknown', reviewReason: cannotTell, endedUnknownAtMs: 1_000_000 });
    expect(await settlements.apply(now, told, 'recall')).toEqual(now);
    const detail = JSON.stringify({ why: cannotTell, outcome: 'unknown', report: { screen: 'dark' } });
    expect(reviewed()).toEqual([{ commandId: now.id, step: 'review', detail }]);
  });

  it('is listed again for another reason', async () => {
    const now = await listed(says('unknown'));
    doubt = 'Another amount.';
    expect(await settlements.apply(now, says('done'), 'recall')).toMatchObject({ reviewReason: 'Another amount.' });
    expect(reviewed()).toHaveLength(2);
  });

  it('from another journal does not mean that the device has ended; the same from its own does, and is listed again', async () => {
    const fromAnother = { ...says('unknown'), journalId: 'another' };
    const now = await listed(fromAnother);
    expect(now).toMatchObject({ reviewReason: cannotTell, endedUnknownAtMs: null });
    expect(await settlements.apply(now, fromAnother, 'recall')).toEqual(now);
    expect(reviewed()).toHaveLength(1);
    expect(await settlements.apply(now, says('unknown'), 'recall')).toMatchObject({ endedUnknownAtMs: 1_000_000 });
  });

  it('is only compared if another gateway has settled the command since', async () => {
    const command = await open({ state: 'unknown' });
    await settlements.apply(command, says('refused'), 'answer');
    expect(await settlements.apply(command, says('unknown'), 'recall')).toMatchObject({ state: 'refused', reviewSinceMs: null });
    expect(reviewed()).toEqual([]);
  });
});

it('a doubtful report of done about a command that is done already is flagged; the device’s "unknown" about it is not', async () => {
  const command = await open();
  const done = await settlements.apply(command, says('done', { operationId: '7' }), 'answer');
  expect(await settlements.apply(command, says('unknown'), 'recall')).toMatchObject({ state: 'done', reviewSinceMs: null });
  expect(await settlements.apply(command, says('done', { operationId: '7' }), 'recall')).toEqual(done);
  doubt = 'Another amount.';
  const flagged = await settlements.apply(command, says('done', { operationId: '7' }), 'recall');
  expect(flagged).toMatchObject({ state: 'done', reviewSinceMs: 1_000_000 });
});

describe('a command that another gateway has settled since it was read', () => {
  const settledSince = async () => {
    const command = await open();
    const now = await settlements.apply(command, says('refused'), 'answer');
    return { command, now };
  };

  it('is disputed by a report of done, with the number that later calls look for', async () => {
    const { command } = await settledSince();
    const now = await settlements.apply(command, says('done', { operationId: '7' }), 'recall');
    expect(now).toMatchObject({ state: 'disputed', operationId: '7' });
  });

  it('becomes neither unknown nor never, and is returned as it is', async () => {
    const { command, now } = await settledSince();
    expect(await settlements.becomeUnknown(command, 0)).toEqual(now);
    expect(await settlements.neverSent(command, 'The device is offline.')).toEqual(now);
  });
});

it('every contradiction of a device says so if another operation has the number: it may be done twice', async () => {
  const refused = { state: 'refused', settled_at: 1, settled_by: 'person', document_nr: 'n' } as const;
  const command = await open(refused);
  const other = await open({ state: 'done', settled_at: 2, settled_by: 'answer', document_state: 'closed', document_nr: 'n' });
  const warning = `Another operation under the same number, or for the same payment, was begun since (${other.id}): it may be done twice.`;
  const begun = await settlements.stillRuns(command);
  expect(begun).toMatchObject({ state: 'disputed', reviewReason: expect.stringContaining(warning) });
  const reported = await settlements.apply(begun, says('done', { operationId: '7' }), 'recall');
  expect(reported).toMatchObject({ state: 'disputed', outcome: 'done', reviewReason: expect.stringContaining(warning) });
});

it('never, about a command whose acceptance another gateway has received, is for an operator; about another it is believed', async () => {
  const asRead = await open();
  await database.queries.updateTable('commands').set({ accepted_at: 1 }).where('id', '=', asRead.id).execute();
  const why = 'The device had accepted the command and now says that it never began.';
  expect(await settlements.apply(asRead, says('never'), 'recall')).toMatchObject({ state: 'unknown', reviewReason: why });
  expect(await settlements.apply(await open(), says('never'), 'recall')).toMatchObject({ state: 'never' });
  expect(await settlements.apply(await open(), { ...says('never'), wasAccepted: true }, 'recall')).toMatchObject({ reviewReason: why });
});

it('never, about a command that the device itself reported as done, is flagged with both of its answers', async () => {
  const command = await open();
  await settlements.apply(command, says('done', { operationId: '7' }), 'answer');
  const flagged = await settlements.apply(command, { ...says('never'), wasAccepted: true }, 'recall');
  const why = 'The device now says "never", but the command was settled as "done".';
  expect(flagged).toMatchObject({ state: 'done', contradiction: 'never', reviewReason: why });
});

it('never, about a command that was settled otherwise since it was read, is compared once and changes nothing', async () => {
  const command = await open();
  const refused = await settlements.apply(command, says('refused'), 'answer');
  expect(await settlements.apply(command, says('never'), 'recall')).toEqual(refused);
});

// What a device says after the settlement, case by case: what is written, what an operator sees, and what is counted [D143].
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { findEqual } from '../../src/ledger/calls/content-store.ts';
import { findClaimant, type NumberKind } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import type { CommandKinds } from '../../src/ledger/command-kind.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createDisputes, type Disputes } from '../../src/ledger/settling/disputes.ts';
import { createStateChanges } from '../../src/ledger/settling/state-change.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { decisionsToConfirm } from '../../src/ledger/sweep-store.ts';
import type { Timeline } from '../../src/ledger/timeline.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { insertSent, settle } from '../support/ledger-statements.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let disputes: Disputes;
let steps: Omit<CommandEvent, 'atMs'>[];
/** Names of operations whose effects were undone. */
let reversed: string[];
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  clock = createVirtualClock(1_000_000);
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  steps = [];
  reversed = [];
  const timeline = { add() {}, addCounted: (event: CommandEvent) => steps.push(event) } as unknown as Timeline;
  const kinds: CommandKinds = {
    CloseDoc: {},
    Pay: {
      onReversed: async (_queries, { name }) => void reversed.push(name),
    },
  };
  const changeState = createStateChanges({ database, timeline, kinds, onSettled() {} });
  disputes = createDisputes({ kinds: {}, database, logger: quietLogger, timeline, changeState });
});

const latest = async ({ id }: { id: string }) => (await findCommand(database.queries, id)) as Command;
async function settled(overrides: Parameters<typeof seedCommand>[3] = {}): Promise<Command> {
  const row = { settled_at: 999_990, settled_by: 'person', journal_id: 'j', ...overrides } as const;
  return latest(await seedCommand(database.queries, merchantId, deviceId, row));
}
const refused = { state: 'refused' } as const;
const done = { state: 'done', document_state: 'closed' } as const;
const open = { state: 'unknown', settled_at: null, settled_by: null } as const;
const says = (outcome: Finding['outcome'], report?: Finding['report']): Finding => ({
  outcome,
  report,
  reason: undefined,
  journalId: 'j',
  wasAccepted: false,
});
const compare = (command: Command, finding: Finding, extracted?: object) => disputes.compare(command, finding, 'recall', extracted);
const stepNames = () => steps.map(({ step }) => step);
const mine = { instanceId: 'me', deadAfterMs: 1 };
const unconfirmed = async () => (await decisionsToConfirm(database.queries, mine, { deviceId, journalId: 'j' }, 1_000)).map(({ id }) => id);
const holderOf = async (kind: NumberKind, number: string) => (await findClaimant(database.queries, merchantId, kind, number))?.id;

describe('a device that reports that it executes a command that was settled as not done', () => {
  it('disputes it, once', async () => {
    const now = await disputes.stillRuns(await settled(refused));
    expect(now).toMatchObject({ state: 'disputed', disputedFrom: 'refused', contradiction: 'accepted', acceptedAtMs: 1_000_000 });
    expect([now.reviewReason, await disputes.stillRuns(now)]).toEqual([expect.stringContaining('it is carrying the command out'), now]);
    const contradiction = { commandId: now.id, step: 'contradiction', detail: JSON.stringify({ why: now.reviewReason }) };
    expect([disputes.count(), steps]).toEqual([1, [contradiction]]);
  });

  it('adds nothing about a command that is done or open', async () => {
    for (const row of [done, open]) {
      const command = await settled(row);
      expect(await disputes.stillRuns(command)).toBe(command);
      await database.queries.deleteFrom('commands').execute();
    }
    expect(disputes.count()).toBe(0);
  });
});

describe('a device that agrees', () => {
  it('completes an operator’s decision once, after which it is not asked any more; and nothing else', async () => {
    const decided = await settled(refused);
    expect(await unconfirmed()).toEqual([decided.id]);
    expect(await compare(decided, says('unknown'))).toMatchObject({ outcome: 'unknown' });
    expect(await unconfirmed()).toEqual([]);
    expect(await compare(await latest(decided), says('refused'))).toMatchObject({ outcome: 'refused' });
    const confirmed = await latest(decided);
    expect(await compare(confirmed, says('never'))).toBe(confirmed);
    const answered = await settled({ ...refused, settled_by: 'answer' });
    expect(await compare(answered, says('refused'))).toBe(answered);
    expect([disputes.count(), new Set(stepNames())]).toEqual([0, new Set(['answered again'])]);
  });

  it('with what it reported itself, or has confirmed already, or the gateway knew, costs no transaction, however often it does', async () => {
    const begun = vi.spyOn(database, 'transaction');
    await compare(await settled({ ...refused, settled_by: 'answer', outcome: 'refused' }), says('refused'));
    await compare(await settled({ ...refused, outcome: 'refused' }), says('refused'));
    await compare(await settled({ state: 'never', settled_by: 'gateway' }), says('never'));
    expect(begun).not.toHaveBeenCalled();
    await compare(await settled(refused), says('refused'));
    expect(begun).toHaveBeenCalledTimes(1);
  });

  it('adds the numbers that the operator did not know, if its report is valid', async () => {
    const decided = await settled({ ...done, rrn: '7', report: '{"of":"the operator"}' });
    expect(await compare(decided, says('done', { receiptId: 3 }))).toBe(decided);
    const known = await compare(decided, says('done', { receiptId: 3 }), { operationId: '1', receiptId: '3' });
    expect(known).toMatchObject({ outcome: 'done', settledBy: 'person', report: '{"receiptId":3}', operationId: '1', rrn: '7' });
    expect(await compare(decided, says('done', { receiptId: 3 }), { operationId: '2' })).toBe(decided);
  });

  it('or not, about a command that is open, changes nothing', async () => {
    const command = await settled(open);
    expect(await compare(command, says('done'))).toBe(command);
    expect(steps).toEqual([]);
  });
});

describe('a device that contradicts', () => {
  it.each(['refused', 'never'] as const)('%s makes it disputed, with what the device reported', async (state) => {
    const command = await settled({ state, request_hash: 'h' });
    const now = await compare(command, says('done', { operationId: '2' }), { operationId: '2', rrn: '3' });
    expect(now).toMatchObject({ state: 'disputed', disputedFrom: state, outcome: 'done', operationId: '2', rrn: '3' });
    expect(now).toMatchObject({ report: '{"operationId":"2"}', reviewSinceMs: 1_000_000, reviewedAtMs: null, outcomeReceivedAtMs: null });
    expect(now.reviewReason).toBe(`The device now says "done", but the command was settled as "${state}".`);
    // That it did it, not that it is at it.
    expect(now.acceptedAtMs).toBeNull();
    expect([disputes.count(), stepNames()]).toEqual([1, ['contradiction']]);
  });

  it('an operator’s `done` disputes it: the report of the operator stays, and the terminal is free', async () => {
    const decided = await settled({ ...done, document_state: 'open', document_nr: 'n', report: '{"source":"person"}' });
    const now = await compare(decided, says('never', { screen: 'ready' }));
    expect(now).toMatchObject({ state: 'disputed', disputedFrom: 'done', documentState: null, report: '{"source":"person"}' });
    expect(now.reviewReason).toBe('The device now says "never", but the command was settled as "done".');
    const closed = await compare(await settled(done), says('refused'));
    expect(closed).toMatchObject({ state: 'disputed', documentState: 'closed', outcome: 'refused' });
  });

  it.each([
    ['denies what it reported itself', says('refused'), 'now says "refused", but the command was settled as "done"'],
    ['denies it with another number', says('refused', { operationId: '2' }), 'now says "refused", but the command was settled as "done"'],
    ['reports a second operation', says('done', { operationId: '2' }), 'a second operation, 2, for a command that was settled with 1'],
  ])('and %s: that stays done, and is flagged', async (_what, finding, why) => {
    const command = await settled({ ...done, settled_by: 'answer', outcome: 'done', report: '{"operationId":"1"}' });
    const now = await compare(command, finding);
    expect(now).toMatchObject({ state: 'done', reviewSinceMs: 1_000_000, reviewReason: expect.stringContaining(why) });
    expect(disputes.count()).toBe(1);
  });

  it('a CloseDoc that was settled as refused: it is done at once, and closes the document', async () => {
    const payment = await settled({ ...done, document_state: 'open' });
    const command = await settled({ ...refused, name: 'CloseDoc', target_id: payment.id });
    expect(await compare(command, says('done', {}))).toMatchObject({ state: 'done', settledBy: 'recall', disputedFrom: null });
    expect((await latest(payment)).documentState).toBe('closed');
    expect(await unconfirmed(), 'the terminal is not asked about it any more').toEqual([payment.id]);
    // Another gateway that has read the row before.
    expect(await compare(command, says('done', {}))).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect([disputes.count(), await disputes.compare(await latest(command), says('done', {}), 'recall')]).toMatchObject([
      0,
      { state: 'done' },
    ]);
  });

  it('a close of a document that an operator called done disputes it, and saying then that it was made leaves that to the operator', async () => {
    const payment = await settled({ ...done, document_state: 'closed' });
    const denied = await compare(
      await settled({ ...done, document_state: null, name: 'CloseDoc', target_id: payment.id }),
      says('refused'),
    );
    expect(denied).toMatchObject({ state: 'disputed', disputedFrom: 'done' });
    expect(await compare(denied, says('done', {}))).toMatchObject({ state: 'disputed', disputedFrom: 'done', contradiction: 'done' });
  });

  it('again and again, each time with another number: what was settled first stays named, and no further record is written', async () => {
    const first = await compare(await settled(refused), says('done', { operationId: '2' }));
    const records = () => database.queries.selectFrom('settlements').select('settled_at').execute();
    const before = await records();
    await clock.advance(500);
    const second = await compare(first, says('done', { operationId: '3' }));
    expect(second).toMatchObject({ state: 'disputed', disputedFrom: 'refused', contradiction: 'done 3' });
    const both =
      'The device now says "done", but the command was settled as "refused". The device reports a second operation, 3, beside 2.';
    expect(second.reviewReason).toBe(both);
    expect(await records()).toEqual(before);
  });

  it('and repeats it changes nothing, before and after an operator has resolved it', async () => {
    const said = says('done', { operationId: '2' });
    const command = await settled(refused);
    const disputed = await compare(command, said);
    expect(await compare(disputed, said)).toBe(disputed);
    expect(stepNames()).toEqual(['contradiction', 'answered again']);
    // Another gateway that has read the row before the dispute.
    expect(await compare(command, said)).toEqual(disputed);
    const resolved = (await disputes.resolve(disputed, { state: 'refused', reason: 'Paid back.', report: undefined, isPayment: true }))
      ?.command;
    expect(resolved).toMatchObject({ state: 'refused', reviewedAtMs: 1_000_000, contradiction: 'done 2' });
    expect(await compare(resolved as Command, said)).toBe(resolved);
    expect(await latest(command)).toEqual(resolved);
    expect(disputes.count()).toBe(1);
    // Another operation of the bank is news.
    expect(await compare(resolved as Command, says('done', { operationId: '9' }))).toMatchObject({ state: 'disputed' });
  });

  it('and repeats a denial of what it reported itself does not reopen a review that an operator has closed', async () => {
    const command = await settled({ ...done, settled_by: 'answer', outcome: 'done' });
    const flagged = await compare(command, says('refused'));
    await database.queries.updateTable('commands').set({ reviewed_at: 5 }).execute();
    expect(await compare({ ...flagged, reviewedAtMs: 5 }, says('refused'))).toMatchObject({ reviewedAtMs: 5 });
    expect(await latest(command)).toMatchObject({ reviewedAtMs: 5 });
    expect(disputes.count()).toBe(1);
  });

  it('names another operation that was begun under the same number: it may be charged twice', async () => {
    const other = (await seedDevice(database.queries, merchantId)).id;
    const command = await settled({ ...refused, document_nr: 'n' });
    const { id } = await seedCommand(database.queries, merchantId, other, {
      ...done,
      settled_at: 1,
      settled_by: 'answer',
      document_nr: 'n',
    });
    expect((await compare(command, says('done'))).reviewReason).toContain(`(${id}): it may be done twice`);
  });

  it('about a receipt takes its Uid back, and the documentNr only if it charged a card', async () => {
    const print = { ...refused, name: 'PrintReceipt', document_nr: null } as const;
    const [inCash, byCard] = ['c0ffee00-0000-4000-8000-000000000001', 'c0ffee00-0000-4000-8000-000000000002'] as const;
    await compare(await settled({ ...print, receipt_uid: inCash, cash_bani: 1_000 }), says('done'));
    const charged = await compare(await settled({ ...print, receipt_uid: byCard, card_bani: 1_000 }), says('done'));
    expect(await holderOf('document', inCash)).toBeUndefined();
    expect([await holderOf('receipt', byCard), await holderOf('document', byCard)]).toEqual([charged.id, charged.id]);
    await disputes.resolve(charged, { state: 'refused', reason: 'why', report: undefined, isPayment: false });
    expect([await holderOf('receipt', byCard), await holderOf('document', byCard)]).toEqual([undefined, undefined]);
  });

  it('a call that is not known by its content leaves none behind', async () => {
    await compare(await settled(refused), says('done'));
    expect(await database.queries.selectFrom('claims').selectAll().where('kind', '=', 'content').execute()).toEqual([]);
  });

  it('a removed command is flagged: it cannot be resolved any more', async () => {
    const command = await settled({ ...refused, removed_at: 1 });
    expect(await compare(command, says('done'))).toMatchObject({ state: 'refused', reviewReason: expect.stringContaining('"done"') });
    expect(disputes.count()).toBe(1);
  });
});

describe('a resolution', () => {
  const as = (state: 'done' | 'refused', more: object = {}) => ({ state, reason: 'why', report: undefined, isPayment: true, ...more });
  const disputed = (overrides: Parameters<typeof seedCommand>[3] = {}) =>
    settled({
      state: 'disputed',
      disputed_from: 'refused',
      outcome: 'done',
      document_nr: 'n',
      review_since: 1,
      review_reason: 'r',
      ...overrides,
    });

  it('as executed opens the document of a payment, unless its terminal has started another', async () => {
    const first = await disputed({ operation_id: '7' });
    expect(await disputes.resolve(first, as('done'))).toMatchObject({
      command: { state: 'done', documentState: 'open', settledBy: 'person' },
    });
    const second = await disputed({ document_nr: 'm', operation_id: '8' });
    expect(await disputes.resolve(second, as('done'))).toMatchObject({ command: { state: 'done', documentState: 'closed' } });
    expect(await disputes.resolve(second, as('done'))).toBeUndefined();
    const closedBefore = await disputed({ document_nr: 'o', document_state: 'closed', disputed_from: 'done' });
    expect(await disputes.resolve(closedBefore, as('done'))).toMatchObject({ command: { documentState: 'closed' } });
  });

  it('as executed never takes a number from an operation that holds it', async () => {
    const other = (await seedDevice(database.queries, merchantId)).id;
    const row = { ...done, settled_at: 1, settled_by: 'answer', document_nr: 'n' } as const;
    await seedCommand(database.queries, merchantId, other, row);
    expect(await disputes.resolve(await disputed(), as('done'))).toMatchObject({ command: { state: 'done' }, isDisplaced: true });
    expect(await disputes.resolve(await disputed({ document_nr: 'm' }), as('done'))).toMatchObject({ isDisplaced: false });
    // A print does its work under its Receipt.Uid.
    const print = { name: 'PrintReceipt', document_nr: null, receipt_uid: 'u' } as const;
    expect(await disputes.resolve(await disputed(print), { ...as('done'), isPayment: false })).toMatchObject({ isDisplaced: false });
  });

  it('as executed is found by its caller, who lacks the outcome: an equal request without number and key would be executed again', async () => {
    const command = await settled({ ...refused, request_hash: 'h' });
    const disputed = await compare(command, says('done', { operationId: '2' }));
    await disputes.resolve(disputed, as('done'));
    const equal = await findEqual(database.queries, { merchantId, deviceId, requestHash: 'h' });
    expect(equal?.command).toMatchObject({ id: command.id, state: 'done' });
  });

  describe('of a request without number and key', () => {
    const content = () => ({ merchantId, deviceId, requestHash: 'h' });
    const found = async () => (await findEqual(database.queries, content()))?.command.id;
    const equal = { ...refused, request_hash: 'h', settled_at: 1_000_000 } as const;

    it('lets a newer equal one be found again, whose caller lacks its outcome', async () => {
      const first = await settled({ ...equal, outcome_received_at: 1 });
      const second = await settled({ ...equal, state: 'done', document_state: 'closed' });
      const disputed = await compare(first, says('done', { operationId: '2' }));
      expect(await found()).toBe(first.id);
      await disputes.resolve(disputed, as('refused'));
      expect(await found()).toBe(second.id);
    });

    it('is found while it is disputed, although it closes a day and something was sold on its device since', async () => {
      const close = await settled({ ...equal, name: 'CloseDay', issued_at: 1_000 });
      await compare(close, says('done', { count: 1 }));
      await settled({ ...done, issued_at: 2_000 });
      expect(await found()).toBe(close.id);
    });

    it('keeps an equal one under another key from being begun until it is resolved', async () => {
      const disputed = await compare(await settled(equal), says('done', { operationId: '2' }));
      const keyed = { id: 'keyed', merchantId, deviceId, instanceId: 'i', name: 'Pay', args: {}, requestHash: 'h' } as const;
      const begun = () => insertSent(database, { ...keyed, answerWithinMs: 1, journalId: undefined });
      expect([await begun(), await found()]).toEqual([undefined, disputed.id]);
      await disputes.resolve(disputed, as('refused'));
      expect(await begun()).toMatchObject({ state: 'sent' });
    });
  });

  it('of one whose number another operation has keeps the number taken when that one gives it back', async () => {
    const other = (await seedDevice(database.queries, merchantId)).id;
    const { id } = await seedCommand(database.queries, merchantId, other, { document_nr: 'n' });
    const command = await disputed();
    expect(await holderOf('document', 'n')).toBe(id);
    await settle(database, (await findCommand(database.queries, id)) as Command, {
      state: 'refused',
      by: 'answer',
      outcome: 'refused',
      report: undefined,
      reason: undefined,
    });
    expect(await holderOf('document', 'n')).toBe(command.id);
    await disputes.resolve(command, as('refused'));
    expect(await holderOf('document', 'n')).toBeUndefined();
  });

  it('as executed of one that another waits for keeps the number, and later calls find the payment by its bank number', async () => {
    const second = await settled({ ...refused, document_nr: 'n' });
    const first = await settled({ ...done, document_nr: 'n' });
    const waiting = await compare(second, says('done', { operationId: '2' }));
    const denied = await compare(first, says('never'));
    expect(await disputes.resolve(denied, as('done', { operationId: '1' }))).toMatchObject({ isDisplaced: false });
    expect(await holderOf('document', 'n')).toBe(first.id);
    const named = await database.queries.selectFrom('bank_operations').select(['payment_id', 'operation_id']).execute();
    expect(named).toEqual([{ payment_id: first.id, operation_id: '1' }]);
    expect(await disputes.resolve(waiting, as('done'))).toMatchObject({ isDisplaced: true });
  });

  it('as executed of what has no number is displaced by none', async () => {
    const cashIn = await disputed({ name: 'MoneyIn', document_nr: null });
    expect(await disputes.resolve(cashIn, { ...as('done'), isPayment: false })).toMatchObject({ isDisplaced: false });
  });

  it('as executed of a payment that was voided meanwhile is in no close of the bank day', async () => {
    const payment = await disputed({ issued_at: 1_000 });
    await settled({ state: 'done', name: 'CancelTransaction', target_id: payment.id, issued_at: 2_000 });
    await settled({ state: 'done', name: 'CloseDay', issued_at: 3_000 });
    const { command } = (await disputes.resolve(payment, as('done'))) ?? {};
    expect(command).toMatchObject({ state: 'done', documentState: 'voided', bankDayClosedAtMs: null });
  });

  it.each([
    ['refused', 'done', []],
    ['refused', 'refused', []],
    ['done', 'done', []],
    ['done', 'refused', ['Pay']],
  ] as const)(
    'of what was settled as %s, resolved as %s, undoes the effects only of what turns out not to be done',
    async (from, to, undone) => {
      await disputes.resolve(await disputed({ disputed_from: from }), as(to));
      expect(reversed).toEqual(undone);
    },
  );

  it('as not executed leaves no document, and the request is still known by its content', async () => {
    const command = await disputed({ disputed_from: 'done', document_state: 'closed', request_hash: 'h', settled_at: 1_000_000 });
    expect(await disputes.resolve(command, as('refused'))).toMatchObject({ command: { state: 'refused', documentState: null } });
    expect(await holderOf('document', 'n')).toBeUndefined();
    expect((await findEqual(database.queries, { merchantId, deviceId, requestHash: 'h' }))?.command.id).toBe(command.id);
  });

  it('as not executed frees the number; the device is not asked about it any more', async () => {
    const command = await disputed({ outcome: null });
    expect(await disputes.resolve(command, as('refused'))).toMatchObject({ command: { state: 'refused', outcome: 'unknown' } });
    await settled({ ...done, document_nr: 'n' });
  });
});

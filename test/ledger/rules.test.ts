// What a device's word means for a command, as tables.
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/kernel/error-codes.ts';
import { answerOf, busyWith, callerIsGone, equalIsDisputed, notConfirmedYet, tooManyWait } from '../../src/ledger/answers.ts';
import { type Command, type CommandState, isOpen, isUnclear } from '../../src/ledger/command.ts';
import { compareWithSettled, contradictionOf, type Finding, isFinishedByDevice, judge, secondOperation } from '../../src/ledger/rules.ts';
import { type EndingOutcome, type JsonObject, outcomes } from '../../src/link/protocol.ts';

const command = (overrides: Partial<Command> = {}): Command =>
  ({
    id: 'c',
    name: 'Pay',
    state: 'sent',
    journalId: 'journal',
    outcome: null,
    report: null,
    reason: null,
    operationId: null,
    removedAtMs: null,
    documentState: null,
    amountBani: null,
    settledBy: null,
    ...overrides,
  }) as Command;
const finding = (outcome: EndingOutcome, overrides: Partial<Finding> = {}): Finding => ({
  outcome,
  report: undefined,
  reason: undefined,
  journalId: 'journal',
  wasAccepted: false,
  ...overrides,
});
const endings = outcomes.filter((outcome): outcome is EndingOutcome => outcome !== 'accepted');

describe('judge', () => {
  it.each<[EndingOutcome, string]>([
    ['done', 'done'],
    ['refused', 'refused'],
    ['unsupported', 'refused'],
    ['busy', 'never'],
    ['expired', 'never'],
    ['never', 'never'],
    ['unknown', 'review'],
  ])('%s under the command’s own journal: %s', (outcome, expected) => {
    const verdict = judge(command(), finding(outcome), undefined);
    expect(verdict.kind === 'settle' ? verdict.state : verdict.kind).toBe(expected);
  });

  it('covers every outcome that ends a command', () => {
    for (const outcome of endings) expect(judge(command(), finding(outcome), undefined)).toBeDefined();
  });

  it.each<[EndingOutcome, string]>([
    ['done', 'done'],
    ['refused', 'review'],
    ['unsupported', 'review'],
    ['busy', 'review'],
    ['expired', 'review'],
    ['never', 'review'],
  ])('%s from another journal, or from none: %s', (outcome, expected) => {
    for (const journalId of ['another', undefined]) {
      const verdict = judge(command(), finding(outcome, { journalId }), undefined);
      expect(verdict.kind === 'settle' ? verdict.state : verdict.kind).toBe(expected);
    }
  });

  it.each<[EndingOutcome, string]>([
    ['done', 'done'],
    ['refused', 'refused'],
    ['busy', 'review'],
    ['expired', 'review'],
    ['never', 'review'],
  ])('%s after accepted: %s', (outcome, expected) => {
    const verdict = judge(command(), finding(outcome, { wasAccepted: true }), undefined);
    expect(verdict.kind === 'settle' ? verdict.state : verdict.kind).toBe(expected);
  });

  it.each<[EndingOutcome, string]>([
    ['done', 'done'],
    ['refused', 'refused'],
    ['busy', 'never'],
    ['expired', 'never'],
    ['never', 'review'],
  ])('%s of a command sent without a journal: %s', (outcome, expected) => {
    for (const journalId of ['new', undefined]) {
      const verdict = judge(command({ journalId: null }), finding(outcome, { journalId }), undefined);
      expect(verdict.kind === 'settle' ? verdict.state : verdict.kind).toBe(expected);
    }
  });

  it('doubt of done is for a person', () => {
    expect(judge(command(), finding('done'), 'No rrn.')).toEqual({ kind: 'review', why: 'No rrn.' });
  });
});

describe('an answer after the settlement', () => {
  const settledBy = { done: { outcome: 'done' }, refused: { outcome: 'refused' }, never: { outcome: 'never' } } as const;

  it.each<['done' | 'refused' | 'never', Partial<Record<EndingOutcome, string>>]>([
    ['done', { refused: 'flag', unsupported: 'flag', busy: 'flag', expired: 'flag', never: 'flag' }],
    ['refused', { done: 'dispute' }],
    ['never', { done: 'dispute' }],
  ])('of a command that the device itself ended as %s', (state, expected) => {
    for (const outcome of endings) {
      const comparison = compareWithSettled(command({ state, ...settledBy[state] }), finding(outcome));
      expect([outcome, comparison]).toEqual([outcome, expected[outcome] ?? 'agrees']);
    }
  });

  it.each(endings)('%s: a `done` that an operator decided is disputed by every no, and confirmed by a yes', (outcome) => {
    const decided = command({ state: 'done', settledBy: 'person', outcome: null });
    const expected = outcome === 'done' || outcome === 'unknown' ? 'agrees' : 'dispute';
    expect(compareWithSettled(decided, finding(outcome))).toBe(expected);
  });

  it.each<[EndingOutcome, string]>([
    ['refused', 'dispute'],
    ['never', 'dispute'],
    ['done', 'dispute'],
    ['unknown', 'agrees'],
  ])(
    '%s: a disputed command stays disputed by it, and is flagged by a no if the device itself reported that it did it',
    (outcome, expected) => {
      const disputed = (reported: EndingOutcome | null) => command({ state: 'disputed', settledBy: 'person', outcome: reported });
      expect(compareWithSettled(disputed(null), finding(outcome))).toBe(expected);
      const isNo = outcome === 'refused' || outcome === 'never';
      expect(compareWithSettled(disputed('done'), finding(outcome))).toBe(isNo ? 'flag' : expected);
    },
  );

  it('with another operation of the bank is flagged; with the same one, or where none was known, it agrees', () => {
    const settled = (report: object | null) => command({ state: 'done', report: report && JSON.stringify(report) });
    const said = (report: JsonObject | undefined) => finding('done', { report });
    for (const name of ['operationId', 'receiptId', 'documentNumber', 'number']) {
      expect(compareWithSettled(settled({ [name]: '1' }), said({ [name]: '2' }))).toBe('flag');
      expect(secondOperation(settled({ [name]: 1 }), said({ [name]: 2 }))).toEqual({ settled: '1', reported: '2' });
      expect(compareWithSettled(settled({ [name]: '1' }), said({ [name]: '1' }))).toBe('agrees');
      expect(compareWithSettled(settled({ [name]: '1' }), said({}))).toBe('agrees');
      expect(compareWithSettled(settled({}), said({ [name]: '2' }))).toBe('agrees');
    }
    expect(compareWithSettled(settled(null), said({ operationId: '2' }))).toBe('agrees');
    expect(compareWithSettled(settled({ operationId: '1' }), said(undefined))).toBe('agrees');
    expect(compareWithSettled(settled({ amount: 1, operationId: {} }), said({ amount: 2, operationId: '2' }))).toBe('agrees');
  });

  it.each(endings)('%s of another journal, or of none, proves nothing, except that it was done [D304]', (outcome) => {
    const states = [
      command({ state: 'done', outcome: 'done' }),
      command({ state: 'done', settledBy: 'person' }),
      command({ state: 'refused', settledBy: 'person' }),
      command({ state: 'never' }),
      command({ state: 'disputed', disputedFrom: 'refused' }),
    ];
    for (const settled of states) {
      for (const journalId of ['another', undefined]) {
        const comparison = compareWithSettled(settled, finding(outcome, { journalId }));
        const own = compareWithSettled(settled, finding(outcome));
        expect([settled.state, comparison]).toEqual([settled.state, outcome === 'done' ? own : 'proves nothing']);
      }
    }
  });

  it('is the same contradiction when outcome and numbers are the same', () => {
    const said = (report: JsonObject | undefined) => contradictionOf(finding('done', { report }));
    expect(said({ operationId: '7', amount: 1 })).toBe(said({ operationId: '7', amount: 2 }));
    expect(new Set([said({ operationId: '7' }), said({ operationId: '8' }), said({}), contradictionOf(finding('refused'))]).size).toBe(4);
  });
});

describe('a device that says that a command is over and that it cannot tell how', () => {
  it('is accepted if it had the command: by the command’s own journal, or because it keeps none', () => {
    expect(isFinishedByDevice(command(), finding('unknown'))).toBe(true);
    expect(isFinishedByDevice(command(), finding('unknown', { journalId: 'another' }))).toBe(false);
    expect(isFinishedByDevice(command(), finding('unknown', { journalId: undefined }))).toBe(false);
    for (const journalId of ['new', undefined]) {
      expect(isFinishedByDevice(command({ journalId: null }), finding('unknown', { journalId }))).toBe(true);
    }
  });

  it('is also believed when it reports that it was done, however doubtful the report is', () => {
    expect(isFinishedByDevice(command(), finding('done', { journalId: 'another' }))).toBe(true);
  });

  it.each(endings.filter((outcome) => outcome !== 'unknown' && outcome !== 'done'))('is not one that says %s', (outcome) => {
    expect(isFinishedByDevice(command(), finding(outcome))).toBe(false);
  });
});

describe('a device that is kept', () => {
  it.each<[string, Partial<Command> | undefined, string]>([
    ['an open document', { state: 'done', documentState: 'open' }, 'awaits CloseDoc'],
    ['an outcome that is not known', { state: 'unknown', documentState: null }, 'still being settled'],
    ['a command under way', { state: 'sent', documentState: null }, 'processing another'],
    ['what has ended meanwhile', undefined, 'processing another'],
  ])('by %s is 31 and says why, because what helps differs', (_by, holder, sentence) => {
    const error = busyWith(holder && command(holder));
    expect(error.errorName).toBe('Device_Busy');
    expect(error.message).toContain(sentence);
  });
});

describe('the answer of a command', () => {
  it('that was done is its report, where there is one', () => {
    expect(answerOf(command({ state: 'done', report: '{"amount":1}' }))).toEqual({ OID: 'c', State: 'Done', report: '{"amount":1}' });
    expect(answerOf(command({ state: 'done', report: null }))).toEqual({ OID: 'c', State: 'Done' });
  });

  it.each<[Partial<Command>, number, string]>([
    [{ state: 'refused', outcome: 'refused' }, 50, 'Refused'],
    [{ state: 'refused', outcome: 'unsupported' }, 50, 'Refused'],
    [{ state: 'never', outcome: 'busy' }, 31, 'Never'],
    [{ state: 'never', outcome: 'never' }, 30, 'Never'],
    [{ state: 'never', outcome: 'expired' }, 30, 'Never'],
    [{ state: 'never', outcome: null }, 30, 'Never'],
    [{ state: 'sent' }, 3, 'Open'],
    [{ state: 'unknown' }, 3, 'Open'],
    [{ state: 'disputed' }, 3, 'Disputed'],
    [{ state: 'done', documentState: 'voided' }, 22, 'Voided'],
  ])('%o is %i', (overrides, code, State) => {
    const errorName = Object.entries(errorCodes).find(([, error]) => error.code === code)?.[0];
    expect(() => answerOf(command(overrides))).toThrow(expect.objectContaining({ errorName, fields: { OID: 'c', State } }));
  });

  it('that an operator settled as not done tells the ERP neither the reason of the operator nor what the device reported as done', () => {
    const decided = command({
      state: 'refused',
      settledBy: 'person',
      reason: 'The card was stolen.',
      outcome: 'done',
      report: '{"amount":1}',
    });
    expect(() => answerOf(decided)).toThrow(
      expect.objectContaining({ errorName: 'Refused_By_Device', message: expect.not.stringContaining('stolen'), report: undefined }),
    );
  });

  it.each(['done', 'refused', 'never'] as const)('of which only a small row is left is 22, also when it was %s', (state) => {
    const expected = { errorName: 'The_status_cannot_be_applied', fields: expect.objectContaining({ OID: 'c', Operation: 'Pay' }) };
    expect(() => answerOf(command({ state, removedAtMs: 1 }), { further: { Operation: 'Pay' } })).toThrow(
      expect.objectContaining(expected),
    );
  });

  it('carries the report of a refusal and its reason', () => {
    const call = () => answerOf(command({ state: 'refused', report: '{"amount":1}', reason: 'No money.' }));
    expect(call).toThrow('No money.');
    expect(call).toThrow(expect.objectContaining({ report: '{"amount":1}' }));
  });
});

describe('a command', () => {
  it('is open while it was sent or its outcome is unknown, and closed by every outcome', () => {
    const states: CommandState[] = ['sent', 'unknown', 'done', 'refused', 'never', 'disputed'];
    expect(states.map((state) => isOpen(command({ state })))).toEqual([true, true, false, false, false, false]);
    expect(states.map((state) => isUnclear(command({ state })))).toEqual([true, true, false, false, false, true]);
  });
});

it('refuses with the next step for the caller if nothing was begun or it goes on without this caller', () => {
  expect(callerIsGone()).toMatchObject({ errorName: 'Too_Many_Requests', httpStatus: 503 });
  expect(tooManyWait(command())).toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 5, fields: { OID: 'c', State: 'Open' } });
  expect(equalIsDisputed(command({ state: 'disputed' }))).toMatchObject({ errorName: 'Device_Busy', fields: { State: 'Disputed' } });
  expect(notConfirmedYet()).toMatchObject({ errorName: 'Timeout_or_no_response', fields: undefined });
});

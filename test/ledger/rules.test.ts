// What a device's word means for a command, as tables.
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/kernel/error-codes.ts';
import { type Command, type CommandState, isOpen, isUnclear } from '../../src/ledger/command.ts';
import {
  answerOf,
  busyWith,
  callerIsGone,
  contradicts,
  endsAsUnknown,
  type Finding,
  judge,
  notHeardOut,
  secondDeed,
  tooManyWait,
} from '../../src/ledger/rules.ts';
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
    contradictedAtMs: null,
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
    ['refused', 'refused'],
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

describe('contradicts', () => {
  const table: Record<'done' | 'refused' | 'never', EndingOutcome[]> = {
    done: ['refused', 'unsupported', 'busy', 'expired', 'never'],
    refused: ['done'],
    never: ['done'],
  };
  it.each(['done', 'refused', 'never'] as const)('a command settled as %s', (state) => {
    const found = endings.filter((outcome) => contradicts(command({ state }), finding(outcome)));
    expect(found.toSorted()).toEqual(table[state].toSorted());
  });

  it('a second operation of the bank for one command does; the same one, or one where none was known, does not', () => {
    const settled = (report: object | null) => command({ state: 'done', report: report && JSON.stringify(report) });
    const said = (report: JsonObject | undefined) => finding('done', { report });
    for (const name of ['operationId', 'receiptId', 'documentNumber', 'number']) {
      expect(contradicts(settled({ [name]: '1' }), said({ [name]: '2' }))).toBe(true);
      expect(secondDeed(settled({ [name]: 1 }), said({ [name]: 2 }))).toEqual({ settled: '1', reported: '2' });
      expect(contradicts(settled({ [name]: '1' }), said({ [name]: '1' }))).toBe(false);
      expect(contradicts(settled({ [name]: '1' }), said({}))).toBe(false);
      expect(contradicts(settled({}), said({ [name]: '2' }))).toBe(false);
    }
    expect(contradicts(settled(null), said({ operationId: '2' }))).toBe(false);
    expect(contradicts(settled({ operationId: '1' }), said(undefined))).toBe(false);
    expect(contradicts(settled({ amount: 1, operationId: {} }), said({ amount: 2, operationId: '2' }))).toBe(false);
  });

  it('a journal that began later knows nothing, so it contradicts nothing', () => {
    expect(contradicts(command({ state: 'done' }), finding('never', { journalId: 'another' }))).toBe(false);
    expect(contradicts(command({ state: 'done' }), finding('refused', { journalId: 'another' }))).toBe(true);
  });
});

describe('a device that says that a command is over and that it cannot tell how', () => {
  it('is believed if it had the command: by the command’s own journal, or because it keeps none', () => {
    expect(endsAsUnknown(command(), finding('unknown'))).toBe(true);
    expect(endsAsUnknown(command(), finding('unknown', { journalId: 'another' }))).toBe(false);
    expect(endsAsUnknown(command(), finding('unknown', { journalId: undefined }))).toBe(false);
    for (const journalId of ['new', undefined]) {
      expect(endsAsUnknown(command({ journalId: null }), finding('unknown', { journalId }))).toBe(true);
    }
  });

  it.each(endings.filter((outcome) => outcome !== 'unknown'))('is not one that says %s', (outcome) => {
    expect(endsAsUnknown(command(), finding(outcome))).toBe(false);
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
    expect(answerOf(command({ state: 'done', report: '{"amount":1}' }))).toEqual({ OID: 'c', report: '{"amount":1}' });
    expect(answerOf(command({ state: 'done', report: null }))).toEqual({ OID: 'c' });
  });

  it.each<[Partial<Command>, number]>([
    [{ state: 'refused', outcome: 'refused' }, 50],
    [{ state: 'refused', outcome: 'unsupported' }, 50],
    [{ state: 'never', outcome: 'busy' }, 31],
    [{ state: 'never', outcome: 'never' }, 30],
    [{ state: 'never', outcome: 'expired' }, 30],
    [{ state: 'never', outcome: null }, 30],
    [{ state: 'sent' }, 3],
    [{ state: 'unknown' }, 3],
  ])('%o is %i', (overrides, code) => {
    const errorName = Object.entries(errorCodes).find(([, error]) => error.code === code)?.[0];
    expect(() => answerOf(command(overrides))).toThrow(expect.objectContaining({ errorName, fields: { OID: 'c' } }));
  });

  it.each(['done', 'refused', 'never'] as const)('of which only a small row is left is 22, also when it was %s', (state) => {
    const expected = { errorName: 'The_status_cannot_be_applied', fields: { OID: 'c', State: 'as asked' } };
    expect(() => answerOf(command({ state, removedAtMs: 1 }), { State: 'as asked' })).toThrow(expect.objectContaining(expected));
  });

  it.each([
    ['is not known until a person has looked', null, 'Timeout_or_no_response', 'a person has to look'],
    ['is not done again when a person has confirmed it', 5, 'The_status_cannot_be_applied', 'it is not done again'],
  ] as const)('that was settled as not done, and that its device did, %s', (_what, reviewedAtMs, errorName, sentence) => {
    for (const state of ['refused', 'never'] as const) {
      const told = { errorName, message: expect.stringContaining(sentence), fields: { OID: 'c', State: 'as asked' } };
      const contradicted = command({ state, contradictedAtMs: 4, reviewSinceMs: 4, reviewedAtMs });
      expect(() => answerOf(contradicted, { State: 'as asked' })).toThrow(expect.objectContaining(told));
    }
  });

  it('carries the report of a refusal and its reason', () => {
    const call = () => answerOf(command({ state: 'refused', report: '{"amount":1}', reason: 'No money.' }));
    expect(call).toThrow('No money.');
    expect(call).toThrow(expect.objectContaining({ report: '{"amount":1}' }));
  });
});

describe('a command', () => {
  it('is open while it was sent or nobody knows, and closed by every outcome', () => {
    const states: CommandState[] = ['sent', 'unknown', 'done', 'refused', 'never'];
    expect(states.map((state) => isOpen(command({ state })))).toEqual([true, true, false, false, false]);
  });
});

it('is unclear while it is open, or contradicted and no person has looked', () => {
  const contradicted = { state: 'refused', contradictedAtMs: 1 } as const;
  expect([command({ state: 'unknown' }), command({ ...contradicted, reviewedAtMs: null })].every(isUnclear)).toBe(true);
  expect([command({ state: 'refused' }), command({ ...contradicted, reviewedAtMs: 2 })].some(isUnclear)).toBe(false);
});

it('says of what was not begun, or goes on without this caller, what he may do', () => {
  expect(callerIsGone()).toMatchObject({ errorName: 'Too_Many_Requests', httpStatus: 503 });
  expect(tooManyWait(command())).toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 5, fields: { OID: 'c' } });
  expect(notHeardOut()).toMatchObject({ errorName: 'Timeout_or_no_response', fields: undefined });
});

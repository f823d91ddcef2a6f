// What a device's answer to Recall and to LastTransaction says about a command, and what is not believed.
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/ledger/command.ts';
import { findingOfAnswer, findingOfLastTransaction, findingOfRecall } from '../../src/ledger/settling/findings.ts';
import type { JsonObject, Outcome } from '../../src/link/protocol.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';

const id = 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55';
const command = { id } as Command;

function answer(outcome: Outcome, report?: JsonObject): AnswerMessage {
  return { v: 1, id: 'asked', device: 'd', clock: '', journalId: 'j', outcome, ...(report && { report }) };
}

const notAccepted = { journalId: 'j', wasAccepted: false };

it('a final answer reports the outcome, and not that the command was accepted', () => {
  const said = { ...answer('refused', { code: 51 }), reason: 'No money.' };
  expect(findingOfAnswer(said)).toEqual({ ...notAccepted, outcome: 'refused', report: { code: 51 }, reason: 'No money.' });
});

describe('an answer to Recall', () => {
  it('reports the outcome with its report when the command has ended', () => {
    const finding = findingOfRecall(answer('done', { state: 'final', outcome: 'done', report: { rrn: '1' } }));
    expect(finding).toEqual({ outcome: 'done', report: { rrn: '1' }, reason: undefined, journalId: 'j', wasAccepted: false });
  });

  it('reports that it runs, that it never began, that the device does not know', () => {
    expect(findingOfRecall(answer('done', { state: 'running' }))).toBe('running');
    expect(findingOfRecall(answer('done', { state: 'never' }))).toMatchObject({ outcome: 'never', report: undefined });
    expect(findingOfRecall(answer('done', { state: 'unknown' }))).toMatchObject({ outcome: 'unknown' });
  });

  it('takes a report only of an ended command, and the journal’s reason before the answer’s', () => {
    const never = findingOfRecall({ ...answer('done', { state: 'never', report: { rrn: '1' } }), reason: 'Not in the journal.' });
    expect(never).toEqual({ ...notAccepted, outcome: 'never', report: undefined, reason: 'Not in the journal.' });
    const refused = { state: 'final', outcome: 'refused', report: { code: 51 }, reason: 'No money.' };
    const both = { ...answer('done', refused), reason: 'Asked.' };
    expect(findingOfRecall(both)).toEqual({ ...notAccepted, outcome: 'refused', report: { code: 51 }, reason: 'No money.' });
  });

  it('reports nothing when Recall itself was refused, or its answer is invalid', () => {
    expect(findingOfRecall(answer('refused', { state: 'never' }))).toBeUndefined();
    expect(findingOfRecall(answer('done', { state: 'maybe' }))).toBeUndefined();
    expect(findingOfRecall(answer('done'))).toBeUndefined();
  });
});

describe('an answer to LastTransaction', () => {
  it.each([
    ['approved', 'done'],
    ['refused', 'refused'],
  ])('settles by an equal command id: %s is %s', (state, outcome) => {
    const report = { commandId: id, state };
    expect(findingOfLastTransaction(command, answer('done', report))).toEqual({ ...notAccepted, outcome, report, reason: undefined });
  });

  it('tells that it runs', () => {
    expect(findingOfLastTransaction(command, answer('done', { commandId: id, state: 'running' }))).toBe('running');
  });

  it('says nothing if it names another command, has an unknown state, or was not answered', () => {
    expect(findingOfLastTransaction(command, answer('done', { commandId: 'other', state: 'approved' }))).toBeUndefined();
    expect(findingOfLastTransaction(command, answer('done', { commandId: 'other', state: 'running' }))).toBeUndefined();
    expect(findingOfLastTransaction(command, answer('done', { commandId: id, state: 'shrug' }))).toBeUndefined();
    expect(findingOfLastTransaction(command, answer('refused', { commandId: id, state: 'approved' }))).toBeUndefined();
    expect(findingOfLastTransaction(command, answer('done'))).toBeUndefined();
  });
});

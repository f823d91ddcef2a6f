// What a caller is answered about an operation, by the facts of its row, and the questions that other rooms ask about a standing. Pure.
import { describe, expect, it } from 'vitest';
import type { GatewayError } from '../../src/kernel/error-codes.ts';
import { answerOf, busyWith, callerIsGone, notConfirmedYet, tooManyWait } from '../../src/ledger/answers.ts';
import { numbersOf } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import * as standing from '../../src/ledger/standing.ts';

const command = (overrides: Partial<Command>): Command =>
  ({
    ...{ id: 'c', name: 'Pay', state: 'done', documentState: null, amountBani: 1_000, report: null, reason: null },
    ...{ outcome: null, settledBy: 'answer', removedAtMs: null, documentNr: null, receiptUid: null },
    ...overrides,
  }) as Command;

function thrownBy(overrides: Partial<Command>): GatewayError {
  try {
    answerOf(command(overrides));
  } catch (error) {
    return error as GatewayError;
  }
  return expect.fail('nothing was thrown');
}

describe('a caller', () => {
  it('gets the report of a done operation, and none if there is none', () => {
    expect(answerOf(command({ report: '{"a":1}' }))).toEqual({ OID: 'c', State: 'Done', report: '{"a":1}' });
    expect(answerOf(command({}))).toEqual({ OID: 'c', State: 'Done' });
  });

  it('gets no stored answer of a record that was removed', () => {
    expect(thrownBy({ removedAtMs: 1 }).message).toContain('has been removed');
  });

  it.each<[string, Partial<Command>, string | undefined, string]>([
    ['the device, with its reason', { reason: 'No paper.', report: '{}' }, '{}', 'The device refused: No paper.'],
    ['the device, without a reason', {}, undefined, 'The device refused the operation.'],
    ['an operator', { settledBy: 'person', reason: 'Ana saw it.' }, undefined, 'An operator decided'],
    ['an operator, against the report of a deed', { settledBy: 'person', outcome: 'done', report: '{}' }, undefined, 'An operator decided'],
  ])('reads who refused: %s', (_who, overrides, report, sentence) => {
    const refused = thrownBy({ state: 'refused', ...overrides });
    expect([refused.errorName, refused.report, refused.message]).toEqual(['Refused_By_Device', report, expect.stringContaining(sentence)]);
    expect(refused.message).not.toContain('Ana');
  });

  it('is answered about a command that never began that the device was busy, with its report, or offline', () => {
    const busy = thrownBy({ state: 'never', outcome: 'busy', report: '{}' });
    expect([busy.errorName, busy.report, busy.fields]).toEqual(['Device_Busy', '{}', { OID: 'c', State: 'Never' }]);
    expect(thrownBy({ state: 'never', outcome: 'busy' }).report).toBeUndefined();
    expect(thrownBy({ state: 'never', outcome: 'expired' }).errorName).toBe('Device_Offline');
  });

  it('is answered about a dispute that an operator resolves it, unlike about an unknown outcome', () => {
    expect(thrownBy({ state: 'disputed' }).message).toContain('contradicts');
    expect(thrownBy({ state: 'unknown' }).message).not.toContain('contradicts');
  });

  it('is not answered that nothing happened if it has to wait', () => {
    expect(tooManyWait(command({ state: 'sent' }))).toMatchObject({ retryAfterS: 5, fields: { OID: 'c', State: 'Open' } });
    expect(callerIsGone()).toMatchObject({ errorName: 'Too_Many_Requests', httpStatus: 503 });
    expect(notConfirmedYet().errorName).toBe('Timeout_or_no_response');
  });

  it('is answered what occupies the device', () => {
    expect(busyWith(command({ documentState: 'open' })).message).toContain('awaits CloseDoc');
    expect(busyWith(command({ state: 'unknown' })).message).toContain('still being settled');
    for (const holder of [command({ state: 'sent' }), undefined]) expect(busyWith(holder).message).toContain('another operation');
  });
});

describe('by its state', () => {
  const states = ['sent', 'unknown', 'done', 'refused', 'never', 'disputed'] as const;
  it.each([
    ['was done', standing.wasDone, ['done']],
    ['may be done', standing.mayBeDone, ['done', 'disputed']],
    ['may have happened', standing.mayHaveHappened, ['sent', 'unknown', 'done', 'disputed']],
    ['keeps its money', standing.keepsMoney, ['done']],
  ] as const)('an operation %s', (_what, holds, wanted) => {
    expect(states.filter((state) => holds(command({ state, documentState: 'closed' })))).toEqual(wanted);
  });
});

describe('by its document', () => {
  const documents = [null, 'open', 'closed', 'voided'] as const;
  it.each([
    ['awaits CloseDoc', standing.awaitsClose, ['open']],
    ['is closed', standing.isDocumentClosed, ['closed']],
    ['keeps its money', standing.keepsMoney, [null, 'open', 'closed']],
  ] as const)('a payment %s', (_what, holds, wanted) => {
    expect(documents.filter((documentState) => holds(command({ documentState })))).toEqual(wanted);
  });

  it('has a remainder only after a refund that was made', () => {
    const refund = { name: 'Refund', state: 'done', amountBani: 400 } as const;
    const left = (overrides: Partial<Command>, followers: standing.Follower[]) => standing.remainderOf(command(overrides), followers);
    expect(left({ documentState: 'closed' }, [refund])).toBe(600);
    expect(left({ documentState: 'closed' }, [{ ...refund, state: 'unknown' }])).toBeUndefined();
    expect(left({ documentState: 'closed' }, [])).toBeUndefined();
    expect(left({ documentState: null }, [refund])).toBeUndefined();
    expect(left({ documentState: 'closed', state: 'disputed' }, [refund])).toBeUndefined();
  });

  it('may be refunded by a refund that was not refused', () => {
    const refund = { name: 'Refund', state: 'unknown', amountBani: 400 } as const;
    expect(standing.mayBeRefunded([{ ...refund, name: 'CloseDoc' }, refund])).toBe(true);
    expect(standing.mayBeRefunded([{ ...refund, state: 'refused' }])).toBe(false);
    expect(standing.mayBeRefunded([{ ...refund, name: 'CancelTransaction' }])).toBe(false);
    expect(standing.mayBeRefunded([])).toBe(false);
  });
});

it.each([
  ['Pay', { documentNr: 'd', receiptUid: null }, { document: 'd', receipt: null }],
  ['PrintReceipt', { documentNr: null, receiptUid: 'U' }, { document: 'U', receipt: 'U' }],
  ['PrintReceipt', { documentNr: null, receiptUid: null }, { document: null, receipt: null }],
] as const)('the numbers of a %s with %o', (name, numbers, wanted) => {
  expect(numbersOf({ name, ...numbers })).toEqual(wanted);
});

// The standing of an operation, and the answer that follows from it, as tables [D140].
import { describe, expect, it } from 'vitest';
import { errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import { answerOf, refuseEndedNumber } from '../../src/ledger/answers.ts';
import type { Command } from '../../src/ledger/command.ts';
import {
  awaitsClose,
  committedRefundsOf,
  type Follower,
  isDocumentClosed,
  keepsMoney,
  mayBeDone,
  mayBeRefunded,
  remainderOf,
  type Standing,
  standingOf,
  standings,
  stateNames,
} from '../../src/ledger/standing.ts';

const payment = (documentState: Command['documentState'], overrides: Partial<Command> = {}): Command =>
  ({ id: 'c', name: 'Pay', state: 'done', documentState, amountBani: 1_000, report: null, removedAtMs: null, ...overrides }) as Command;
const refund = (amountBani: number, state: Command['state'] = 'done'): Follower => ({ name: 'Refund', state, amountBani });
const voiding = (state: Command['state']): Follower => ({ name: 'CancelTransaction', state, amountBani: 1_000 });

const examples: Record<Standing, [Command, Follower[]]> = {
  open: [payment(null, { state: 'unknown' }), []],
  done: [payment('open'), [refund(400), voiding('refused')]],
  closed: [payment('closed'), [refund(999), refund(1, 'unknown'), refund(500, 'never')]],
  voided: [payment('voided'), [voiding('done')]],
  refunded: [payment('closed'), [refund(400), refund(600)]],
  refused: [payment(null, { state: 'refused', outcome: 'refused' }), []],
  never: [payment(null, { state: 'never' }), []],
  disputed: [payment('closed'), [voiding('disputed')]],
};

function codeOf(work: () => unknown): number {
  try {
    work();
    return 0;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.fields).toMatchObject({ OID: 'c' });
    return errorCodes[error.errorName].code;
  }
}

it.each(standings)('%s', (standing) => {
  expect(standingOf(...examples[standing])).toBe(standing);
});

it('what has no amount is not refunded, and a payment of which more was refunded than paid is', () => {
  expect(standingOf(payment(null, { name: 'CloseDay', amountBani: null }))).toBe('done');
  expect(standingOf(payment('closed'), [refund(600), refund(500)])).toBe('refunded');
});

it('a dispute about the close of a document leaves the payment as it is', () => {
  expect(standingOf(payment('closed'), [{ name: 'CloseDoc', state: 'disputed', amountBani: null }])).toBe('closed');
  expect(standingOf(payment(null, { state: 'disputed' }))).toBe('disputed');
  expect(standingOf(payment('closed'))).toBe('closed');
});

describe('the answer', () => {
  it.each<[Standing, number, number]>([
    ['open', 3, 0],
    ['done', 0, 0],
    ['closed', 0, 22],
    ['refunded', 0, 22],
    ['voided', 22, 22],
    ['refused', 50, 0],
    ['never', 30, 0],
    ['disputed', 3, 0],
  ])('%s: %i to a query; %i to another attempt under its number', (standing, toQuery, toNumber) => {
    const [command, followers] = examples[standing];
    expect(codeOf(() => answerOf(command, { followers }))).toBe(toQuery);
    expect(codeOf(() => refuseEndedNumber(command, followers))).toBe(toNumber);
    let State: unknown;
    try {
      State = answerOf(command, { followers }).State;
    } catch (error) {
      State = ((error as GatewayError).fields as { State: string }).State;
    }
    expect(State).toBe(stateNames[standing]);
  });

  it('of a payment that was refunded in part has the remainder; open refunds do not count', () => {
    expect(answerOf(payment('closed'), { followers: [refund(250), refund(100, 'unknown')] })).toMatchObject({
      State: 'Closed',
      Remainder: 7.5,
    });
    expect(answerOf(payment('closed'))).not.toHaveProperty('Remainder');
    expect(remainderOf(payment(null, { state: 'refused' }), [refund(1)])).toBeUndefined();
  });

  it('never suggests another documentNr', () => {
    for (const standing of standings) {
      const [command, followers] = examples[standing];
      try {
        answerOf(command, { followers, question: 'number' });
      } catch (error) {
        expect((error as Error).message).not.toMatch(/new (documentNr|number|key)/i);
        expect((error as Error).message, standing).not.toBe('');
      }
    }
  });
});

it('open and disputed refunds count as made when another refund is requested', () => {
  const all = [refund(1), refund(10, 'sent'), refund(100, 'unknown'), refund(1_000, 'disputed'), refund(5, 'refused'), refund(7, 'never')];
  expect(committedRefundsOf([...all, voiding('unknown')])).toBe(1_111);
});

it('what was done, may have been done, keeps its money and locks its terminal, by state and document', () => {
  const states = ['sent', 'unknown', 'done', 'refused', 'never', 'disputed'] as const;
  const where = (is: (facts: Pick<Command, 'state'>) => boolean) => states.filter((state) => is({ state }));
  expect(where(mayBeDone)).toEqual(['done', 'disputed']);
  expect(where((facts) => keepsMoney({ ...facts, documentState: null }))).toEqual(['done']);
  expect(keepsMoney(payment('closed'))).toBe(true);
  expect(keepsMoney(payment('voided'))).toBe(false);
  const documents = ['open', 'closed', 'voided', null] as const;
  expect(documents.filter((documentState) => awaitsClose({ documentState }))).toEqual(['open']);
  expect(documents.filter((documentState) => isDocumentClosed({ documentState }))).toEqual(['closed']);
});

it('a payment may be refunded already if a refund of it was made or may have been; a void is no refund', () => {
  expect(mayBeRefunded([])).toBe(false);
  expect(mayBeRefunded([refund(1, 'refused'), refund(1, 'never'), voiding('done')])).toBe(false);
  for (const state of ['sent', 'unknown', 'done', 'disputed'] as const)
    expect(mayBeRefunded([voiding('refused'), refund(1, state)])).toBe(true);
});

it('only a payment that was made has something left of it', () => {
  expect(remainderOf(payment('closed'), [refund(1)])).toBe(999);
  expect(remainderOf(payment('closed', { state: 'disputed' }), [refund(1)])).toBeUndefined();
  expect(remainderOf(payment(null), [refund(1)])).toBeUndefined();
});

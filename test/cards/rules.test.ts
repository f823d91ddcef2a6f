// POS Mode's rules as tables: what is refused, what it is called, and the very bani at which that begins.
import { describe, expect, it } from 'vitest';
import {
  chargedByRegister,
  checkRefund,
  checkRepeatedAmount,
  checkRepeatedDevice,
  checkVoid,
  doubtAmount,
  doubtApproval,
  maxLength,
} from '../../src/cards/rules.ts';
import type { ErrorName } from '../../src/kernel/error-codes.ts';
import { sameNumber } from '../../src/kernel/ids.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { Follower } from '../../src/ledger/standing.ts';
import type { JsonObject } from '../../src/link/protocol.ts';

const payment = (overrides: Partial<Command> = {}): Command =>
  ({
    id: 'p',
    name: 'Pay',
    state: 'done',
    deviceId: 'terminal',
    amountBani: 1_000,
    documentState: 'open',
    bankDayClosedAtMs: null,
    removedAtMs: null,
    disputedFrom: null,
    ...overrides,
  }) as Command;

const refunded = (amountBani: number): Follower[] => (amountBani === 0 ? [] : [{ name: 'Refund', state: 'done', amountBani }]);

const refusal = (errorName: ErrorName, message: string) =>
  expect.objectContaining({ errorName, message: expect.stringContaining(message) as string }) as Error;
const status = (message: string) => refusal('The_status_cannot_be_applied', message);
const invalid = (message: string) => refusal('Invalid_Request', message);

describe('a repeat of Pay under its documentNr', () => {
  it.each(['open', null] as const)('is answered by a payment whose document is %s', (documentState) => {
    expect(() => checkRepeatedAmount(payment({ documentState }), 1_000)).not.toThrow();
    expect(() => checkRepeatedDevice(payment({ documentState }), [], 'terminal')).not.toThrow();
  });

  it('is 22 over another amount, without State: Closed would say that this amount is paid', () => {
    const check = () => checkRepeatedAmount(payment({ amountBani: 1_001, documentState: 'closed' }), 1_000);
    expect(check).toThrow(status('of another amount'));
    expect(check).toThrow(expect.objectContaining({ fields: { OID: 'p' } }));
  });

  it('is 22 over another terminal, with the State of the payment', () => {
    const check = () => checkRepeatedDevice(payment({ deviceId: 'other' }), [], 'terminal');
    expect(check).toThrow(status('on another terminal'));
    expect(check).toThrow(expect.objectContaining({ fields: { OID: 'p', State: 'Done' } }));
  });

  it('is 22 with the OID of the print where a register charged the card', () => {
    const refused = chargedByRegister(payment({ name: 'PrintReceipt', documentState: null }));
    expect(refused).toEqual(status('A register has charged a card'));
    expect(refused).toMatchObject({ fields: { OID: 'p', State: 'Done' } });
  });
});

describe('a refund or void', () => {
  it.each([{}, { amount: 10 }, { amount: '10.00' }])('that reports %o is taken as it is', (report) => {
    expect(doubtAmount(payment(), report)).toBeUndefined();
  });

  it.each([
    [{ amount: 10.01 }, '10.01 instead of 10.00'],
    [{ amount: null }, 'null instead of 10.00'],
  ])('that reports %o is for an operator', (report, sentence) => {
    expect(doubtAmount(payment(), report)).toContain(sentence);
  });
});

describe('an approval', () => {
  const report = (overrides: JsonObject = {}): JsonObject => ({ rrn: '1', operationId: '2', amount: 10, ...overrides });
  const nameless = 'without a usable rrn and operationId';

  it.each([
    {},
    { rrn: 'r'.repeat(maxLength.rrn) },
    { operationId: 'o'.repeat(maxLength.operationId) },
    { operationId: '😀'.repeat(maxLength.operationId) },
  ])('is taken as it is: %o', (overrides) => {
    expect(doubtApproval(payment(), report(overrides))).toBeUndefined();
  });

  it.each<[JsonObject, string]>([
    [{ rrn: null }, nameless],
    [{ rrn: '' }, nameless],
    [{ rrn: 7 }, nameless],
    [{ rrn: 'r'.repeat(maxLength.rrn + 1) }, nameless],
    [{ rrn: 'a\u0000b' }, nameless],
    [{ operationId: null }, nameless],
    [{ operationId: '' }, nameless],
    [{ operationId: 'o'.repeat(maxLength.operationId + 1) }, nameless],
    [{ operationId: '😀'.repeat(maxLength.operationId + 1) }, nameless],
    [{ operationId: 'a\u0000b' }, nameless],
    [{ amount: 10.01 }, '10.01 instead of 10.00'],
    [{ amount: 9.99 }, '9.99 instead of 10.00'],
    [{ amount: null }, 'null instead of 10.00'],
  ])('is for a person with %o', (overrides, sentence) => {
    expect(doubtApproval(payment(), report(overrides))).toContain(sentence);
  });

  it('of a payment without an amount goes to the review list, too', () => {
    expect(doubtApproval(payment({ amountBani: null }), report())).toContain('10 instead of 0.00');
  });
});

describe('a refund', () => {
  it.each([
    [1_000, 0],
    [1, 999],
    [400, 600],
  ])('of %i bani after %i were refunded is within the payment', (amountBani, refundedBani) => {
    expect(() => checkRefund(payment(), refunded(refundedBani), amountBani)).not.toThrow();
  });

  it.each([
    [1_001, 0, '10.00'],
    [2, 999, '0.01'],
    [1, 1_000, '0.00'],
  ])('of %i bani after %i is one too much, and is refused with the remainder', (amountBani, refundedBani, left) => {
    expect(() => checkRefund(payment(), refunded(refundedBani), amountBani)).toThrow(invalid(`not be over ${left}`));
  });

  it.each<[string, Partial<Command>, string]>([
    ['voided', { documentState: 'voided' }, 'was voided'],
    ['of a bank day that is closed', { bankDayClosedAtMs: 1 }, 'use CancelTransaction'],
    ['removed after its time', { removedAtMs: 1 }, 'removed'],
    ['without an amount', { amountBani: null }, 'not be over 0.00'],
  ])('of a payment that is %s is refused', (_what, overrides, message) => {
    expect(() => checkRefund(payment(overrides), [], 1)).toThrow(message);
  });
});

describe('a void', () => {
  it.each(['open', 'closed'] as const)(
    'takes back a payment whose document is %s, whole, on a closed bank day as well',
    (documentState) => {
      const closed = payment({ documentState, bankDayClosedAtMs: 1 });
      expect(() => checkVoid(closed, [], 1_000)).not.toThrow();
    },
  );

  it.each<[string, Partial<Command>, number, number, string]>([
    ['twice', { documentState: 'voided' }, 1_000, 0, 'voided already'],
    ['after a refund of one ban', {}, 1_000, 1, 'A refund of it was made'],
    ['of what was removed after its time', { removedAtMs: 1 }, 1_000, 0, 'removed'],
  ])('%s is 22', (_what, overrides, amountBani, refundedBani, message) => {
    expect(() => checkVoid(payment(overrides), refunded(refundedBani), amountBani)).toThrow(status(message));
  });

  it.each([999, 1_001])('of %i bani is 40 and names the amount', (amountBani) => {
    expect(() => checkVoid(payment(), [], amountBani)).toThrow(invalid('original payment, 10.00'));
  });

  it('of a payment without an amount is 40, too', () => {
    expect(() => checkVoid(payment({ amountBani: null }), [], 1)).toThrow(invalid('original payment, 0.00'));
  });
});

it('a documentNr that is a UUID is compared without letter case; any other text exactly', () => {
  expect(sameNumber('C1B2A3D4-5E6F-4A7B-8C9D-0E1F2A3B4C55')).toBe('c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55');
  expect(sameNumber('Bon-17')).toBe('Bon-17');
});

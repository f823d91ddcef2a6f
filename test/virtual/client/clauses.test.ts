// What the protocol page says where a reader was left to guess: each sentence held by the virtual devices.
import { describe, expect, it } from 'vitest';
import { benchOfOne } from '../bench-of-one.ts';

describe('a buried id', () => {
  it('is reported as never at every further Recall, and a second Abort of it is refused', async () => {
    const { random, lastAnswer, device } = await benchOfOne();
    const target = random.uuid();
    expect(await lastAnswer('Abort', { target })).toMatchObject({ outcome: 'done' });
    expect(await lastAnswer('Abort', { target })).toMatchObject({ outcome: 'refused' });
    for (let count = 0; count < 3; count += 1)
      expect(await lastAnswer('Recall', { target })).toMatchObject({ outcome: 'done', report: { state: 'never' } });
    expect(device.journal().entries()).toHaveLength(1);
  });

  it.each(['Recall', 'Abort'])('is not made by a %s without a target', async (name) => {
    const { lastAnswer, device } = await benchOfOne();
    expect(await lastAnswer(name)).toMatchObject({ outcome: 'refused', reason: expect.any(String) });
    expect(await lastAnswer(name, { target: 7 })).toMatchObject({ outcome: 'refused' });
    expect(device.journal().entries()).toEqual([]);
  });
});

describe('unsupported', () => {
  it('is the written ending of a ledger command for another kind of device', async () => {
    const { ask, outcomesOf, lastAnswer } = await benchOfOne({ kind: 'register' });
    const id = await ask('Pay', { amount: 1, currency: 'MDL' });
    expect(outcomesOf(id)).toEqual(['unsupported']);
    expect(await lastAnswer('Recall', { target: id })).toMatchObject({ report: { state: 'final', outcome: 'unsupported' } });
  });

  it('is said to a name that is in no table, and written nowhere', async () => {
    const { ask, outcomesOf, device } = await benchOfOne();
    expect(outcomesOf(await ask('Juggle'))).toEqual(['unsupported']);
    expect(device.journal().entries()).toEqual([]);
  });
});

describe('wrong arguments', () => {
  it.each([
    ['terminal', 'Pay', { currency: 'MDL' }],
    ['terminal', 'Pay', { amount: 0, currency: 'MDL' }],
    ['terminal', 'Pay', { amount: -1, currency: 'MDL' }],
    ['terminal', 'Pay', { amount: 1.001, currency: 'MDL' }],
    ['terminal', 'Pay', { amount: 1, currency: 'EUR' }],
    ['register', 'MoneyIn', { amount: 'one' }],
    ['register', 'PrintReceipt', { receipt: { Items: [] } }],
  ] as const)('of a %s %s are refused without accepted, once and for all (%j)', async (kind, name, args) => {
    const { ask, answersTo, lastAnswer, device } = await benchOfOne({ kind });
    const id = await ask(name, args);
    expect(answersTo(id)).toMatchObject([{ outcome: 'refused', reason: expect.any(String) }]);
    expect(await lastAnswer('Recall', { target: id })).toMatchObject({ report: { state: 'final', outcome: 'refused' } });
    expect(device.bank.entries()).toEqual([]);
  });

  it('are none where only a field is unknown', async () => {
    const { ask, outcomesOf } = await benchOfOne();
    expect(outcomesOf(await ask('Pay', { amount: 1, currency: 'MDL', tip: 5 }))).toEqual(['accepted', 'done']);
  });
});

// Whether the ERP was notified of an outcome, as its callbacks show.
import { describe, expect, it } from 'vitest';
import { type CallbackFacts, erpNotified } from '../../../src/cabinet/views/sale/erp-notified.ts';

const about = (subjectId: string, sequence: number, state: CallbackFacts['state']): CallbackFacts => ({ subjectId, sequence, state });

describe('whether the ERP was notified', () => {
  it.each([
    ['there is no callback', [], undefined],
    ['all are delivered', [about('a', 1, 'delivered'), about('a', 2, 'delivered')], 'delivered'],
    ['the last one is pending', [about('a', 1, 'delivered'), about('a', 2, 'pending')], 'pending'],
    ['the last one is dead', [about('a', 1, 'delivered'), about('a', 2, 'dead')], 'dead'],
    ['an earlier one is dead and the last is delivered', [about('a', 1, 'dead'), about('a', 2, 'delivered')], 'delivered'],
    ['the same in another order', [about('a', 2, 'delivered'), about('a', 1, 'dead')], 'delivered'],
    ['one subject is delivered and the other is dead', [about('a', 2, 'delivered'), about('b', 1, 'dead')], 'dead'],
    ['one is dead and another is pending', [about('a', 1, 'pending'), about('b', 1, 'dead')], 'dead'],
  ] as [string, CallbackFacts[], CallbackFacts['state'] | undefined][])('%s', (_name, callbacks, expected) => {
    expect(erpNotified(callbacks)).toBe(expected);
  });
});

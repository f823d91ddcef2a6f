// Whose answer a call brings on the new core: a till that repeats its request has the outcome with it; a person in the cabinet delivers
// nothing to a till [D309].
import { beforeEach, expect, it } from 'vitest';
import type { Link } from '../../src/link/link.ts';
import { createCalls } from '../../src/money/calls.ts';
import type { Op } from '../../src/money/case.ts';
import type { Answer, Of } from '../../src/money/event.ts';
import type { Notes } from '../../src/money/notes.ts';
import type { Ran } from '../../src/money/run.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let answered: string[];
let answer: Answer;
const op = { id: 'o', deviceId: 'd', requestHash: 'h', state: 'done', standing: 'Done' } as Op;
const pay: Of<'Pay'> = { type: 'Pay', merchantId: 'm', deviceId: 'd', newId: 'n', amountBani: 1, requestHash: 'h' };

beforeEach(() => {
  answered = [];
  answer = { code: 'NoError', sentence: '', fields: { OID: 'o' } };
});

async function call(event: Of<'Pay'>): Promise<string[]> {
  const nothing = async (): Promise<never> => {
    throw new Error('Nothing is sent or waited for.');
  };
  const { call: make } = createCalls({
    ...{ clock: createVirtualClock(), logger: quietLogger },
    link: { deadlines: () => ({}), presence: { isLiveAnywhere: () => true } } as unknown as Link,
    timeline: { addCounted: () => {} },
    run: async () => ({ answer, effects: [], case: { ops: { o: op } } }) as unknown as Ran,
    notes: { answered: ({ id }: Op) => void answered.push(id) } as unknown as Notes,
    waits: { waitFor: nothing, countOf: () => 0, stop: () => {} },
    sending: { send: nothing, has: () => false },
    recall: { ask: nothing, compare: nothing },
  });
  await make(event, {});
  return answered;
}

it('an equal request of a till', async () => {
  expect(await call(pay)).toEqual(['o']);
});

it.each<[string, Of<'Pay'>]>([
  ['an equal request of a person', { ...pay, isByPerson: true }],
  ['another request', { ...pay, requestHash: 'other' }],
  ['a request at another device', { ...pay, deviceId: 'e' }],
])('not %s', async (_what, event) => {
  expect(await call(event)).toEqual([]);
});

it('not one that is refused beside a dispute', async () => {
  answer = { ...answer, code: 'Device_Busy' };
  expect(await call(pay)).toEqual([]);
});

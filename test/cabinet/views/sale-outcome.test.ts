// The outcome sentence of a sale must be true for every history, and its unclear time must start and end correctly.
import { describe, expect, it } from 'vitest';
import type { Sale } from '../../../src/cabinet/views/sale/sale-model.ts';
import { adviceOf, hintsOf, marksOf, outcomeOf } from '../../../src/cabinet/views/sale/sale-outcome.ts';
import { unclearSpans, withLostAnswer } from '../../../src/cabinet/views/sale/sale-unclear.ts';
import { callback, events, follower, lostAndFound, type Note, sale, smooth, startMs } from './histories.ts';

const nowMs = startMs + 600_000;
const told = (story: Sale) => outcomeOf(story, unclearSpans(story.events, story.command.settledAtMs), nowMs);
const open = { state: 'unknown', settledAtMs: null, settledBy: null, outcome: null, report: null, documentState: null } as const;
const failed = { documentState: null, report: null } as const;

const histories: [string, Sale, string, object][] = [
  ['a plain payment', sale({}, smooth), 'outcome.charged', { amount: 150.5, device: 'Casa 1' }],
  [
    'a lost answer that Recall found',
    sale({ settledBy: 'recall', settledAtMs: startMs + 49_000 }, lostAndFound),
    'outcome.chargedFoundByRecall',
    { spanMs: 31_000 },
  ],
  [
    'an answer after the call had timed out',
    sale({ settledBy: 'late-answer', settledAtMs: startMs + 400_000 }, [
      ...smooth.slice(0, 2),
      [300, 'unknown'],
      [400, 'settled', 'done by late-answer'],
    ]),
    'outcome.chargedLateAnswer',
    { spanMs: 100_000 },
  ],
  [
    'a terminal without a journal, asked for its last transaction',
    sale({ settledBy: 'last-transaction', settledAtMs: startMs + 340_000 }, [
      [300, 'unknown'],
      [302, 'asked last transaction'],
      [340, 'settled', 'done by last-transaction'],
    ]),
    'outcome.chargedFoundByLastTransaction',
    { spanMs: 40_000 },
  ],
  [
    'a lost channel with an answer on the other',
    sale({}, [
      [0, 'sent', 'mqtt'],
      [5, 'channel-lost', 'mqtt'],
      [12, 'answered', 'queue', 'done'],
    ]),
    'outcome.chargedAfterDoubt',
    { spanMs: 7_000 },
  ],
  ['a decline', sale({ ...failed, state: 'refused', reason: 'No funds' }), 'outcome.declined', { reason: 'No funds' }],
  ['a payment that was stopped', sale({ ...failed, state: 'refused', abortRequestedAtMs: startMs }), 'outcome.stopped', {}],
  [
    'an offline device',
    sale({ ...failed, state: 'never', outcome: null, reason: 'Nothing went out.' }),
    'outcome.never',
    { reason: 'Nothing went out.' },
  ],
  ['a busy device', sale({ ...failed, state: 'never', outcome: 'busy' }), 'outcome.busy', {}],
  [
    'a command that was issued again',
    sale({ ...failed, state: 'never', outcome: 'expired' }, [[1, 'settled', 'never by answer; issued again as x']]),
    'outcome.issuedAgain',
    {},
  ],
  ['a payment that waits for the card', sale({ ...open, state: 'sent' }, smooth.slice(0, 2)), 'outcome.waiting', {}],
  [
    'an outcome that is still unknown',
    sale(open, [
      [0, 'sent', 'mqtt'],
      [40, 'unknown'],
    ]),
    'outcome.unknown',
    { spanMs: 560_000 },
  ],
  [
    'an outcome that a person must decide',
    sale({ ...open, reviewSinceMs: startMs, reviewReason: 'No journal.' }),
    'outcome.needsPerson',
    { reason: 'No journal.' },
  ],
  [
    'a contradiction',
    sale({ ...failed, state: 'refused', reviewSinceMs: startMs, reviewReason: 'It now says done.' }),
    'outcome.contradiction',
    { state: 'refused' },
  ],
  [
    'a contradiction that a person has reviewed',
    sale({ reviewSinceMs: startMs, reviewReason: 'x', reviewedAtMs: startMs }, smooth),
    'outcome.charged',
    {},
  ],
  [
    "a person's decision",
    sale({ settledBy: 'person' }, [
      [300, 'unknown'],
      [400, 'decided', 'Ana: done, the bank has it: seen'],
      [400, 'settled', 'done by person'],
    ]),
    'outcome.chargedByPerson',
    { actor: 'Ana', reason: 'the bank has it: seen' },
  ],
  [
    "a person's refusal",
    sale({ ...failed, state: 'refused', settledBy: 'person', reason: 'not there' }, [[400, 'decided', 'Ana: refused, not there']]),
    'outcome.refusedByPerson',
    { actor: 'Ana' },
  ],
  [
    'a refund of a part',
    sale({}, smooth, { followers: [follower('Refund', { amountBani: 5_000 })] }),
    'outcome.partlyRefunded',
    { refunded: 50, left: 100.5 },
  ],
  ['a refund of all', sale({}, smooth, { followers: [follower('Refund')] }), 'outcome.refunded', { refunded: 150.5 }],
  ['a refund that was refused', sale({}, smooth, { followers: [follower('Refund', { state: 'refused' })] }), 'outcome.charged', {}],
  ['a void', sale({ documentState: 'voided' }, smooth, { followers: [follower('CancelTransaction')] }), 'outcome.voided', {}],
  [
    'a receipt',
    sale({ name: 'PrintReceipt', documentState: null, receiptId: 'R-1' }, smooth),
    'outcome.done',
    { name: 'PrintReceipt', receiptId: 'R-1' },
  ],
  [
    'a receipt that Recall found',
    sale({ name: 'PrintReceipt', documentState: null, settledBy: 'recall' }, lostAndFound),
    'outcome.doneFoundByRecall',
    {},
  ],
];

describe('the outcome sentence', () => {
  it.each(histories)('of %s', (_name, story, key, params) => {
    expect(told(story)).toMatchObject({ key, params });
  });
});

describe('the time of an unknown outcome', () => {
  const span = (notes: Note[], settledAtS: number | null) =>
    unclearSpans(events(notes), settledAtS === null ? null : startMs + settledAtS * 1000).map(({ fromMs, toMs }) => [
      (fromMs - startMs) / 1000,
      toMs === undefined ? undefined : (toMs - startMs) / 1000,
    ]);

  it('starts when the device had finished, once that is known, and not at the first Recall', () => {
    const asked = [{ fromMs: 30_000, toMs: 30_001 }];
    expect(withLostAnswer(asked, 173, 30_001)).toEqual([{ fromMs: 173, toMs: 30_001 }]);
    expect(withLostAnswer([], 173, 30_001)).toEqual([{ fromMs: 173, toMs: 30_001 }]);
  });

  it('is unchanged if no answer was lost, and added to an earlier one that has ended', () => {
    const earlier = { fromMs: 10, toMs: 90 };
    expect(withLostAnswer([earlier], undefined, 30_001)).toEqual([earlier]);
    expect(withLostAnswer([earlier], 173, 30_001)).toEqual([earlier, { fromMs: 173, toMs: 30_001 }]);
    expect(withLostAnswer([{ fromMs: 10 }], 173, null)).toEqual([{ fromMs: 10 }]);
  });

  it('is empty without failures, even with a Recall for a slow customer', () => {
    expect(span(smooth, 12)).toEqual([]);
    expect(
      span(
        [
          [0, 'sent', 'mqtt'],
          [1, 'accepted'],
          [31, 'recall', 'mqtt'],
          [31.1, 'recalled', 'mqtt', 'running'],
          [50, 'answered', 'mqtt', 'done'],
        ],
        50,
      ),
    ).toEqual([]);
  });
  it('lasts from the loss of the channel to the answer of the device', () => {
    expect(span(lostAndFound, 49)).toEqual([[18, 49]]);
  });
  it('is open while nothing has settled it, and continues when the device does not know the outcome', () => {
    expect(
      span(
        [
          [0, 'sent', 'mqtt'],
          [40, 'unknown'],
        ],
        null,
      ),
    ).toEqual([[40, undefined]]);
    expect(
      span(
        [
          [40, 'unknown'],
          [45, 'recall', 'mqtt'],
          [46, 'recalled', 'mqtt', 'unknown'],
          [90, 'decided', 'Ana: done, x'],
        ],
        90,
      ),
    ).toEqual([[40, 90]]);
  });
  it('ends with the settlement, even if its step is missing', () => {
    expect(span([[40, 'unknown']], 55)).toEqual([[40, 55]]);
  });
});

describe('the sentences about what is no charge', () => {
  const back = { name: 'Refund', amountBani: 5_000, documentState: null } as const;
  it.each([
    ['unknown', open],
    ['on review', { ...open, reviewSinceMs: 1, reviewReason: 'x' }],
    ['in progress', { ...open, state: 'sent' }],
    ['refused', { ...failed, state: 'refused' }],
    ['never', { ...failed, state: 'never' }],
  ] as const)('have no amount for a refund that is %s, so none of them speaks of a charge', (_name, state) => {
    expect(told(sale({ ...back, ...state })).params).not.toHaveProperty('amount');
    expect(told(sale(state)).params).toHaveProperty('amount', 150.5);
  });

  it('say by whom a dispute was resolved', () => {
    const resolved = sale({ settledBy: 'person' }, [[500, 'review closed', 'Ana: done, seen at the bank']]);
    expect(told(resolved)).toMatchObject({ key: 'outcome.chargedByPerson', params: { actor: 'Ana' } });
  });

  it('name no time in which the outcome was unknown if there was none', () => {
    for (const settledBy of ['recall', 'late-answer', 'last-transaction'] as const)
      expect(told(sale({ settledBy }))).toMatchObject({ key: 'outcome.charged' });
  });
});

describe('what a person should know while the outcome is unknown', () => {
  it('name the other payment under the number of a disputed one', () => {
    const disputed = { ...failed, state: 'disputed', reviewSinceMs: startMs } as const;
    const others = [{ id: 'other', standing: 'Closed' }] as const;
    expect(hintsOf(sale(disputed, [], { said: { others } }), nowMs).map(({ key }) => key)).toEqual(['hint.otherPayment']);
    expect(hintsOf(sale(disputed), nowMs)).toEqual([]);
  });
  const hints = (story: Sale) => hintsOf(story, nowMs).map(({ key, params }) => [key, params['from']]);
  it('is whether the device is connected, and from when a decision is possible', () => {
    const fromMs = nowMs + 60_000;
    const early = { ...open, answerByMs: fromMs - 120_000 };
    expect(hints(sale(early, [], { isOffline: true }))).toEqual([
      ['hint.offline', undefined],
      ['hint.decideFrom', new Date(fromMs).toISOString()],
    ]);
    expect(hints(sale(open))).toEqual([
      ['hint.online', undefined],
      ['hint.decideNow', undefined],
    ]);
    expect(hints(sale({ ...early, endedUnknownAtMs: startMs, reviewSinceMs: 1, reviewReason: 'x' })).at(-1)).toEqual([
      'hint.decideNow',
      undefined,
    ]);
    expect(told(sale(open, [], { isOffline: true })).key).toBe('outcome.unknownOffline');
    expect(hints(sale({}, smooth))).toEqual([]);
  });
});

describe('the advice', () => {
  it.each([
    ['nothing', sale({}, smooth), 'advice.nothing'],
    ['wait', sale({ ...open, state: 'sent' }), 'advice.wait'],
    ['not to charge again', sale(open), 'advice.doNotChargeAgain'],
    ['decide', sale({ ...open, reviewSinceMs: 1, reviewReason: 'x' }), 'advice.decide'],
    ['compare a dispute', sale({ state: 'disputed', disputedFrom: 'refused', reviewSinceMs: 1, reviewReason: 'x' }), 'advice.compare'],
    ['compare what stays settled', sale({ reviewSinceMs: 1, reviewReason: 'x' }), 'advice.compareSettled'],
    ['not to repeat a refund', sale({ ...open, name: 'Refund' }), 'advice.doNotRepeat'],
    ['decide a receipt', sale({ ...open, name: 'PrintReceipt', reviewSinceMs: 1, reviewReason: 'x' }), 'advice.decideOther'],
    ['repeat a refund', sale({ ...failed, name: 'Refund', state: 'never' }), 'advice.repeat'],
    [
      'see the operation that was sent instead',
      sale({ ...failed, state: 'never' }, [[1, 'settled', 'never by answer; issued again as x']]),
      'advice.seeReissued',
    ],
    ['close the document', sale({ documentState: 'open' }), 'advice.closeDocument'],
    ['send a dead callback again', sale({}, smooth, { callbacks: [callback({ state: 'dead' })] }), 'advice.sendAgain'],
    ['try again', sale({ ...failed, state: 'never' }), 'advice.tryAgain'],
    [
      'return the second charge',
      sale({ documentState: 'closed' }, smooth, { said: { others: [{ id: 'other', standing: 'Closed' }] } }),
      'advice.chargedTwice',
    ],
    [
      'nothing about a voided one',
      sale({ documentState: 'voided' }, smooth, { said: { others: [{ id: 'other', standing: 'Closed' }] } }),
      'advice.nothing',
    ],
    [
      'pay otherwise',
      sale({ ...failed, state: 'refused', settledBy: 'person' }, [], { said: { isUnconfirmed: true } }),
      'advice.payOtherwise',
    ],
    ['pay again', sale({ ...failed, state: 'refused', settledBy: 'person' }), 'advice.anotherCard'],
    [
      'wait for the register',
      sale({ ...failed, name: 'PrintReceipt', state: 'refused', settledBy: 'person' }, [], { said: { isUnconfirmed: true } }),
      'advice.confirmFirst',
    ],
  ] as [string, Sale, string][])('%s', (_name, story, key) => {
    expect(adviceOf(story).key).toBe(key);
  });

  it('has no mark of the receipt of another attempt', () => {
    const print = follower('PrintReceipt', { receiptId: 'R-1', targetId: null });
    const about = callback({ subjectId: print.id });
    const declined = sale({ ...failed, state: 'refused' }, [], { linked: [print], callbacks: [about] });
    expect(marksOf(declined)).toEqual([{ key: 'state.declined', state: 'neutral' }]);
  });

  it('has a mark for each completed and for each missing part', () => {
    const print = follower('PrintReceipt', { receiptId: 'R-1', targetId: null });
    expect(marksOf(sale({}, smooth, { linked: [print], callbacks: [callback()] }))).toEqual([
      { key: 'state.paid', state: 'good' },
      { key: 'mark.closed', state: 'good' },
      { key: 'mark.printed', state: 'good' },
      { key: 'mark.erpNotified', state: 'good' },
    ]);
    expect(marksOf(sale({ documentState: 'open' }, smooth, { callbacks: [callback({ state: 'dead' }), callback()] }))).toEqual([
      { key: 'state.paid', state: 'good' },
      { key: 'mark.notClosed', state: 'waiting' },
      { key: 'mark.erpNotNotified', state: 'bad' },
    ]);
  });
});

// The timeline: each step with actor and channel, in order; retries are grouped, and facts learned later are placed when they happened.
import { describe, expect, it } from 'vitest';
import { nextStepsOf } from '../../../src/cabinet/views/sale/next-steps.ts';
import type { Sale } from '../../../src/cabinet/views/sale/sale-model.ts';
import { saleSteps } from '../../../src/cabinet/views/sale/sale-steps.ts';
import { callback, follower, lostAndFound, sale, smooth, startMs } from './histories.ts';

const keys = new Map([['k', 'ERP Centru']]);
const kinds = (story: Sale) => saleSteps(story, keys).map(({ kind }) => kind);
const find = (story: Sale, kind: string) => saleSteps(story, keys).find((step) => step.kind === kind);

describe('the timeline', () => {
  it('of a plain payment runs from the call to the answer', () => {
    const story = sale({}, smooth);
    expect(kinds(story)).toEqual(['asked', 'written', 'sent', 'accepted', 'bankDid', 'answered', 'settled', 'callerAnswered']);
    expect(find(story, 'asked')).toMatchObject({ from: 'erp', to: 'gateway', text: { params: { key: 'ERP Centru', amount: 150.5 } } });
    expect(find(story, 'sent')).toMatchObject({ from: 'gateway', to: 'device', via: 'mqtt' });
    expect(find(story, 'bankDid')).toMatchObject({ actor: 'bank', to: 'bank', isMoney: true, learnedAtMs: startMs + 12_000 });
    expect(find(story, 'settled')).toMatchObject({ isMoney: true, text: { params: { state: 'done', by: 'answer' } } });
    expect(find(story, 'callerAnswered')).toMatchObject({ to: 'erp', text: { params: { errorCode: 0, waitedMs: 12_000 } } });
  });

  it('of a refund says neither that it was charged, nor what was approved without its name', () => {
    const report = JSON.stringify({ rrn: '2', operationId: '3', amount: 50, time: new Date(startMs + 11_000).toISOString() });
    const story = sale({ name: 'Refund', amountBani: 5_000, documentState: null, report }, smooth);
    expect(find(story, 'settled')).toMatchObject({ isMoney: true, text: { key: 'step.settled', params: { name: 'Refund' } } });
    expect(find(story, 'settled')?.text.params).not.toHaveProperty('amount');
    expect(find(story, 'bankDid')).toMatchObject({
      isMoney: true,
      text: { key: 'step.bankDidOther', params: { name: 'Refund', amount: 50 } },
    });
  });

  it('of a lost answer groups the Recalls and shows where the answer was lost', () => {
    const report = JSON.stringify({ amount: 150.5, time: new Date(startMs + 18_600).toISOString() });
    const story = sale({ settledBy: 'recall', settledAtMs: startMs + 49_000, report }, lostAndFound);
    expect(kinds(story)).toEqual([
      'asked',
      'written',
      'sent',
      'accepted',
      'channelLost',
      'bankDid',
      'answerLost',
      'recallUnanswered',
      'seenAgain',
      'recall',
      'recalled',
      'settled',
      'callerAnswered',
    ]);
    expect(find(story, 'recallUnanswered')).toMatchObject({ repeats: 6, isLost: true, via: 'queue', text: { params: { tries: 6 } } });
    expect(find(story, 'channelLost')).toMatchObject({ from: 'mqtt', isLost: true });
    expect(find(story, 'answerLost')).toMatchObject({ isLost: true, via: 'mqtt', learnedAtMs: startMs + 49_000 });
    expect(find(story, 'recall')).not.toHaveProperty('isLost', true);
  });

  it('does not show an answered Recall as unanswered, whether its answer was accepted or not', () => {
    const story = sale({ state: 'unknown', settledAtMs: null, settledBy: null, outcome: null, report: null }, [
      [1, 'sent'],
      [300, 'unknown'],
      [310, 'recall'],
      [311, 'asked again', 'number unknown - 0'],
      [312, 'recalled', 'never'],
      [313, 'review', 'Its journal is not the one.'],
      [400, 'asked last transaction'],
      [401, 'last transaction reported', 'another'],
      [500, 'recall'],
    ]);
    const told = kinds(story).filter((kind) => kind.startsWith('recall') || kind.includes('LastTransaction'));
    expect(told).toEqual(['recall', 'recalled', 'askedLastTransaction', 'toldLastTransaction', 'recallUnanswered']);
    expect(find(story, 'recalled')).toMatchObject({ from: 'device', to: 'gateway', text: { params: { state: 'never' } } });
    expect(find(story, 'toldLastTransaction')).toMatchObject({ from: 'device', text: { params: { state: 'another' } } });
  });

  it('lists every repeat of the call with its answer, and the matching answers of the device', () => {
    const further = {
      commandId: sale({}).command.id,
      atMs: startMs + 90_000,
      step: 'asked again',
      channel: undefined,
      detail: undefined,
      further: 7,
    };
    const plain = sale({ outcomeMissedAtMs: startMs + 5_000, outcomeReceivedAtMs: startMs + 60_000 }, [
      ...smooth,
      [20, 'asked again', 'number done done 0'],
      [30, 'asked again', 'key unknown - 5000'],
      [40, 'answered again', 'done'],
    ]);
    const contradictions = { ...further, atMs: further.atMs + 1, step: 'contradiction', further: 3 };
    const story = { ...plain, events: [...plain.events, further, contradictions] };
    const steps = saleSteps(story, keys).filter(({ atMs }) => atMs >= startMs + 20_000);
    expect(steps).toMatchObject([
      { kind: 'repeated', from: 'erp', to: 'gateway', text: { key: 'step.repeated.number', params: { errorCode: 0 } } },
      { kind: 'repeated', text: { key: 'step.repeated.key', params: { errorCode: 3, waitedMs: 5_000 } } },
      { kind: 'answeredAgain', from: 'device', text: { params: { outcome: 'done' } } },
      { kind: 'repeatedFurther', repeats: 7, text: { params: { times: 7 } } },
      { kind: 'answeredFurther', repeats: 3, text: { params: { times: 3 } } },
    ]);
    expect(
      steps.some(({ kind }) => kind === 'callerAnsweredLater'),
      'that is what the repeat says',
    ).toBe(false);
  });

  it('lists the answer to the ERP after the settlement, whose step is written a moment after the row', () => {
    const story = sale({ settledAtMs: startMs + 12_000 }, [...smooth.slice(0, 3), [12.003, 'settled', 'done by answer']]);
    expect(kinds(story).slice(-2)).toEqual(['settled', 'callerAnswered']);
    const late = sale(
      { settledBy: 'late-answer', settledAtMs: startMs + 400_000, outcomeMissedAtMs: 1, outcomeReceivedAtMs: startMs + 400_001 },
      [
        [300, 'unknown'],
        [400.002, 'settled', 'done by late-answer'],
      ],
    );
    expect(kinds(late).slice(-2)).toEqual(['settled', 'callerAnsweredLater']);
  });

  it('ignores a time of the bank before the call or after the settlement', () => {
    for (const wrongS of [-60, 600]) {
      const report = JSON.stringify({ time: new Date(startMs + wrongS * 1000).toISOString() });
      expect(kinds(sale({ report }, smooth))).not.toContain('bankDid');
    }
  });

  it('lists that the ERP was first answered 3, and when it got the outcome', () => {
    const story = sale(
      {
        settledBy: 'late-answer',
        settledAtMs: startMs + 400_000,
        outcomeMissedAtMs: startMs + 300_000,
        outcomeReceivedAtMs: startMs + 500_000,
      },
      [
        [0, 'sent', 'mqtt'],
        [300, 'unknown'],
        [400, 'settled', 'done by late-answer'],
      ],
    );
    const told = saleSteps(story, keys).filter(({ kind }) => kind.startsWith('callerAnswered'));
    expect(told).toMatchObject([
      { kind: 'callerAnswered', atMs: startMs + 300_000, text: { params: { errorCode: 3 } } },
      { kind: 'callerAnsweredLater', atMs: startMs + 500_000, text: { params: { errorCode: 0 } } },
    ]);
  });

  it('lists later operations: close, refund by a person, receipt, failed and delivered callback', () => {
    const refund = follower('Refund', {
      caller: 'person Ana',
      amountBani: 5_000,
      issuedAtMs: startMs + 90_000,
      settledAtMs: startMs + 91_000,
    });
    const print = follower('PrintReceipt', {
      targetId: null,
      receiptId: 'R-4127',
      issuedAtMs: startMs + 70_000,
      settledAtMs: startMs + 72_300,
    });
    const story = sale({}, smooth, {
      followers: [follower('CloseDoc', { amountBani: null }), refund],
      linked: [print],
      callbacks: [callback()],
      attempts: [
        { callbackId: 'c-1', attempt: 1, atMs: startMs + 73_000, status: 503, error: null, durationMs: 212 },
        { callbackId: 'c-1', attempt: 2, atMs: startMs + 133_000, status: 200, error: null, durationMs: 88 },
      ],
    });
    const after = saleSteps(story, keys).slice(8);
    expect(after.map((step) => step.text.key)).toEqual([
      'step.related.CloseDoc.done',
      'step.related.PrintReceipt.done',
      'step.callbackFailed',
      'step.related.Refund.done',
      'step.callbackDelivered',
    ]);
    expect(after[0]).toMatchObject({ isMoney: false, from: 'erp' });
    expect(after[1]).toMatchObject({ isMoney: true, text: { params: { receiptId: 'R-4127', durationMs: 2_300 } } });
    expect(after[2]).toMatchObject({ actor: 'callback', isLost: true, text: { params: { status: 503, durationMs: 212 } } });
    expect(after[3]).toMatchObject({ from: 'person', isMoney: true, text: { params: { actor: 'Ana', amount: 50 } } });
  });

  it('lists the last failed attempt of a callback, and the time of the next', () => {
    const attempts = [{ callbackId: 'c-1', attempt: 6, atMs: startMs + 20_000, status: null, error: 'No answer.', durationMs: 15_000 }];
    expect(kinds(sale({}, smooth, { callbacks: [callback({ state: 'dead' })], attempts }))).toContain('callbackDead');
    const waiting = sale({}, smooth, { callbacks: [callback({ state: 'pending', nextAttemptAtMs: startMs + 80_000 })], attempts });
    expect(find(waiting, 'callbackFailed')).toMatchObject({ text: { params: { nextInMs: 60_000 } } });
  });

  it('keeps an unknown step', () => {
    expect(find(sale({}, [[1, 'something new', 'x']]), 'other')).toMatchObject({
      text: { params: { step: 'something new' } },
      detail: 'x',
    });
  });
});

describe('the next steps', () => {
  const allowed = (story: Sale) =>
    nextStepsOf(story)
      .filter(({ isAllowed }) => isAllowed)
      .map(({ action }) => action);
  const why = (story: Sale, action: string) => nextStepsOf(story).find((step) => step.action === action)?.whyNot?.key;
  const open = { state: 'unknown', settledAtMs: null, settledBy: null, documentState: null, report: null } as const;

  it('of a closed payment are a refund of the rest, a void, and asking the device', () => {
    const story = sale({}, smooth, { followers: [] });
    expect(allowed(story)).toEqual(['refund', 'void', 'ask']);
    expect(nextStepsOf(story)[0]).toMatchObject({ action: 'refund', maxBani: 15_050, consequence: { params: { card: '4417' } } });
  });
  it('count an unsettled refund as made', () => {
    const story = sale({}, smooth, {
      followers: [follower('Refund', { amountBani: 5_000 }), follower('Refund', { ...open, name: 'Refund', amountBani: 10_050 })],
    });
    expect(why(story, 'refund')).toBe('whyNot.nothingLeft');
    expect(why(story, 'void')).toBe('whyNot.refunded');
  });
  it('exclude a refund after the bank day was closed, and a void of a voided payment', () => {
    expect(why(sale({ bankDayClosedAtMs: 1 }), 'refund')).toBe('whyNot.bankDayClosed');
    expect(why(sale({ documentState: 'voided' }), 'void')).toBe('whyNot.voided');
    expect(allowed(sale({ report: '{}' }))).toContain('void');
  });
  it('of an open document include closing it, by the terminal or by hand', () => {
    expect(allowed(sale({ documentState: 'open' }))).toEqual(['void', 'close', 'closeByHand', 'ask']);
    expect(why(sale({ documentState: 'open' }), 'refund')).toBe('whyNot.documentOpen');
  });
  it('of an unclear one are asking and deciding, and never move money', () => {
    expect(allowed(sale(open))).toEqual(['ask', 'decide']);
    expect(why(sale({ ...open, state: 'sent', answerByMs: startMs + 9e8 }), 'decide')).toBe('whyNot.running');
  });
  it('of a settled one include a decision only if there is a contradiction', () => {
    expect(why(sale({}), 'decide')).toBe('whyNot.settled');
    expect(allowed(sale({ reviewSinceMs: 1, reviewReason: 'x' }))).toContain('decide');
  });
});

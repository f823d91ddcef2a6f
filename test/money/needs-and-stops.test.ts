// What decisions and requests to stop wait for on the new core, and what is not assumed without a query.
import { beforeEach, describe, expect, it } from 'vitest';
import { assume, assumeNew } from '../../src/money/assume.ts';
import type { Op } from '../../src/money/case.ts';
import type { Effect, Event, Of } from '../../src/money/event.ts';
import { createNeeds } from '../../src/money/needs.ts';
import type { Ran } from '../../src/money/run.ts';
import { createStop } from '../../src/money/stop.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
});

describe('a decision that needs', () => {
  let op: Partial<Op> | undefined;
  let looks: number;
  const needs = (isOwn = false) =>
    createNeeds({
      clock,
      async run() {
        looks += 1;
        return { case: { ops: op ? { o: op } : {} } } as unknown as Ran;
      },
      recall: { compare: async () => ({ said: 'nothing', isOwn }) },
    });
  beforeEach(() => {
    [op, looks] = [{ id: 'o', receivedAt: null, missedAt: null }, 0];
  });

  it('the note about an answer waits for it, two seconds at most', async () => {
    let isOver = false;
    const wait = () => {
      isOver = false;
      void needs()({ type: 'delivery', id: 'o' }).then(() => (isOver = true));
    };
    wait();
    await clock.advance(100);
    expect(isOver).toBe(false);
    op = { ...op, receivedAt: 1 };
    await clock.advance(100);
    expect(isOver).toBe(true);
    op = { ...op, receivedAt: null };
    wait();
    await clock.advance(1_900);
    expect(isOver).toBe(false);
    await clock.advance(200);
    expect(isOver).toBe(true);
  });

  it('the word of a device gets it from the journal that was sent the command, and from no other', async () => {
    expect(await needs(true)({ type: 'confirmation', ids: ['o'] })).toEqual(['o']);
    expect(await needs(false)({ type: 'confirmation', ids: ['o'] })).toEqual([]);
    op = undefined;
    expect(await needs(true)({ type: 'confirmation', ids: ['o'] })).toEqual([]);
  });
});

describe('a request to stop', () => {
  let events: Event[];
  let settle: () => void;
  let word: () => Promise<object | undefined>;
  const effect = { type: 'sendAbort', id: 'a', targetId: 'p', deviceId: 'd' } as Extract<Effect, { type: 'sendAbort' }>;

  async function stops(state = 'never'): Promise<{ isOver: boolean }> {
    const one = { isOver: false };
    const { promise: settling, resolve } = Promise.withResolvers<'done'>();
    settle = () => resolve('done');
    events = [];
    const stop = createStop({
      ...{ clock, logger: quietLogger },
      link: { presence: { of: () => undefined } as never, ask: (() => word()) as never },
      waits: { waitFor: () => settling },
      async run(event) {
        events.push(event);
        return { case: { ops: { a: { id: 'a', state } } } } as unknown as Ran;
      },
    });
    void stop(effect, { id: 'a' } as Op, undefined).then(
      () => (one.isOver = true),
      () => (one.isOver = true),
    );
    await clock.settle();
    return one;
  }

  it('that is refused gives the payment two seconds to answer', async () => {
    word = async () => ({ outcome: 'refused' });
    const one = await stops();
    await clock.advance(1_900);
    expect([events, one.isOver]).toEqual([[], false]);
    await clock.advance(200);
    expect([events, one.isOver]).toEqual([[{ type: 'AbortRefused', id: 'a' }], true]);
  });

  it('that is granted, or gets no word, ends with the payment', async () => {
    for (const said of [{ outcome: 'done' }, undefined]) {
      word = async () => said;
      const one = await stops();
      await clock.advance(30_000);
      expect([events, one.isOver]).toEqual([[], false]);
      settle();
      await clock.settle();
      expect([events, one.isOver]).toEqual([[], true]);
    }
  });

  it('that could not be sent was never made', async () => {
    word = () => Promise.reject(new Error('No channel.'));
    const one = await stops();
    expect([events.map(({ type }) => type), one.isOver]).toEqual([['NotSent'], true]);
  });
});

describe('nothing is assumed', () => {
  const presence = { kind: 'register', isDisabled: false, isOnline: true, journalId: 'j', features: [] } as const;
  const print = (receipt: object) =>
    assume({ type: 'Print', merchantId: 'm', deviceId: 'd', newId: 'o', receipt, contentHashes: [] } as Of<'Print'>, { now: 1, presence });

  it('about a receipt that names another payment, or has no name', () => {
    const Items = [{ Name: 'Bread', Quantity: 1, Price: 10 }];
    expect(print({ Uid: 'u', Items, Payments: [{ PaymentCode: 2 }] })).toBeDefined();
    expect(print({ Uid: 'u', Items, Payments: [{ PaymentCode: 2, documentNr: 'n' }] })).toBeUndefined();
    expect(print({ Items, Payments: [{ PaymentCode: 2 }] })).toBeUndefined();
  });

  it('about an invoice whose limit is near', () => {
    const create = (validTo: number | null) => assumeNew({ type: 'Create', merchantId: 'm', newId: 'o', validTo } as Of<'Create'>, 100_000);
    expect(create(null)).toBeDefined();
    expect(create(170_000)).toBeDefined();
    expect(create(150_000)).toBeUndefined();
  });
});

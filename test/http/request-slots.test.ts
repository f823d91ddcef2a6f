// Owners of request slots [D62]: as a pure function, and over HTTP while one merchant takes as many as it can.
import { afterEach, describe, expect, it } from 'vitest';
import { keyFor } from '../../src/http/authentication.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { createRequestSlots, mayTake } from '../../src/http/request-slots.ts';
import type { Caller } from '../../src/kernel/callers.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createSample, type Sample } from './sample-server.ts';

describe('a slot', () => {
  const asked = { mine: 0, taken: 0, count: 100, sharePercent: 50, othersWait: false };

  it('is granted to every owner within its share while one is free', () => {
    expect(mayTake({ ...asked, mine: 49, taken: 99 })).toBe(true);
    expect(mayTake({ ...asked, mine: 49, taken: 99, othersWait: true })).toBe(true);
    expect(mayTake({ ...asked, mine: 0, taken: 100 })).toBe(false);
  });

  it('beyond the share is lent while a quarter is free and no other owner waits', () => {
    expect(mayTake({ ...asked, mine: 60, taken: 74 })).toBe(true);
    expect(mayTake({ ...asked, mine: 60, taken: 75 })).toBe(false);
    expect(mayTake({ ...asked, mine: 60, taken: 60, othersWait: true })).toBe(false);
  });

  it('is granted even for a share of less than one', () => {
    expect(mayTake({ ...asked, count: 10, sharePercent: 1, taken: 9 })).toBe(true);
  });

  it('is released once, and is then free for others', async () => {
    const clock = createVirtualClock();
    const slots = createRequestSlots({ clock, count: 4, defaultSharePercent: 50 });
    const mine = [slots.take({ name: 'a' }), slots.take({ name: 'a' }), slots.take({ name: 'a' })];
    // Three of four: its share is two, one is lent, and the last one is not.
    expect(slots.take({ name: 'a' })).toBeUndefined();
    const other = slots.take({ name: 'b' });
    expect(other).toBeDefined();
    expect(slots.take({ name: 'b' })).toBeUndefined();
    mine[0]?.leave();
    mine[0]?.leave();
    expect(slots.taken).toBe(3);
    // b was refused, so nothing is lent to a, and b gets its share.
    expect(slots.take({ name: 'a' })).toBeUndefined();
    const second = slots.take({ name: 'b' });
    expect(second).toBeDefined();
    second?.leave();
    other?.leave();
    await clock.advance(10_001);
    expect(slots.take({ name: 'a' })).toBeDefined();
  });

  it('is granted beyond the default share to an owner with a larger one', () => {
    const slots = createRequestSlots({ clock: createVirtualClock(), count: 4, defaultSharePercent: 25 });
    for (let time = 0; time < 3; time += 1) slots.take({ name: 'a' });
    expect(slots.take({ name: 'a' })).toBeUndefined();
    expect(slots.take({ name: 'b', sharePercent: 100 })).toBeDefined();
  });
});

describe('a merchant that floods the gateway', () => {
  let sample: Sample;
  afterEach(async () => {
    sample.release();
    await sample.server.stop(0);
  });

  const keyOf = (merchant: string, number: number) => `${merchant.repeat(8)}-1111-4111-8111-${String(number).padStart(12, '0')}`;

  async function start(limits: Partial<HttpLimits>, shares: Record<string, number> = {}) {
    sample = createSample({
      limits,
      findCaller: async (key): Promise<Caller | undefined> => {
        const merchantId = key.charAt(0);
        return { merchantId, keyId: key, modules: new Set(['POS']), sharePercent: shares[merchantId] };
      },
    });
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    sample.server.routes((app) => {
      app.post('/test/pay', { config: { access: keyFor('POS') }, schema: { hide: true } }, async () => {
        sample.runs['pay'] = (sample.runs['pay'] ?? 0) + 1;
        await held;
        return {};
      });
      app.post('/test/look', { config: { access: keyFor('POS') }, schema: { hide: true } }, async () => ({}));
    });
    const { url } = await sample.server.listen();
    const call = async (path: string, key: string) => {
      const body = JSON.stringify({ APIKey: key, DeviceID: 'a' });
      const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return ((await response.json()) as { errorCode: number; errorMessage: string }).errorMessage || 'ok';
    };
    const flood = async (merchant: string, count: number) => {
      const calls = Array.from({ length: count }, (_, index) => call('/test/pay', keyOf(merchant, index)));
      let ended = 0;
      for (const one of calls) void one.then(() => (ended += 1));
      await expect.poll(() => ended + (sample.runs['pay'] ?? 0), { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
      return { calls, refused: ended };
    };
    const neighbour = (merchant = 'b') => call('/test/look', keyOf(merchant, 1));
    return { url, call, flood, neighbour, release: () => release() };
  }

  it('gets no more than three quarters, with all its keys together, and the others notice nothing', async () => {
    const { flood, neighbour, call, release } = await start({ requestsInFlight: 40 });
    const { calls, refused } = await flood('a', 60);
    expect(refused).toBe(30);
    for (let time = 0; time < 10; time += 1) expect(await neighbour()).toBe('ok');
    expect(await call('/test/pay', keyOf('a', 99))).toMatch(
      /^Too_Many_Requests: .*share.* This request sent no operation to a device; an earlier one may have/,
    );
    release();
    const answers = await Promise.all(calls);
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(30);
    // All slots are released.
    await expect.poll(() => neighbour('a')).toBe('ok');
  });

  it('gets the share that an operator set', async () => {
    const { flood, release } = await start({ requestsInFlight: 40 }, { a: 100 });
    const { refused } = await flood('a', 50);
    expect(refused).toBe(10);
    release();
  });

  it('releases a slot when the client has disconnected and the handler has returned', async () => {
    const { url, neighbour, release } = await start({ requestsInFlight: 2, merchantSharePercent: 100 });
    const leaving = new AbortController();
    const body = JSON.stringify({ APIKey: keyOf('a', 1) });
    const headers = { 'content-type': 'application/json' };
    const gone = [1, 2].map(() => fetch(`${url}/test/pay`, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => 'left'));
    await expect.poll(() => sample.runs['pay']).toBe(2);
    leaving.abort();
    expect(await Promise.all(gone)).toEqual(['left', 'left']);
    expect(await neighbour()).toMatch(/overloaded/);
    release();
    await expect.poll(() => neighbour()).toBe('ok');
  });
});

// What guessing costs: one at a time, bounded waiting, counted per address, per user and in all; and who is not kept out by it.
import { describe, expect, it } from 'vitest';
import { createTries, type Tries, type Verdict } from '../../../src/access/people/tries.ts';
import { GatewayError } from '../../../src/kernel/error-codes.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const wrong = async (): Promise<Verdict<string>> => ({ is: 'wrong', error: new GatewayError('Invalid_API_Key', 'wrong') });
const known = async (): Promise<Verdict<string>> => ({ is: 'right', result: 'in' });

/** `in`, or the name of the error. */
async function outcome(attempt: Promise<string>): Promise<string> {
  try {
    return await attempt;
  } catch (error) {
    return (error as GatewayError).errorName;
  }
}

async function guess(tries: Tries, count: number, who: (n: number) => { address: string; email: string }): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < count; n += 1) {
    const name = await outcome(tries.attempt(who(n), wrong));
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('guessing', () => {
  it('is slowed per user, wherever it comes from', async () => {
    const clock = createVirtualClock();
    const tries = createTries({ clock });
    const counts = await guess(tries, 30, (n) => ({ address: `10.0.0.${n}`, email: 'ana' }));
    expect(counts).toEqual({ Invalid_API_Key: 10, Too_Many_Requests: 20 });
    expect(await outcome(tries.attempt({ address: '10.0.1.1', email: 'ana' }, known))).toBe('Too_Many_Requests');
    expect(await outcome(tries.attempt({ address: '10.0.1.1', email: 'bob' }, known))).toBe('in');
    await clock.advance(60_000);
    expect(await outcome(tries.attempt({ address: '10.0.1.1', email: 'ana' }, known))).toBe('in');
  });

  it('is slowed per address, whichever account is guessed', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const counts = await guess(tries, 50, (n) => ({ address: '10.0.0.1', email: `user${n}` }));
    expect(counts).toEqual({ Invalid_API_Key: 20, Too_Many_Requests: 30 });
    expect(await outcome(tries.attempt({ address: '10.0.0.2', email: 'ana' }, known))).toBe('in');
  });

  it('is slowed in all for networks that have guessed wrong lately, and locks out no user from another one', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    // Six networks, 20 each at most: more than a hundred in all.
    const counts = await guess(tries, 150, (n) => ({ address: `10.0.${n % 6}.1`, email: `user${n}` }));
    expect(counts).toEqual({ Invalid_API_Key: 100, Too_Many_Requests: 50 });
    expect(await outcome(tries.attempt({ address: '10.0.1.1', email: 'ana' }, known))).toBe('Too_Many_Requests');
    expect(await outcome(tries.attempt({ address: '10.1.1.1', email: 'ana' }, known))).toBe('in');
  });

  it('by right sign-ins to accounts of one’s own is slowed per address, whichever other accounts of their e-mails are guessed', async () => {
    const clock = createVirtualClock();
    const tries = createTries({ clock });
    const guessed = async (address: string, count: number) => {
      let compared = 0;
      for (let n = 0; n < count; n += 1) {
        const trier = { address, email: `user${n}`, knownBy: `browser own${n}`, accounts: [`account of user${n}`] };
        await tries.attempt(trier, async (tried) => {
          compared += tried.length;
          return { is: 'right', result: 'in', missed: tried };
        });
      }
      return compared;
    };
    expect(await guessed('10.0.0.1', 150)).toBe(100);
    expect(await guessed('10.0.0.1', 50)).toBe(0);
    expect(await guessed('10.0.0.2', 10)).toBe(10);
    expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, known))).toBe('Too_Many_Requests');
    await clock.advance(5_000);
    expect(await guessed('10.0.0.1', 50)).toBe(5);
  });

  it('is slowed per /64, /56 and /48 of IPv6', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const of = (name: (n: number) => string) => guess(tries, 150, (n) => ({ address: name(n), email: `user${n} ${name(n)}` }));
    expect((await of((n) => `2001:db8:0:${(n % 16).toString(16)}::`))['Invalid_API_Key']).toBe(40);
    expect((await of((n) => `2001:db8:1:${(n % 150).toString(16)}00::`))['Invalid_API_Key']).toBe(60);
    expect(await outcome(tries.attempt({ address: '2001:db8:1:9999::', email: 'ana' }, known))).toBe('Too_Many_Requests');
    expect(await outcome(tries.attempt({ address: '2001:db8:2::', email: 'ana' }, known))).toBe('in');
  });

  it('does not block users with a known browser, a session or a link; nor may they guess without a limit', async () => {
    const clock = createVirtualClock();
    const tries = createTries({ clock });
    const ana = { address: '10.9.9.9', email: 'ana', knownBy: 'browser a' };
    await guess(tries, 150, (n) => ({ address: `10.0.${n}.1`, email: n % 2 === 0 ? 'ana' : `user${n}` }));
    expect(await outcome(tries.attempt({ address: '10.8.8.8', email: 'ana' }, known))).toBe('Too_Many_Requests');
    expect(await outcome(tries.attempt(ana, known))).toBe('in');
    expect(await guess(tries, 30, () => ana)).toEqual({ Invalid_API_Key: 10, Too_Many_Requests: 20 });
    // A stolen session is carried to any number of addresses; its owner signs in anew.
    const within = (n: number) => ({ address: `2001:db8:0:${n}::`, email: 'ana', knownBy: 'session a' });
    expect(await guess(tries, 100, within)).toEqual({ Invalid_API_Key: 10, Too_Many_Requests: 90 });
    expect(await outcome(tries.attempt({ ...within(1), knownBy: 'session b' }, known))).toBe('in');
    expect(await outcome(tries.attempt({ ...within(1), knownBy: 'link a' }, known))).toBe('in');
    await clock.advance(60_000);
    expect(await guess(tries, 100, within)).toEqual({ Invalid_API_Key: 1, Too_Many_Requests: 99 });
  });

  it('costs a hash each time, also when it is right, so the core stays free', async () => {
    const clock = createVirtualClock();
    const tries = createTries({ clock });
    const count = async (trier: Parameters<Tries['attempt']>[0], hashes: number) => {
      let got = 0;
      for (let n = 0; n < 100; n += 1) if ((await outcome(tries.attempt(trier, known, hashes))) === 'in') got += 1;
      return got;
    };
    expect(await count({ address: '10.0.0.1', email: 'ana' }, 1)).toBe(60);
    expect(await count({ address: '10.0.0.2', email: 'bob', knownBy: 'session b' }, 2)).toBe(30);
    expect(await outcome(tries.attempt({ address: '10.0.0.3', email: 'eve' }, known))).toBe('in');
    await clock.advance(10_000);
    expect(await count({ address: '10.0.0.2', email: 'bob', knownBy: 'session b' }, 2)).toBe(5);
  });

  it('is checked one at a time, and parallel attempts get no more through than sequential ones', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    let running = 0;
    let most = 0;
    const slow = async (): Promise<Verdict<string>> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return wrong();
    };
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, n) => outcome(tries.attempt({ address: `10.0.${n % 40}.1`, email: 'ana' }, slow))),
    );
    expect(most).toBe(1);
    expect(all.filter((name) => name === 'Invalid_API_Key')).toHaveLength(10);
  });

  it('of a user with a session does not block sign-ins: few of one user wait, and the queues alternate', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const note =
      (name: string, until: Promise<void> = Promise.resolve()) =>
      async (): Promise<Verdict<string>> => {
        await until;
        order.push(name);
        return name === 'viewer' ? wrong() : known();
      };
    const viewer = (until?: Promise<void>) =>
      outcome(tries.attempt({ address: '10.0.0.1', email: 'v', knownBy: 'session v' }, note('viewer', until), 2));
    const first = viewer(held.promise);
    const eight = Array.from({ length: 8 }, () => viewer());
    const others = Array.from({ length: 5 }, (_, n) =>
      outcome(tries.attempt({ address: '10.0.0.9', email: `x${n}`, knownBy: `session x${n}` }, note('known'))),
    );
    const strangers = Array.from({ length: 10 }, (_, n) =>
      outcome(tries.attempt({ address: '10.0.0.2', email: `s${n}` }, note('stranger'))),
    );
    held.resolve();
    const outcomes = await Promise.all([first, ...eight]);
    expect(outcomes.filter((name) => name === 'Too_Many_Requests')).toHaveLength(7);
    expect(await Promise.all(others)).toEqual(Array<string>(5).fill('in'));
    expect((await Promise.all(strangers)).filter((name) => name === 'Too_Many_Requests')).toHaveLength(2);
    expect(order.slice(0, 5)).toEqual(['viewer', 'stranger', 'viewer', 'stranger', 'known']);
  });

  it('frees its slot when the database fails, and counts nothing', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const broken = () => Promise.reject(new GatewayError('Error_Connection_Database', 'away'));
    for (let n = 0; n < 50; n += 1) {
      expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, broken))).toBe('Error_Connection_Database');
    }
    expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, known))).toBe('in');
  });
});

describe('an attempt', () => {
  const right = async (): Promise<Verdict<string>> => ({ is: 'right', result: 'in' });
  const from = (number: number) => ({ address: `10.1.${number >> 8}.${number & 255}`, email: `user${number}` });
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  /** Holds its turn until it is let go; `over` is how it ended, by now. */
  function hold(tries: Tries, trier: Parameters<Tries['attempt']>[0]) {
    const held = Promise.withResolvers<Verdict<string>>();
    let over: string | undefined;
    void outcome(tries.attempt(trier, () => held.promise)).then((name) => (over = name));
    return { over: () => over, letGo: () => held.resolve({ is: 'right', result: 'in' }) };
  }

  it('too many is answered with the time when the last of its bounds has room again', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const trier = { address: '10.0.0.1', email: 'ana' };
    await guess(tries, 10, () => trier);
    await guess(tries, 10, (n) => ({ address: '10.0.0.1', email: `user${n}` }));
    // A token of the address comes after 10 s, one of the user after 60.
    await expect(tries.attempt(trier, right)).rejects.toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 60 });
    await expect(tries.attempt({ ...trier, email: 'bob' }, right)).rejects.toMatchObject({ retryAfterS: 10 });
  });

  it('too many is refused at once, without waiting for its turn', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    await guess(tries, 10, (n) => ({ address: `10.0.0.${n}`, email: 'ana' }));
    const first = hold(tries, from(1));
    const refused = hold(tries, { address: '10.0.9.9', email: 'ana' });
    await settle();
    expect([first.over(), refused.over()]).toEqual([undefined, 'Too_Many_Requests']);
    first.letGo();
  });

  it('is one of a hundred that wait, and users with a session wait in a queue of their own', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const all = Array.from({ length: 100 }, (_, number) => hold(tries, from(number)));
    const late = hold(tries, from(100));
    const signedIn = hold(tries, { ...from(101), knownBy: 'session s' });
    await settle();
    expect([all.filter((one) => one.over() !== undefined), late.over(), signedIn.over()]).toEqual([[], 'Too_Many_Requests', undefined]);
    all[0]?.letGo();
    await settle();
    expect([all[0]?.over(), hold(tries, from(102)).over()]).toEqual(['in', undefined]);
    await settle();
    expect(hold(tries, from(103)).over()).toBeUndefined();
  });

  it('is one of eight of its address, and frees its slot when it ends', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const address = '10.0.0.1';
    let number = 0;
    const more = async () => {
      const one = hold(tries, { address, email: `user${(number += 1)}` });
      await settle();
      return one;
    };
    const eight = [];
    for (let count = 0; count < 8; count += 1) eight.push(await more());
    expect(eight.map((one) => one.over())).not.toContain('Too_Many_Requests');
    expect((await more()).over()).toBe('Too_Many_Requests');
    eight[0]?.letGo();
    await settle();
    expect((await more()).over()).toBeUndefined();
    expect((await more()).over()).toBe('Too_Many_Requests');
  });

  it('is one of sixteen of its /48 of IPv6', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const all = Array.from({ length: 20 }, (_, number) => hold(tries, { address: `2001:db8:1:${number}::`, email: `user${number}` }));
    const elsewhere = hold(tries, { address: '2001:db8:2::', email: 'ana' });
    await settle();
    expect(all.filter((one) => one.over() === undefined)).toHaveLength(16);
    expect(elsewhere.over()).toBeUndefined();
  });

  it('is one of ten of the users of its merchant who are known: they leave room for those of others, and for operators', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const known = (number: number, merchantId: string | null) => hold(tries, { ...from(number), knownBy: `session ${number}`, merchantId });
    const all = Array.from({ length: 50 }, (_, number) => known(number, 'm1'));
    const others = [known(50, 'm2'), known(51, null), known(52, null)];
    await settle();
    expect(all.map((one) => one.over())).toEqual([...Array(10).fill(undefined), ...Array(40).fill('Too_Many_Requests')]);
    expect(others.map((one) => one.over())).toEqual([undefined, undefined, undefined]);
    all[0]?.letGo();
    await settle();
    expect([known(53, 'm1').over(), known(54, null).over()]).toEqual([undefined, undefined]);
    await settle();
    const late = known(55, 'm1');
    await settle();
    expect(late.over()).toBe('Too_Many_Requests');
  });
});

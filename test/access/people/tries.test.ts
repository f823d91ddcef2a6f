// What guessing costs: one at a time, bounded waiting, counted per address, per user and in all; and who is not kept out by it.
import { describe, expect, it } from 'vitest';
import { createTries, type Tries, type Verdict } from '../../../src/access/people/tries.ts';
import { GatewayError } from '../../../src/kernel/error-codes.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const wrong = async (): Promise<Verdict<string>> => ({ is: 'wrong', error: new GatewayError('Invalid_API_Key', 'wrong') });
const known = async (): Promise<Verdict<string>> => ({ is: 'known', result: 'in' });

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

  it('is slowed per address, whoever is guessed', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const counts = await guess(tries, 50, (n) => ({ address: '10.0.0.1', email: `user${n}` }));
    expect(counts).toEqual({ Invalid_API_Key: 20, Too_Many_Requests: 30 });
    expect(await outcome(tries.attempt({ address: '10.0.0.2', email: 'ana' }, known))).toBe('in');
  });

  it('is slowed in all, from many addresses at many users', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const counts = await guess(tries, 150, (n) => ({ address: `10.0.${n}.1`, email: `user${n}` }));
    expect(counts).toEqual({ Invalid_API_Key: 100, Too_Many_Requests: 50 });
  });

  it('does not keep out who signed in from there before, or has a session; nor may they guess without end', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const ana = { address: '10.9.9.9', email: 'ana' };
    expect(await outcome(tries.attempt(ana, known))).toBe('in');
    await guess(tries, 150, (n) => ({ address: `10.0.${n}.1`, email: n % 2 === 0 ? 'ana' : `user${n}` }));
    expect(await outcome(tries.attempt({ address: '10.8.8.8', email: 'ana' }, known))).toBe('Too_Many_Requests');
    expect(await outcome(tries.attempt(ana, known))).toBe('in');
    expect(await outcome(tries.attempt({ address: '10.7.7.7', email: 'bob', isSignedIn: true }, known))).toBe('in');
    expect(await guess(tries, 30, () => ana)).toEqual({ Invalid_API_Key: 10, Too_Many_Requests: 20 });
  });

  it('is slowed within the sessions of a user, whatever addresses they are carried to, and its owner signs in anew', async () => {
    const clock = createVirtualClock();
    const tries = createTries({ clock });
    const ana = { address: '10.9.9.9', email: 'ana' };
    await tries.attempt(ana, known);
    const within = (n: number) => ({ address: `2001:db8:0:${n}::`, email: 'ana', isSignedIn: true, userId: 'a' });
    expect(await guess(tries, 100, within)).toEqual({ Invalid_API_Key: 10, Too_Many_Requests: 90 });
    expect(await outcome(tries.attempt({ ...within(1), email: 'bob', userId: 'b' }, known))).toBe('in');
    expect(await outcome(tries.attempt(ana, known))).toBe('in');
    // Nor is somebody kept out who sets a password by a link.
    expect(await outcome(tries.attempt({ address: '10.8.8.8', email: 'ana', isSignedIn: true }, known))).toBe('in');
    await clock.advance(60_000);
    expect(await guess(tries, 100, within)).toEqual({ Invalid_API_Key: 1, Too_Many_Requests: 99 });
  });

  it('costs a right one nothing, however many there are', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    for (let n = 0; n < 200; n += 1) expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, known))).toBe('in');
  });

  it('runs one at a time, and no more get through at once than one after the other', async () => {
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

  it('lets few of one address wait, and whoever is known goes ahead', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const order: string[] = [];
    let open: () => void = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const note =
      (name: string, until = Promise.resolve()) =>
      async (): Promise<Verdict<string>> => {
        await until;
        order.push(name);
        return { is: 'right', result: 'in' };
      };
    const first = tries.attempt({ address: '10.0.0.1', email: 'a' }, note('first', opened));
    const waiting = Array.from({ length: 10 }, (_, n) => outcome(tries.attempt({ address: '10.0.0.2', email: `b${n}` }, note('behind'))));
    const ahead = tries.attempt({ address: '10.0.0.3', email: 'c', isSignedIn: true }, note('ahead'));
    open();
    await Promise.all([first, ahead]);
    const outcomes = await Promise.all(waiting);
    expect(outcomes.filter((name) => name === 'Too_Many_Requests')).toHaveLength(2);
    expect(order.slice(0, 2)).toEqual(['first', 'ahead']);
  });

  it('frees its place when the database fails, and counts nothing', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const broken = () => Promise.reject(new GatewayError('Error_Connection_Database', 'away'));
    for (let n = 0; n < 50; n += 1) {
      expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, broken))).toBe('Error_Connection_Database');
    }
    expect(await outcome(tries.attempt({ address: '10.0.0.1', email: 'ana' }, known))).toBe('in');
  });
});

describe('a try', () => {
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

  it('too many is told when the last of its bounds has room again', async () => {
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

  it('is one of a hundred that wait, and whoever has a session waits in a line of their own', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const all = Array.from({ length: 100 }, (_, number) => hold(tries, from(number)));
    const late = hold(tries, from(100));
    const signedIn = hold(tries, { ...from(101), isSignedIn: true });
    await settle();
    expect([all.filter((one) => one.over() !== undefined), late.over(), signedIn.over()]).toEqual([[], 'Too_Many_Requests', undefined]);
    all[0]?.letGo();
    await settle();
    expect([all[0]?.over(), hold(tries, from(102)).over()]).toEqual(['in', undefined]);
    await settle();
    expect(hold(tries, from(103)).over()).toBeUndefined();
  });

  it('is one of eight of its address, and leaves its place when it ends', async () => {
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

  it('that was right is not remembered as one who comes from there, unless it is said to be known', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    const [ana, bob] = [from(1), from(2)];
    await tries.attempt(ana, right);
    await tries.attempt(bob, known);
    await guess(tries, 120, (n) => ({ address: `10.9.${n}.1`, email: `else${n}` }));
    expect([await outcome(tries.attempt(ana, right)), await outcome(tries.attempt(bob, right))]).toEqual(['Too_Many_Requests', 'in']);
  });

  it('of ten thousand who are known forgets the one who was seen last the longest ago', async () => {
    const tries = createTries({ clock: createVirtualClock() });
    for (let number = 0; number < 10_000; number += 1) await tries.attempt(from(number), known);
    await tries.attempt(from(0), known);
    await tries.attempt(from(10_000), known);
    await guess(tries, 120, (n) => ({ address: `10.9.${n}.1`, email: `else${n}` }));
    const outcomes = [];
    for (const number of [0, 1, 2, 10_000]) outcomes.push(await outcome(tries.attempt(from(number), right)));
    expect(outcomes).toEqual(['in', 'Too_Many_Requests', 'in', 'in']);
  });
});

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

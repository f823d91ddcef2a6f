// Secrets that can be guessed: wrong tries are counted, per address and in all, and right ones never.
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { createGuessLimit } from '../../src/kernel/guess-limit.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

function setUp() {
  const clock = createVirtualClock();
  const limit = createGuessLimit({
    clock,
    perAddress: { burst: 3, perS: 1 },
    inAll: { burst: 10, perS: 1 },
    maxWaiting: 20,
    sentence: 'Slowly.',
  });
  const outcome = (work: Promise<unknown>) =>
    work.then(
      (value) => value ?? 'wrong',
      (error: Error) => error.message,
    );
  const guess = (address: string) => outcome(limit.attempt(address, async () => undefined));
  const refused = (address: string) => outcome(limit.attempt(address, () => Promise.reject(new GatewayError('Record_not_exist', 'No.'))));
  const right = (address: string) => outcome(limit.attempt(address, async () => 'in'));
  return { clock, limit, outcome, guess, refused, right };
}

describe('the limit on guesses', () => {
  it('counts empty and refused attempts, and refuses that address until time has passed', async () => {
    const { clock, guess, refused, right } = setUp();
    expect([await guess('a'), await refused('a'), await guess('a')]).toEqual(['wrong', 'No.', 'wrong']);
    expect([await guess('a'), await right('a'), await right('b')]).toEqual(['Slowly.', 'Slowly.', 'in']);
    await clock.advance(1_000);
    expect([await right('a'), await right('a')]).toEqual(['in', 'in']);
  });

  it('holds when all come at once, and right ones need no allowance', async () => {
    const { guess, right } = setUp();
    expect((await Promise.all(Array.from({ length: 15 }, () => guess('a')))).filter((word) => word === 'wrong')).toHaveLength(3);
    expect(new Set(await Promise.all(Array.from({ length: 15 }, () => right('b'))))).toEqual(new Set(['in']));
  });

  it('limits all networks with recent wrong guesses together, and locks out no other network', async () => {
    const { guess, right } = setUp();
    const first = await Promise.all(Array.from({ length: 30 }, (_, place) => guess(`address ${place}`)));
    expect(new Set(first)).toEqual(new Set(['wrong']));
    const second = await Promise.all(Array.from({ length: 30 }, (_, place) => guess(`address ${place}`)));
    expect(new Set(second)).toEqual(new Set(['Slowly.']));
    expect(await right('another address')).toBe('in');
  });

  it('counts IPv6 by /64, /56 and /48, each wider one with twice the allowance', async () => {
    const { guess, right } = setUp();
    const wrongs = async (networks: string[]) => {
      let count = 0;
      for (const network of networks) if ((await guess(network)) === 'wrong') count += 1;
      return count;
    };
    const many = (prefix: string) => Array.from({ length: 40 }, (_, place) => `2001:db8:${prefix}${(place % 16).toString(16)}::`);
    expect(await wrongs(Array<string>(20).fill('2001:db8:0:1::'))).toBe(3);
    // The /56 around it has three more.
    expect(await wrongs(many('0:'))).toBe(3);
    expect(await right('2001:db8:0:99::')).toBe('Slowly.');
    // The /48 around that, six more; then all of it waits, and nothing else does.
    expect(await wrongs(many('0:a0').concat(many('0:b0')))).toBeLessThanOrEqual(6);
    expect([await right('2001:db8:0:ffff::'), await right('2001:db8:1:1::'), await right('192.0.2.1')]).toEqual(['Slowly.', 'in', 'in']);
  });

  it('does not count a failure that is unrelated to the guess', async () => {
    const { limit, outcome, right } = setUp();
    const away = () => Promise.reject(new GatewayError('Error_Connection_Database', 'Away.'));
    for (let time = 0; time < 20; time += 1) expect(await outcome(limit.attempt('a', away))).toBe('Away.');
    for (let time = 0; time < 20; time += 1)
      expect(await outcome(limit.attempt('b', () => Promise.reject(new Error('Crash.'))))).toBe('Crash.');
    expect([await right('a'), await right('b'), await right('c')]).toEqual(['in', 'in', 'in']);
  });

  it('lets only a bounded number wait behind one that hangs', async () => {
    const { limit, outcome, right } = setUp();
    void outcome(limit.attempt('a', () => new Promise(() => {})));
    const waiting = Array.from({ length: 25 }, () => right('a'));
    expect(await Promise.race(waiting)).toBe('Slowly.');
    expect(await right('b')).toBe('in');
  });
});

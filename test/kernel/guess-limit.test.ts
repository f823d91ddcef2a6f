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
  it('counts what came back empty or refused, and lets nobody of that address try more until time has passed', async () => {
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

  it('holds in all, from however many addresses', async () => {
    const { guess } = setUp();
    const all = await Promise.all(Array.from({ length: 30 }, (_, place) => guess(`address ${place}`)));
    expect(all.filter((word) => word === 'wrong')).toHaveLength(10);
  });

  it('does not count a failure that says nothing about the guess', async () => {
    const { limit, outcome, right } = setUp();
    const away = () => Promise.reject(new GatewayError('Error_Connection_Database', 'Away.'));
    for (let time = 0; time < 20; time += 1) expect(await outcome(limit.attempt('a', away))).toBe('Away.');
    for (let time = 0; time < 20; time += 1)
      expect(await outcome(limit.attempt('b', () => Promise.reject(new Error('Crash.'))))).toBe('Crash.');
    expect([await right('a'), await right('b'), await right('c')]).toEqual(['in', 'in', 'in']);
  });

  it('keeps only so many waiting behind one that hangs', async () => {
    const { limit, outcome, right } = setUp();
    void outcome(limit.attempt('a', () => new Promise(() => {})));
    const waiting = Array.from({ length: 25 }, () => right('a'));
    expect(await Promise.race(waiting)).toBe('Slowly.');
    expect(await right('b')).toBe('in');
  });
});

// For secrets that can be guessed by many tries, such as pairing codes. Wrong guesses are counted, per network and in all; right ones never.
// Always holds: of one network no more wrong guesses get through than its allowance, however many come at once: each waits for the outcome
// of the one before. When all networks together have used up theirs, only those that have guessed wrong lately are refused: wrong guesses
// from many networks do not lock out callers from another one.
// Secrets of 122 bits and more need none of this: they cannot be guessed, so no caller is refused because of another caller's wrong ones.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';
import { type Allowance, createNetworkLimit } from './network-limit.ts';
import { createRateLimiter } from './rate-limiter.ts';

export interface GuessLimitOptions {
  clock: Clock;
  perAddress: Allowance;
  inAll: Allowance;
  /** Tries of one address that may wait for those before them. */
  maxWaiting: number;
  sentence: string;
}

export interface GuessLimit {
  /** Runs `tryIt`, which throws or returns undefined for a wrong guess; throws Too_Many_Requests when the address guessed wrong too often. */
  attempt<Result>(address: string, tryIt: () => Promise<Result>): Promise<Result>;
}

export function createGuessLimit(options: GuessLimitOptions): GuessLimit {
  const { clock, sentence, maxWaiting } = options;
  const ofNetwork = createNetworkLimit(clock, options.perAddress);
  const ofAll = createRateLimiter({ clock, ...options.inAll });
  /** One try of an address at a time: whether the next may go depends on how this one ends. */
  const lines = new Map<string, { last: Promise<unknown>; length: number }>();

  const refusal = (retryAfterS: number) => new GatewayError('Too_Many_Requests', sentence, { retryAfterS });

  async function judged<Result>(address: string, tryIt: () => Promise<Result>): Promise<Result> {
    const retryAfterS = ofNetwork.peek(address) ?? (ofNetwork.isFresh(address) ? undefined : ofAll.peek('all'));
    if (retryAfterS !== undefined) throw refusal(retryAfterS);
    let isWrong = false;
    try {
      const result = await tryIt();
      isWrong = result === undefined;
      return result;
    } catch (error) {
      // A database that is away says nothing about the guess.
      isWrong = error instanceof GatewayError && error.errorName !== 'Error_Connection_Database' && error.errorName !== 'Internal_error';
      throw error;
    } finally {
      if (isWrong) {
        ofNetwork.take(address);
        ofAll.take('all');
      }
    }
  }

  return {
    async attempt(address, tryIt) {
      const line = lines.get(address) ?? { last: Promise.resolve(), length: 0 };
      if (line.length >= maxWaiting) throw refusal(1);
      lines.set(address, line);
      line.length += 1;
      const turn = line.last.then(() => judged(address, tryIt));
      line.last = turn.catch(() => {});
      try {
        return await turn;
      } finally {
        line.length -= 1;
        if (line.length === 0) lines.delete(address);
      }
    },
  };
}

// A rate limit on wrong guesses of short secrets, such as pairing codes: per network and overall. Right guesses are never counted.
// Invariants: a network cannot exceed its allowance with parallel guesses, because each waits for the result of the one before. If the
// overall allowance is used up, only networks with recent wrong guesses are refused: wrong guesses from many networks do not lock out
// another one. Secrets of 122 bits and more need no such limit: they cannot be guessed.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';
import { type Allowance, createNetworkLimit } from './network-limit.ts';
import { createRateLimiter } from './rate-limiter.ts';

export interface GuessLimitOptions {
  clock: Clock;
  perAddress: Allowance;
  inAll: Allowance;
  /** Tries of one address that may wait. */
  maxWaiting: number;
  sentence: string;
}

export function createGuessLimit(options: GuessLimitOptions) {
  const { clock, sentence, maxWaiting } = options;
  const ofNetwork = createNetworkLimit(clock, options.perAddress);
  const ofAll = createRateLimiter({ clock, ...options.inAll });
  /** One try per address at a time: the result of this one decides whether the next may run. */
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
      // If the database is down, the guess was not checked.
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
    /** Runs `tryIt`, which throws or returns undefined for a wrong guess; throws Too_Many_Requests after too many wrong guesses. */
    async attempt<Result>(address: string, tryIt: () => Promise<Result>): Promise<Result> {
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

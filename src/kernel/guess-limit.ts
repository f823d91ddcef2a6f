// For secrets that can be guessed: pairing codes, passwords, one-time codes. Wrong ones are counted, per address and in all; right ones never.
// Always holds: however many come at once, no more wrong ones get through than the allowances. Of one address each waits for the outcome
// of the one before, so that right ones need no allowance; of all together each takes its part in advance and gets it back if it was right.
// Secrets of 122 bits and more need none of this: nobody finds one by trying, so nobody is refused over somebody else's wrong ones.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';
import { createRateLimiter } from './rate-limiter.ts';

export interface Allowance {
  burst: number;
  perS: number;
}

export interface GuessLimitOptions {
  clock: Clock;
  perAddress: Allowance;
  inAll: Allowance;
  /** Tries of one address that may wait for those before them. */
  maxWaiting: number;
  sentence: string;
}

export interface GuessLimit {
  /** Runs `tryIt`, which throws or returns undefined for a wrong guess; throws Too_Many_Requests when the address, or all together, guessed wrong too often. */
  attempt<Result>(address: string, tryIt: () => Promise<Result>): Promise<Result>;
}

export function createGuessLimit(options: GuessLimitOptions): GuessLimit {
  const { clock, sentence, maxWaiting } = options;
  const ofAddress = createRateLimiter({ clock, ...options.perAddress });
  const ofAll = createRateLimiter({ clock, ...options.inAll });
  /** One try of an address at a time: whether the next may go depends on how this one ends. */
  const lines = new Map<string, { last: Promise<unknown>; length: number }>();

  const refusal = (retryAfterS: number) => new GatewayError('Too_Many_Requests', sentence, { retryAfterS });

  async function judged<Result>(address: string, tryIt: () => Promise<Result>): Promise<Result> {
    const retryAfterS = ofAddress.peek(address) ?? ofAll.take('all');
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
      if (isWrong) ofAddress.take(address);
      else ofAll.giveBack('all');
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

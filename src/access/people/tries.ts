// What guessing passwords and codes may cost. Always holds: one try runs at a time, so all guessing together takes one core at most;
// so many may wait, of one address a few; and wrong ones are counted per address, per user and in all. A right one is never counted.
// Whoever signed in lately from where they are now (or has a session) waits only behind their like and is counted by themselves alone:
// others' wrong tries do not keep them out. What is tried within the sessions of a user is counted together as well, wherever it comes from:
// a stolen cookie can be carried to any number of addresses. Its owner still signs in anew. The counts are this process's own.
import type { Clock } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { createGate } from '../../kernel/gate.ts';
import { createRateLimiter, type RateLimiter } from '../../kernel/rate-limiter.ts';

const perAddress = { burst: 20, perS: 1 / 10 };
const perUser = { burst: 10, perS: 1 / 60 };
const perKnown = { burst: 10, perS: 1 / 60 };
const perSessionsOfUser = { burst: 10, perS: 1 / 60 };
const inAll = { burst: 100, perS: 1 };
const waitingPerAddress = 8;
const waitingInAll = 100;
const maxKnown = 10_000;

export interface Trier {
  address: string;
  /** The e-mail as typed, in one spelling. */
  email: string;
  /** They have a session already. */
  isSignedIn?: boolean;
  /** Of the session in which they prove themselves again. */
  userId?: string;
}

/** `right`: not counted. `known`: not counted, and remembered as one who comes from there. */
export type Verdict<Result> = { is: 'right' | 'known'; result: Result } | { is: 'wrong'; error: GatewayError };

export interface Tries {
  /** Runs the try when its turn comes, or throws Too_Many_Requests without running it. */
  attempt<Result>(trier: Trier, tryIt: () => Promise<Verdict<Result>>): Promise<Result>;
}

/** `onWrong`: of which address a try was wrong. */
export function createTries({ clock, onWrong }: { clock: Clock; onWrong?: ((address: string) => void) | undefined }): Tries {
  const gate = createGate(1);
  const known = new Set<string>();
  const waiting = { all: 0, ahead: 0, byAddress: new Map<string, number>() };
  const limits = {
    address: createRateLimiter({ clock, ...perAddress }),
    user: createRateLimiter({ clock, ...perUser }),
    known: createRateLimiter({ clock, ...perKnown }),
    sessions: createRateLimiter({ clock, ...perSessionsOfUser }),
    all: createRateLimiter({ clock, ...inAll }),
  };
  const tooMany = (retryAfterS: number) =>
    new GatewayError('Too_Many_Requests', 'Too many wrong passwords or codes were tried; wait a little.', { retryAfterS });

  function countersOf({ address, email, userId }: Trier, isKnown: boolean): [RateLimiter, string][] {
    if (!isKnown) {
      return [
        [limits.address, address],
        [limits.user, email],
        [limits.all, ''],
      ];
    }
    const here: [RateLimiter, string] = [limits.known, `${email} ${address}`];
    return userId === undefined ? [here] : [here, [limits.sessions, userId]];
  }

  function requireRoom(counters: [RateLimiter, string][]): void {
    const waits = counters.flatMap(([limiter, name]) => limiter.peek(name) ?? []);
    if (waits.length > 0) throw tooMany(Math.max(...waits));
  }

  function remember(name: string): void {
    known.delete(name);
    known.add(name);
    const [oldest] = known;
    if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
  }

  return {
    async attempt(trier, tryIt) {
      const { address, email, isSignedIn = false } = trier;
      const name = `${email} ${address}`;
      const isKnown = isSignedIn || known.has(name);
      const counters = countersOf(trier, isKnown);
      requireRoom(counters);
      const ofAddress = waiting.byAddress.get(address) ?? 0;
      const lane = isKnown ? 'ahead' : 'all';
      if (ofAddress >= waitingPerAddress || waiting[lane] >= waitingInAll) throw tooMany(1);
      waiting.byAddress.set(address, ofAddress + 1);
      waiting[lane] += 1;
      try {
        return await gate.run(async () => {
          // Those before may have used up what was left.
          requireRoom(counters);
          const verdict = await tryIt();
          if (verdict.is === 'wrong') {
            for (const [limiter, counted] of counters) limiter.take(counted);
            onWrong?.(address);
            throw verdict.error;
          }
          if (verdict.is === 'known') remember(name);
          return verdict.result;
        }, isKnown);
      } finally {
        waiting[lane] -= 1;
        const left = (waiting.byAddress.get(address) ?? 1) - 1;
        if (left === 0) waiting.byAddress.delete(address);
        else waiting.byAddress.set(address, left);
      }
    },
  };
}

// Bounds the cost of guessing passwords and codes. Invariants: one attempt runs at a time, so guessing takes at most one core; the queue is
// bounded, in all and per network or user; wrong attempts are rate-limited per network, per e-mail and in all; and every hash is counted,
// also of correct attempts, so that a correct password cannot keep the core busy either.
// A known user (with a signed browser cookie, a session or a one-time link) has a separate queue and separate counts: wrong attempts of
// others do not lock them out [D167]. The two queues alternate, so that neither starves the other.
// When all networks together have failed too often, only networks with recent failures are refused. The counts are per process.
import type { Clock } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { createGate } from '../../kernel/gate.ts';
import { createNetworkLimit } from '../../kernel/network-limit.ts';
import { createRateLimiter } from '../../kernel/rate-limiter.ts';

const perNetwork = { burst: 20, perS: 1 / 10 };
const perEmail = { burst: 10, perS: 1 / 60 };
const perKnown = { burst: 10, perS: 1 / 60 };
const inAll = { burst: 100, perS: 1 };
const hashesEach = { burst: 60, perS: 1 };
const waitingPerNetwork = 8;
const waitingPerKnown = 2;
const waitingInLane = 100;

export interface Trier {
  /** The network of the attempt. */
  address: string;
  /** The e-mail as entered, normalised. */
  email: string;
  /** How the user is already known: `browser <user>`, `session <user>`, `link <subject>`. */
  knownBy?: string | undefined;
}

export type Verdict<Result> = { is: 'right'; result: Result } | { is: 'wrong'; error: GatewayError };

export type Tries = ReturnType<typeof createTries>;

export type WrongTry = Pick<Trier, 'address' | 'email'>;

export function createTries({ clock, onWrong }: { clock: Clock; onWrong?: ((wrong: WrongTry) => void) | undefined }) {
  const gate = createGate(1, { alternates: true });
  const waiting = { known: 0, unknown: 0, byName: new Map<string, number>() };
  const networks = createNetworkLimit(clock, perNetwork);
  const limits = {
    email: createRateLimiter({ clock, ...perEmail }),
    known: createRateLimiter({ clock, ...perKnown }),
    all: createRateLimiter({ clock, ...inAll }),
    hashes: createRateLimiter({ clock, ...hashesEach }),
  };
  const tooMany = (retryAfterS: number) =>
    new GatewayError('Too_Many_Requests', 'Too many passwords or codes were tried; wait a little.', { retryAfterS });

  function requireRoom({ address, email, knownBy }: Trier): void {
    const waits =
      knownBy === undefined
        ? [networks.peek(address), limits.email.peek(email), networks.isFresh(address) ? undefined : limits.all.peek('')]
        : [limits.known.peek(knownBy)];
    const longest = Math.max(...waits.map((wait) => wait ?? 0));
    if (longest > 0) throw tooMany(longest);
  }

  function countWrong({ address, email, knownBy }: Trier): void {
    if (knownBy === undefined) {
      networks.take(address);
      limits.email.take(email);
      limits.all.take('');
    } else limits.known.take(knownBy);
    onWrong?.({ address, email });
  }

  function countHashes(names: string[], hashes: number): void {
    const waits = names.flatMap((name) => Array.from({ length: hashes }, () => limits.hashes.take(name) ?? []).flat());
    if (waits.length > 0) throw tooMany(Math.max(...waits));
  }

  /** Queues the work, or refuses it. */
  async function inLane<Result>({ address, knownBy }: Trier, work: () => Promise<Result>): Promise<Result> {
    const lane = knownBy === undefined ? 'unknown' : 'known';
    const name = knownBy ?? address;
    const ofName = waiting.byName.get(name) ?? 0;
    const most = knownBy === undefined ? waitingPerNetwork : waitingPerKnown;
    if (ofName >= most || waiting[lane] >= waitingInLane) throw tooMany(1);
    waiting.byName.set(name, ofName + 1);
    waiting[lane] += 1;
    try {
      return await gate.run(work, knownBy !== undefined);
    } finally {
      waiting[lane] -= 1;
      const left = (waiting.byName.get(name) ?? 1) - 1;
      if (left === 0) waiting.byName.delete(name);
      else waiting.byName.set(name, left);
    }
  }

  return {
    /** Queues and runs the attempt, or throws Too_Many_Requests without running it. `hashes`: the most that it computes. */
    async attempt<Result>(trier: Trier, tryIt: () => Promise<Verdict<Result>>, hashes = 1): Promise<Result> {
      requireRoom(trier);
      return inLane(trier, async () => {
        // Earlier attempts in the queue may have reached the limit.
        requireRoom(trier);
        countHashes(trier.knownBy === undefined ? [trier.address, trier.email] : [trier.knownBy], hashes);
        const verdict = await tryIt();
        if (verdict.is === 'right') return verdict.result;
        countWrong(trier);
        throw verdict.error;
      });
    },
  };
}

// Bounds the cost of guessing passwords and codes. Invariants: one attempt runs at a time, so guessing takes at most one core; the queue is
// bounded, in all and per network, user or merchant; wrong attempts are rate-limited per network, per account and in all; and every hash is counted,
// also of correct attempts, so that a correct password cannot keep the core busy either.
// An attempt counts against every account of its e-mail that it did not match, also if it matched another one: a merchant who invites an address
// into their own merchant could otherwise try guesses on the other accounts of that address with right passwords of their own [D281].
// A known user (with a signed browser cookie, a session or a one-time link) has a separate queue and separate counts: wrong attempts of
// others do not lock them out [D167]. The two queues alternate, so that neither starves the other.
// When all networks together have failed too often, only networks with recent failures are refused. The counts are per process.
import type { Clock } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { createGate } from '../../kernel/gate.ts';
import { createNetworkLimit, widestNetwork } from '../../kernel/network-limit.ts';
import { createRateLimiter } from '../../kernel/rate-limiter.ts';

const perNetwork = { burst: 20, perS: 1 / 10 };
/** Of right attempts that missed other accounts of their e-mail, which no other bound of the network counts. */
const missesPerNetwork = { burst: 100, perS: 1 };
const perAccount = { burst: 10, perS: 1 / 60 };
const perKnown = { burst: 10, perS: 1 / 60 };
const inAll = { burst: 100, perS: 1 };
const hashesEach = { burst: 60, perS: 1 };
const waitingPerNetwork = 8;
const waitingPerWidestNetwork = 16;
const waitingPerKnown = 2;
/** Of its known users. The users of a merchant share a queue with those of all others. */
const waitingPerMerchant = 10;
const waitingInLane = 100;

export interface Trier {
  /** The network of the attempt. */
  address: string;
  /** The e-mail as entered, normalised. */
  email: string;
  /** How the user is already known: `browser <user>`, `session <user>`, `link <subject>`. */
  knownBy?: string | undefined;
  /** Of the user who is known; of an operator null. */
  merchantId?: string | null | undefined;
  /** Of a sign-in: the accounts of the e-mail that have a password, without the one of `knownBy`. */
  accounts?: readonly string[] | undefined;
}

/** `missed`: the accounts of the trier that were tried and not matched. Absent: of a right attempt none, of a wrong one all. */
export type Verdict<Result> = ({ is: 'right'; result: Result } | { is: 'wrong'; error: GatewayError }) & {
  missed?: readonly string[];
  /** The account of `knownBy` was not matched. Absent: as `is`. */
  missedKnown?: boolean;
};

export type Tries = ReturnType<typeof createTries>;

export interface WrongTry extends Pick<Trier, 'address' | 'email'> {
  /** The attempt opened another account of the e-mail. */
  isSignedIn: boolean;
}

/** For whom an attempt waits, and how many may. */
function sharesOf({ address, knownBy, merchantId }: Trier): [string, number][] {
  if (knownBy === undefined) {
    return [
      [address, waitingPerNetwork],
      [`widest ${widestNetwork(address)}`, waitingPerWidestNetwork],
    ];
  }
  const ofMerchant: [string, number][] = merchantId == null ? [] : [[`merchant ${merchantId}`, waitingPerMerchant]];
  return [[knownBy, waitingPerKnown], ...ofMerchant];
}

export function createTries({ clock, onWrong }: { clock: Clock; onWrong?: ((wrong: WrongTry) => void) | undefined }) {
  const gate = createGate(1, { alternates: true });
  const waiting = { known: 0, unknown: 0, byName: new Map<string, number>() };
  const networks = createNetworkLimit(clock, perNetwork);
  const misses = createNetworkLimit(clock, missesPerNetwork);
  const limits = {
    account: createRateLimiter({ clock, ...perAccount }),
    known: createRateLimiter({ clock, ...perKnown }),
    all: createRateLimiter({ clock, ...inAll }),
    hashes: createRateLimiter({ clock, ...hashesEach }),
  };
  const tooMany = (retryAfterS: number) =>
    new GatewayError('Too_Many_Requests', 'Too many passwords or codes were tried; wait a little.', { retryAfterS });

  /** Seconds until this account, or the e-mail if it has none, may be tried by a caller who is not known. */
  function waitOf({ address }: Trier, account: string): number {
    const waits = [
      networks.peek(address),
      misses.peek(address),
      limits.account.peek(account),
      networks.isFresh(address) ? undefined : limits.all.peek(''),
    ];
    return Math.max(...waits.map((wait) => wait ?? 0));
  }

  function requireRoom(trier: Trier): void {
    const { email, knownBy, accounts = [] } = trier;
    const names = accounts.length === 0 ? [email] : accounts;
    const wait = knownBy === undefined ? Math.min(...names.map((name) => waitOf(trier, name))) : (limits.known.peek(knownBy) ?? 0);
    if (wait > 0) throw tooMany(wait);
  }

  function count<Result>(trier: Trier, verdict: Verdict<Result>, tried: readonly string[]): void {
    const { address, email, knownBy, accounts } = trier;
    const isWrong = verdict.is === 'wrong';
    const missed = verdict.missed ?? (isWrong ? tried : []);
    for (const account of missed) limits.account.take(account);
    // As if there were one more account: otherwise, after the own one was removed, the refusals would show whether there is another.
    if (accounts === undefined ? isWrong && knownBy === undefined : waitOf(trier, email) === 0) limits.account.take(email);
    if (knownBy !== undefined && (verdict.missedKnown ?? isWrong)) limits.known.take(knownBy);
    if (!isWrong && missed.length > 0) misses.take(address);
    if (isWrong && knownBy === undefined) {
      networks.take(address);
      limits.all.take('');
    }
    if (isWrong || missed.length > 0 || verdict.missedKnown === true) onWrong?.({ address, email, isSignedIn: !isWrong });
  }

  function countHashes(names: string[], hashes: number): void {
    const waits = names.flatMap((name) => Array.from({ length: hashes }, () => limits.hashes.take(name) ?? []).flat());
    if (waits.length > 0) throw tooMany(Math.max(...waits));
  }

  /** Queues the work, or refuses it. */
  async function inLane<Result>(trier: Trier, work: () => Promise<Result>): Promise<Result> {
    const lane = trier.knownBy === undefined ? 'unknown' : 'known';
    const shares = sharesOf(trier);
    const isFull = shares.some(([name, most]) => (waiting.byName.get(name) ?? 0) >= most);
    if (isFull || waiting[lane] >= waitingInLane) throw tooMany(1);
    for (const [name] of shares) waiting.byName.set(name, (waiting.byName.get(name) ?? 0) + 1);
    waiting[lane] += 1;
    try {
      return await gate.run(work, lane === 'known');
    } finally {
      waiting[lane] -= 1;
      for (const [name] of shares) {
        const left = (waiting.byName.get(name) ?? 1) - 1;
        if (left === 0) waiting.byName.delete(name);
        else waiting.byName.set(name, left);
      }
    }
  }

  return {
    /**
     * Queues and runs the attempt, or throws Too_Many_Requests without running it. `tried`: the accounts of the trier that may be tried now.
     * `hashes`: the most that it computes.
     */
    async attempt<Result>(trier: Trier, tryIt: (tried: readonly string[]) => Promise<Verdict<Result>>, hashes = 1): Promise<Result> {
      requireRoom(trier);
      return inLane(trier, async () => {
        // Earlier attempts in the queue may have reached the limit.
        requireRoom(trier);
        countHashes(trier.knownBy === undefined ? [trier.address, trier.email] : [trier.knownBy], hashes);
        const tried = (trier.accounts ?? []).filter((account) => waitOf(trier, account) === 0);
        const verdict = await tryIt(tried);
        count(trier, verdict, tried);
        if (verdict.is === 'wrong') throw verdict.error;
        return verdict.result;
      });
    },
  };
}

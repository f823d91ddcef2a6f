// The open streams. Invariants: each gets hints about its own merchant only; the streams of a user are bounded, and a new one closes the oldest;
// a merchant may have only a share of all streams; a stream that does not read is ended.
import type { Cancel } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Scope } from '../views/scope.ts';
import type { Hint, MerchantHint } from './hints.ts';

export interface Listener {
  scope: Scope;
  /** The user for whom streams are counted. */
  user: string;
  /** The merchant of the user, which may differ from the merchant of the stream; undefined: a user of all merchants. */
  merchantOfUser: string | undefined;
  /** False: the reader does not read. */
  send(hint: Hint): boolean;
  end(): void;
}

export interface StreamBounds {
  maxPerUser: number;
  maxPerMerchant: number;
  maxInAll: number;
}

interface Deps extends StreamBounds {
  onFirst(): void;
  onNoneLeft(): void;
}

function tooMany(what: string): GatewayError {
  return new GatewayError('Too_Many_Requests', `${what}; the page continues without live updates.`, { retryAfterS: 30 });
}

export function createListeners({ maxPerUser, maxPerMerchant, maxInAll, onFirst, onNoneLeft }: Deps) {
  const listeners = new Set<Listener>();

  function leave(listener: Listener): void {
    if (!listeners.delete(listener)) return;
    listener.end();
    if (listeners.size === 0) onNoneLeft();
  }

  return {
    /** Throws Too_Many_Requests if the user's merchant, or all together, have too many streams. Returns a function that stops listening. */
    join(listener: Listener): Cancel {
      const own = [...listeners].filter(({ user }) => user === listener.user);
      const leaving = own.slice(0, Math.max(0, own.length - maxPerUser + 1));
      if (listeners.size - leaving.length >= maxInAll) throw tooMany('Too many pages are open');
      const { merchantOfUser } = listener;
      const ofMerchant = [...listeners].filter((one) => one.merchantOfUser === merchantOfUser).length;
      if (merchantOfUser !== undefined && ofMerchant - leaving.length >= maxPerMerchant)
        throw tooMany('The merchant has too many pages open');
      listeners.add(listener);
      if (listeners.size === 1) onFirst();
      for (const oldest of leaving) leave(oldest);
      return () => leave(listener);
    },
    tell(hints: MerchantHint[]): void {
      for (const { merchantId, hint } of hints) {
        for (const listener of [...listeners]) {
          const { scope } = listener;
          if (scope.merchantId !== undefined && scope.merchantId !== merchantId) continue;
          if (!listener.send(hint)) leave(listener);
        }
      }
    },
    endAll(): void {
      for (const listener of [...listeners]) leave(listener);
    },
  };
}

// The streams that are open. Always holds: each is given hints about its own merchant only; a user has a few streams at most, and the oldest
// makes room; a merchant has a part of all, so that the others have theirs; a stream that does not take what it is given is ended.
import type { Cancel } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Scope } from '../views/scope.ts';
import type { Hint, MerchantHint } from './hints.ts';

export interface Listener {
  scope: Scope;
  /** Whose streams are counted together. */
  user: string;
  /** The merchant that the user belongs to, which may differ from the one that is looked at; undefined: of all. */
  merchantOfUser: string | undefined;
  /** False: it does not take any more. */
  send(hint: Hint): boolean;
  end(): void;
}

export interface Listeners {
  /** Throws Too_Many_Requests when too many listen, of the user's merchant or in all. Returns how to stop. */
  join(listener: Listener): Cancel;
  tell(hints: MerchantHint[]): void;
  endAll(): void;
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
  return new GatewayError('Too_Many_Requests', `${what}; the page goes on without live news.`, { retryAfterS: 30 });
}

export function createListeners({ maxPerUser, maxPerMerchant, maxInAll, onFirst, onNoneLeft }: Deps): Listeners {
  const listeners = new Set<Listener>();

  function leave(listener: Listener): void {
    if (!listeners.delete(listener)) return;
    listener.end();
    if (listeners.size === 0) onNoneLeft();
  }

  return {
    join(listener) {
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
    tell(hints) {
      for (const { merchantId, hint } of hints) {
        for (const listener of [...listeners]) {
          const { scope } = listener;
          if (scope.merchantId !== undefined && scope.merchantId !== merchantId) continue;
          if (!listener.send(hint)) leave(listener);
        }
      }
    },
    endAll() {
      for (const listener of [...listeners]) leave(listener);
    },
  };
}

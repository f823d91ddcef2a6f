// The users of the cabinet: sign-in, sessions, users, one-time links, passwords and one-time codes.
// Every change is one transaction with its audit entry. It takes effect at once here and within seconds on other instances.
import type { Database } from '../../database/database.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { createKnownBrowsers } from './known-browsers.ts';
import { createOwnAccount } from './own-account.ts';
import { createSessionCalls } from './session-calls.ts';
import { createSessionKeeper } from './session-keeper.ts';
import { createTries, type WrongTry } from './tries.ts';
import { createUserCalls } from './user-calls.ts';

export interface PeopleDeps {
  database: Database;
  clock: Clock;
  random: Random;
  logger: Logger;
  isSandbox: boolean;
  /** Users of one merchant. */
  maxUsers: number;
  /** {base_url}: the prefix of links. */
  baseUrl: () => string;
  /** A session ends after this long without use. */
  sessionIdleMs: number;
  /** Operators must set up one-time codes before anything else. */
  requiresTotp: boolean;
  /** A wrong password or code. */
  onFailedLogin?: ((failed: WrongTry) => void) | undefined;
}

export type People = ReturnType<typeof createPeople>;

export function createPeople(deps: PeopleDeps) {
  const tries = createTries({ clock: deps.clock, onWrong: deps.onFailedLogin });
  const keeper = createSessionKeeper(deps);
  const shared = { ...deps, tries, keeper, changed: keeper.changed };
  return {
    findSession: keeper.find,
    /** For event streams: calls once when the session has ended, on any instance. */
    onSessionEnded: (sessionId: string, ended: () => void): Cancel => keeper.onSessionEnded(sessionId, ended),
    stop: () => keeper.stop(),
    browsers: createKnownBrowsers(deps),
    ...createSessionCalls(shared),
    ...createUserCalls(shared),
    ...createOwnAccount(shared),
  };
}

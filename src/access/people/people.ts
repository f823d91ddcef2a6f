// The users of the cabinet: sign-in, sessions, users, one-time links, passwords and one-time codes.
// Every change is one transaction with its audit entry. It takes effect at once here and within seconds on other instances.
import type { Cancel } from '../../kernel/clock.ts';
import { createKnownBrowsers } from './known-browsers.ts';
import { createOwnAccount } from './own-account.ts';
import type { PeopleDeps } from './people-deps.ts';
import { createSessionCalls } from './session-calls.ts';
import { createSessionKeeper } from './session-keeper.ts';
import { createTries } from './tries.ts';
import { createUserCalls } from './user-calls.ts';

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

// Signing in, the sandbox's sign-in button, confirming a session, and ending sessions.
// A session begins and ends in one transaction with its audit entry. If the answer of a sign-in is lost, its session stays unused until it
// expires. Ending an ended session changes nothing.
import type { Queries } from '../../database/database.ts';
import type { Viewer } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import type { Person } from './own-account.ts';
import type { PeopleDeps } from './people-deps.ts';
import type { SessionKeeper } from './session-keeper.ts';
import { confirmationMs, endAllSessions, endSession, insertSession, listSessions, type NewSession, type Origin } from './sessions.ts';
import { confirmSession, type Proof, type SignedIn, type SignInRequest, signIn } from './sign-in.ts';
import type { Tries } from './tries.ts';
import { findUser, insertRow, readEmail } from './users.ts';

const sandboxEmail = 'sandbox@tillgate.invalid';

interface Deps extends Pick<PeopleDeps, 'database' | 'clock' | 'random' | 'isSandbox' | 'sessionIdleMs'> {
  tries: Tries;
  keeper: SessionKeeper;
}

export function createSessionCalls(deps: Deps) {
  const { database, clock, random, keeper, isSandbox } = deps;

  async function end(actor: string, sessionId: string, ofUserId?: string): Promise<boolean> {
    const isEnded = await database.transaction((queries) => endAudited(queries, actor, sessionId, ofUserId));
    keeper.changed();
    return isEnded;
  }

  return {
    async signIn(request: SignInRequest, origin: Origin): Promise<SignedIn> {
      const signedIn = await signIn(deps, { ...request, email: readEmail(request.email) }, origin);
      if (request.earlierSessionId !== undefined) keeper.changed();
      return signedIn;
    },

    /** The sandbox's sign-in button: its user has no password. */
    async enterSandbox(origin: Origin): Promise<{ userId: string; session: NewSession } | undefined> {
      return isSandbox ? database.transaction((queries) => enterSandbox(queries, random, origin)) : undefined;
    },

    async confirm({ userId, sessionId, address }: Person, proof: Proof): Promise<NewSession & { confirmedUntilMs: number }> {
      const session = await confirmSession(deps, { userId, sessionId, address }, proof);
      keeper.changed();
      return { ...session, confirmedUntilMs: clock.now() + confirmationMs };
    },
    /** By the wall clock; in the past: a confirmation is needed. */
    confirmedUntilMs: (viewer: Viewer): number => clock.now() + Math.min(confirmationMs, viewer.confirmedUntilMs - clock.elapsed()),

    /** Succeeds even if the session has already ended. */
    signOut: ({ sessionId, actor }: Person): Promise<boolean> => end(actor, sessionId),
    async endSession(actor: string, sessionId: string, ofUserId?: string): Promise<void> {
      if (!(await end(actor, sessionId, ofUserId))) throw new GatewayError('Record_not_exist', 'There is no session by that id.');
    },
    /** Ends all sessions, including the caller's; returns their number. */
    async endAllSessions(actor: string): Promise<number> {
      const count = await database.transaction(async (queries) => {
        const count = await endAllSessions(queries);
        await writeAudit(queries, { actor, action: 'session.end-all', subject: 'all', detail: { count } });
        return count;
      });
      keeper.changed();
      return count;
    },
    listSessions: (userId: string) => listSessions(database.queries, userId, deps.sessionIdleMs),
  };
}

async function enterSandbox(queries: Queries, random: Random, origin: Origin): Promise<{ userId: string; session: NewSession }> {
  const known = await queries.selectFrom('users').select('id').where('is_sandbox', '=', 1).executeTakeFirst();
  const standing = { role: 'operator', merchantId: null } as const;
  const userId = known?.id ?? (await insertRow(queries, random, { email: sandboxEmail, name: 'Sandbox', standing, isSandbox: true }));
  await queries.updateTable('users').set({ disabled_at: null }).where('id', '=', userId).execute();
  const session = await insertSession(queries, random, userId, origin);
  await writeAudit(queries, { actor: 'sandbox', action: 'session.start', subject: userId, detail: { sessionId: session.id } });
  return { userId, session };
}

/** False: no such session, or not of that user. */
async function endAudited(queries: Queries, actor: string, sessionId: string, ofUserId?: string): Promise<boolean> {
  const ended = await endSession(queries, sessionId, ofUserId);
  if (!ended) return false;
  const merchantId = (await findUser(queries, ended.userId))?.merchantId;
  await writeAudit(queries, { actor, action: 'session.end', subject: ended.userId, merchantId, detail: { sessionId } });
  return true;
}

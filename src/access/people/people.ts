// The people of the cabinet in one piece: signing in, sessions, users, one-time links, passwords and one-time codes.
// Every change is one transaction with its audit entry, and is felt at once here and within seconds on other instances.
import type { Database, Queries } from '../../database/database.ts';
import type { Viewer } from '../../http/viewer.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { firstOperatorLinkMs, insertLink, type LinkUse, linkMs, type ReadLink, readLink, useLink } from './links.ts';
import { createOwnAccount, type Person } from './own-account.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import { requireRank } from './ranks.ts';
import { createSessionKeeper } from './session-keeper.ts';
import { confirmationMs, endSession, insertSession, type ListedSession, listSessions, type NewSession, type Origin } from './sessions.ts';
import { confirmSession, type Proof, type SignedIn, type SignInRequest, signIn } from './sign-in.ts';
import { createTries } from './tries.ts';
import {
  changeUser,
  deleteUser,
  findUser,
  insertRow,
  insertUser,
  type ListedUser,
  listUsers,
  lockOperators,
  type NewUser,
  noSuchUser,
  readEmail,
  type UserChange,
  type UserFilter,
} from './users.ts';

export interface PeopleDeps {
  database: Database;
  clock: Clock;
  random: Random;
  logger: Logger;
  isSandbox: boolean;
  /** {base_url}, where links lead. */
  baseUrl: () => string;
  /** A wrong password or code came from this address. */
  onFailedLogin?: ((address: string) => void) | undefined;
}

export interface Link {
  link: string;
  expiresAtMs: number;
}

const sandboxEmail = 'sandbox@tillgate.invalid';

export type People = ReturnType<typeof createPeople>;

export function createPeople({ database, clock, random, logger, isSandbox, baseUrl, onFailedLogin }: PeopleDeps) {
  const tries = createTries({ clock, onWrong: onFailedLogin });
  const keeper = createSessionKeeper({ database, clock, logger, isSandbox });
  const deps = { database, random, tries };
  const { engine } = database;
  const urlOf = ({ token, expiresAtMs }: { token: string; expiresAtMs: number }): Link => ({
    // A fragment: no server and no proxy ever sees it.
    link: `${baseUrl()}/cabinet/link#${token}`,
    expiresAtMs,
  });

  /** Runs the change, then lets everybody look again. */
  async function change<Result>(work: Parameters<typeof database.transaction<Result>>[0]): Promise<Result> {
    const result = await database.transaction(work);
    keeper.changed();
    return result;
  }

  /** False: there is none, or it is not that user's. */
  async function endAudited(queries: Queries, actor: string, sessionId: string, ofUserId?: string): Promise<boolean> {
    const ended = await endSession(queries, sessionId, ofUserId);
    if (!ended) return false;
    const merchantId = (await findUser(queries, ended.userId))?.merchantId;
    await writeAudit(queries, { actor, action: 'session.end', subject: ended.userId, merchantId, detail: { sessionId } });
    return true;
  }

  async function requireUser(id: string): Promise<ListedUser> {
    const user = await findUser(database.queries, id);
    if (!user) throw noSuchUser();
    return user;
  }

  return {
    findSession: keeper.find,
    /** For event streams: called once when the session has ended, on whatever instance that happened. */
    onSessionEnded: (sessionId: string, ended: () => void): Cancel => keeper.onSessionEnded(sessionId, ended),
    stop: () => keeper.stop(),

    async signIn(request: SignInRequest, origin: Origin): Promise<SignedIn> {
      const signedIn = await signIn(deps, { ...request, email: readEmail(request.email) }, origin);
      if (request.earlierSessionId !== undefined) keeper.changed();
      return signedIn;
    },

    /** The sandbox's one button: a user without a password, whom `serve` on the same database does not let in. */
    async enterSandbox(origin: Origin): Promise<{ userId: string; session: NewSession } | undefined> {
      if (!isSandbox) return undefined;
      return database.transaction(async (queries) => {
        const known = await findUser(queries, sandboxEmail);
        const standing = { role: 'operator', merchantId: null } as const;
        const userId = known?.id ?? (await insertRow(queries, random, { email: sandboxEmail, name: 'Sandbox', standing, isSandbox: true }));
        await queries.updateTable('users').set({ disabled_at: null }).where('id', '=', userId).execute();
        const session = await insertSession(queries, random, userId, origin);
        await writeAudit(queries, { actor: 'sandbox', action: 'session.start', subject: userId, detail: { sessionId: session.id } });
        return { userId, session };
      });
    },

    async confirm({ userId, sessionId, address }: Person, proof: Proof): Promise<NewSession & { confirmedUntilMs: number }> {
      const session = await confirmSession(deps, { userId, sessionId, address }, proof);
      keeper.changed();
      return { ...session, confirmedUntilMs: clock.now() + confirmationMs };
    },
    /** As a moment of the wall clock; in the past: they will be asked. */
    confirmedUntilMs: (viewer: Viewer): number => clock.now() + Math.min(confirmationMs, viewer.confirmedUntilMs - clock.elapsed()),

    /** Also when it has ended meanwhile. */
    signOut: ({ sessionId, actor }: Person): Promise<boolean> => change((queries) => endAudited(queries, actor, sessionId)),
    async endSession(actor: string, sessionId: string, ofUserId?: string): Promise<void> {
      const isEnded = await change((queries) => endAudited(queries, actor, sessionId, ofUserId));
      if (!isEnded) throw new GatewayError('Record_not_exist', 'There is no session by that id.');
    },
    listSessions: (userId: string): Promise<ListedSession[]> => listSessions(database.queries, userId),

    findUser: (id: string) => findUser(database.queries, id),
    listUsers: (filter: Omit<UserFilter, 'hasSandboxUser'>): Promise<ListedUser[]> =>
      listUsers(database.queries, { ...filter, hasSandboxUser: isSandbox }),

    async createUser(viewer: Viewer, wanted: NewUser): Promise<{ user: ListedUser } & Link> {
      const { id, link } = await database.transaction(async (queries) => {
        const isFirst = wanted.role === 'operator' && (await lockOperators(engine, queries)).length === 0;
        const id = await insertUser(queries, random, viewer, wanted);
        const lifetimeMs = isFirst ? firstOperatorLinkMs : linkMs;
        return { id, link: await insertLink(queries, random, { userId: id, purpose: 'invitation', lifetimeMs }) };
      });
      if (!link) throw new Error('A link that replaces every older one is always made.');
      return { user: await requireUser(id), ...urlOf(link) };
    },

    /** Only while nobody can sign in as an operator. `keepsOlder`: no second link while one is open. */
    async firstOperatorLink(actor: string, keepsOlder: boolean): Promise<Link | 'has operator' | 'has link'> {
      const link = await database.transaction(async (queries) => {
        if ((await lockOperators(engine, queries)).length > 0) return 'has operator';
        const fresh = await insertLink(queries, random, { purpose: 'invitation', lifetimeMs: firstOperatorLinkMs, keepsOlder });
        if (!fresh) return 'has link';
        await writeAudit(queries, { actor, action: 'user.link', subject: 'first operator', detail: { purpose: 'invitation' } });
        return fresh;
      });
      return typeof link === 'string' ? link : urlOf(link);
    },

    changeUser: (viewer: Viewer, id: string, wanted: UserChange): Promise<void> =>
      change((queries) => changeUser(engine, queries, viewer, id, wanted)),
    deleteUser: (viewer: Viewer, id: string): Promise<void> => change((queries) => deleteUser(engine, queries, viewer, id)),

    /** A forgotten password is an operator's affair; an invitation can be renewed by whoever could have made it. */
    async renewLink(viewer: Viewer, idOrEmail: string): Promise<Link> {
      const link = await database.transaction(async (queries) => {
        const user = await findUser(queries, idOrEmail);
        if (!user || (viewer.merchantId !== undefined && user.merchantId !== viewer.merchantId)) throw noSuchUser();
        requireRank(viewer, { role: user.role, merchantId: user.merchantId ?? null });
        if (user.state === 'disabled') throw new GatewayError('The_status_cannot_be_applied', 'The user is disabled; enable them first.');
        const isInvited = user.state === 'invited';
        if (!isInvited && viewer.role !== 'operator') {
          throw new GatewayError('API_Key_Wrong_Product', 'Only an operator can let somebody set a new password.', { httpStatus: 403 });
        }
        const isFirst = user.role === 'operator' && (await lockOperators(engine, queries)).length === 0;
        const purpose = isInvited ? 'invitation' : 'reset';
        const fresh = await insertLink(queries, random, { userId: user.id, purpose, lifetimeMs: isFirst ? firstOperatorLinkMs : linkMs });
        const { merchantId } = user;
        await writeAudit(queries, { actor: viewer.actor, action: 'user.link', subject: user.id, merchantId, detail: { purpose } });
        return fresh;
      });
      if (!link) throw new Error('A link that replaces every older one is always made.');
      return urlOf(link);
    },

    readLink: (token: string): Promise<ReadLink> => readLink(database.queries, token),
    async useLink(use: Omit<LinkUse, 'passwordHash'> & { password: string }, origin: Origin) {
      checkPassword('password', use.password);
      // Before the work of a hash: only who has a link causes it.
      const { email } = await readLink(database.queries, use.token);
      const trier = { address: origin.address, email: email ?? '', isSignedIn: true };
      const passwordHash = await tries.attempt(trier, async () => ({ is: 'right', result: await hashPassword(random, use.password) }));
      return change(async (queries) => {
        const userId = await useLink(engine, queries, random, { ...use, passwordHash });
        return { userId, session: await insertSession(queries, random, userId, origin) };
      });
    },

    ...createOwnAccount({ ...deps, changed: keeper.changed }),
  };
}

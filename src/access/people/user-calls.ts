// Users and their one-time links: invite, change, remove, set a password by a link.
// Each change is one transaction with its audit entry. A link is shown once, in the answer of the call that created it.
import type { Database, Queries } from '../../database/database.ts';
import type { Viewer } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { requireDailyRoom } from './daily-bound.ts';
import { mayHaveHadPassword } from './had-password.ts';
import { checkUse, firstOperatorLinkMs, insertLink, type LinkUse, linkMs, type NewLink, readLink, useLink } from './links.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import type { PeopleDeps } from './people-deps.ts';
import { requireRank } from './ranks.ts';
import { insertSession, type Origin } from './sessions.ts';
import type { SignedIn } from './sign-in.ts';
import type { Tries } from './tries.ts';
import {
  changeUser,
  deleteUser,
  findUser,
  findVisible,
  insertUser,
  type ListedUser,
  listUsers,
  lockOperators,
  lockUser,
  type NewUser,
  noSuchUser,
  readEmail,
  siblingHash,
  type UserChange,
  type UserFilter,
} from './users.ts';

interface Link {
  link: string;
  expiresAtMs: number;
}

interface Deps extends Pick<PeopleDeps, 'database' | 'random' | 'isSandbox' | 'maxUsers' | 'baseUrl'> {
  tries: Tries;
  /** Called after a commit that changed who may sign in. */
  changed(): void;
}

export function createUserCalls(deps: Deps) {
  const { database, isSandbox, changed } = deps;
  const { engine } = database;

  /** Runs the change, then invalidates all caches. */
  async function change<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result> {
    const result = await database.transaction(work);
    changed();
    return result;
  }

  return {
    findUser: (id: string) => findUser(database.queries, id),
    listUsers: (filter: Omit<UserFilter, 'hasSandboxUser'>): Promise<ListedUser[]> =>
      listUsers(database.queries, { ...filter, hasSandboxUser: isSandbox }),
    deleteUser: (viewer: Viewer, id: string): Promise<void> => change((queries) => deleteUser(engine, queries, viewer, id)),
    ...createLinkCalls(deps, change),
  };
}

function createLinkCalls({ database, random, tries, baseUrl, maxUsers }: Deps, change: Database['transaction']) {
  const { engine } = database;
  // In the fragment, which is not sent to any server or proxy.
  const urlOf = ({ token, expiresAtMs }: NewLink): Link => ({ link: `${baseUrl()}/cabinet/link#${token}`, expiresAtMs });

  return {
    async createUser(viewer: Viewer, wanted: NewUser): Promise<{ user: ListedUser } & Link> {
      const { id, link } = await database.transaction(async (queries) => {
        const isFirst = wanted.role === 'operator' && (await lockOperators(engine, queries)).length === 0;
        const id = await insertUser({ engine, queries, viewer, maxUsers }, random, wanted);
        const lifetimeMs = isFirst ? firstOperatorLinkMs : linkMs;
        return { id, link: await insertLink(queries, random, { userId: id, purpose: 'invitation', lifetimeMs }) };
      });
      if (!link) throw new Error('A link that replaces every older one is always made.');
      const user = await findUser(database.queries, id);
      if (!user) throw noSuchUser();
      return { user, ...urlOf(link) };
    },

    /** Only while there is no operator who can sign in. `keepsOlder`: no second link while one is open. */
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

    /** Returns a link if the user gained rights: they must set a new password. */
    async changeUser(viewer: Viewer, id: string, wanted: UserChange): Promise<Partial<Link>> {
      const link = await change(async (queries) => {
        const { needsLink } = await changeUser({ engine, queries, viewer, maxUsers }, id, wanted);
        return needsLink ? insertLink(queries, random, { userId: id, purpose: 'invitation', lifetimeMs: linkMs }) : undefined;
      });
      return link === undefined ? {} : urlOf(link);
    },

    async renewLink(viewer: Viewer, idOrEmail: string): Promise<Link> {
      const link = await database.transaction((queries) => renewLink(engine, queries, random, viewer, idOrEmail));
      if (!link) throw new Error('A link that replaces every older one is always made.');
      return urlOf(link);
    },

    readLink: (token: string) => readLink(database.queries, token),
    async useLink(use: Omit<LinkUse, 'passwordHash'> & { password: string }, origin: Origin): Promise<SignedIn> {
      checkPassword('password', use.password);
      // Checked before hashing: only a valid link with valid fields causes that work.
      const link = await readLink(database.queries, use.token);
      checkUse(link, use);
      if (link.needsCode && use.code === undefined) return { needsCode: true };
      const email = link.email ?? readEmail(use.email ?? '');
      const trier = { address: origin.address, email, knownBy: `link ${link.subject}`, merchantId: link.merchantId };
      return tries.attempt<SignedIn>(trier, async () => {
        const sibling = await siblingHash(database.queries, { id: link.subject, email });
        const passwordHash = await hashPassword(random, use.password, sibling);
        const come = async (queries: Queries) => {
          const userId = await useLink(engine, queries, random, { ...use, passwordHash });
          return { userId, session: await insertSession(queries, random, userId, origin) };
        };
        return change(come).then(
          (result) => ({ is: 'right', result }),
          (error: unknown) => {
            if (error instanceof GatewayError && error.httpStatus === 401) return { is: 'wrong', error };
            throw error;
          },
        );
      });
    },
  };
}

/**
 * Only an operator may reset a password; an invitation may be renewed by any user who could have created it. Checked under the user's lock:
 * if the invited user has used the link or was promoted in the meantime, the link would grant more than its creator may grant.
 */
async function renewLink(engine: Database['engine'], queries: Queries, random: Random, viewer: Viewer, idOrEmail: string) {
  const operators = await lockOperators(engine, queries);
  const found = await findVisible(queries, viewer, idOrEmail);
  if (found) await lockUser(engine, queries, found.id);
  const user = found && (await findUser(queries, found.id));
  // A user who has moved to another merchant is invisible to this viewer.
  if (!user || (viewer.merchantId !== undefined && user.merchantId !== viewer.merchantId)) throw noSuchUser();
  requireRank(viewer, { role: user.role, merchantId: user.merchantId ?? null });
  if (user.state === 'disabled') throw new GatewayError('The_status_cannot_be_applied', 'The user is disabled; enable them first.');
  await requireDailyRoom({ engine, queries, viewer }, user.merchantId);
  const isInvited = user.state === 'invited';
  if (viewer.role !== 'operator' && (!isInvited || (await mayHaveHadPassword(queries, user.id, user.merchantId ?? null)))) {
    throw new GatewayError('API_Key_Wrong_Product', 'Only an operator can reset a password.', { httpStatus: 403 });
  }
  const isFirst = user.role === 'operator' && operators.length === 0;
  const purpose = isInvited ? 'invitation' : 'reset';
  const fresh = await insertLink(queries, random, { userId: user.id, purpose, lifetimeMs: isFirst ? firstOperatorLinkMs : linkMs });
  const { merchantId } = user;
  await writeAudit(queries, { actor: viewer.actor, action: 'user.link', subject: user.id, merchantId, detail: { purpose } });
  return fresh;
}

// One-time links, with which a user sets a password, for the first time or after forgetting it. Stored as a hash. There is one open link per
// user, and one for the first operator, for all gateways on the database: a newer link replaces the older.
// A link is used up in the transaction that sets the password. If the process dies before the commit, the link stays valid. If the answer is
// lost after the commit, the new password works, and the error of a second use says so.
import { sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { hashSecret } from '../secrets.ts';
import { actorNamed } from './session-keeper.ts';
import { endSessionsOf, newToken } from './sessions.ts';
import { takeCode, wrongCode } from './sign-in.ts';
import { checkPersonName, insertRow, lockOperators, lockUser, readEmail } from './users.ts';

export const firstOperatorLinkMs = 3_600_000;
export const linkMs = 24 * 3_600_000;
const firstOperator = 'first operator';

export interface NewLink {
  token: string;
  expiresAtMs: number;
}

interface LinkRequest {
  /** Absent: the first operator. */
  userId?: string;
  purpose: 'invitation' | 'reset';
  lifetimeMs: number;
  /** If an older link is still valid, it is kept and no new one is created. */
  keepsOlder?: boolean;
}

export async function insertLink(queries: Queries, random: Random, request: LinkRequest): Promise<NewLink | undefined> {
  const token = newToken(random);
  const fresh = {
    token_hash: hashSecret(token),
    purpose: request.purpose,
    created_at: nowMs,
    expires_at: sql<number>`now_ms() + ${request.lifetimeMs}`,
  };
  const row = await queries
    .insertInto('user_links')
    .values({ subject: request.userId ?? firstOperator, user_id: request.userId ?? null, ...fresh })
    .onConflict((conflict) => {
      const update = conflict.column('subject').doUpdateSet(fresh);
      return request.keepsOlder === true ? update.where('user_links.expires_at', '<=', nowMs) : update;
    })
    .returning('expires_at as expiresAtMs')
    .executeTakeFirst();
  return row && { token, expiresAtMs: row.expiresAtMs };
}

export type ReadLink = Awaited<ReturnType<typeof readLink>>;

const noSuchLink = () =>
  new GatewayError(
    'Record_not_exist',
    'The link is wrong, has expired or was used. If you have set a password with it, sign in; otherwise ask for a new one.',
  );

/** Without e-mail and name: the link of the first operator, who enters them when using it. */
export async function readLink(queries: Queries, token: string) {
  const row = await queries
    .selectFrom('user_links as l')
    .leftJoin('users as u', 'u.id', 'l.user_id')
    .select(['l.subject', 'l.purpose', 'l.expires_at', 'u.email', 'u.name', 'u.totp_secret', 'u.merchant_id'])
    .where('l.token_hash', '=', hashSecret(token))
    .where('l.expires_at', '>', nowMs)
    .executeTakeFirst();
  if (!row) throw noSuchLink();
  return {
    // The user, or the first operator.
    subject: row.subject,
    purpose: row.purpose,
    // A code is needed beside the new password.
    needsCode: row.totp_secret !== null,
    merchantId: row.merchant_id,
    email: row.email ?? undefined,
    name: row.name ?? undefined,
    expiresAtMs: row.expires_at,
  };
}

/** Checks the fields before the password is hashed. */
export function checkUse(link: ReadLink, use: Pick<LinkUse, 'email' | 'name'>): void {
  if (use.name !== undefined) checkPersonName(use.name);
  if (link.email !== undefined) return;
  if (use.email === undefined || use.name === undefined) throw invalidRequest('email and name are needed with this link.');
  readEmail(use.email);
}

export interface LinkUse {
  token: string;
  passwordHash: string;
  name?: string | undefined;
  email?: string | undefined;
  /** One-time code, if the user has an authenticator app. */
  code?: string | undefined;
}

/**
 * Sets the password and ends the link and all sessions of the user; returns the user. One-time codes stay on, and one is required: a link
 * replaces the password, not the second factor. Call it inside a transaction, which is rolled back if the code is wrong.
 */
export async function useLink(engine: Database['engine'], queries: Queries, random: Random, use: LinkUse): Promise<string> {
  const operators = await lockOperators(engine, queries);
  const link = await queries
    .deleteFrom('user_links')
    .where('token_hash', '=', hashSecret(use.token))
    .where('expires_at', '>', nowMs)
    .returning(['user_id', 'purpose'])
    .executeTakeFirst();
  if (!link) throw noSuchLink();
  if (link.user_id === null) {
    // An operator was created in the meantime: this link must not create another.
    if (operators.length > 0) throw noSuchLink();
  }
  const userId =
    link.user_id ??
    (await insertRow(queries, random, {
      email: readEmail(use.email ?? ''),
      name: use.name ?? '',
      standing: { role: 'operator', merchantId: null },
    }));
  const row = await lockUser(engine, queries, userId);
  if (row.totp_secret !== null && !(await takeCode(queries, row, use.code ?? ''))) throw wrongCode();
  const user = await queries
    .updateTable('users')
    .set({ password_hash: use.passwordHash, totp_pending: null })
    .$if(use.name !== undefined, (query) => query.set({ name: checkPersonName(use.name ?? '') }))
    .where('id', '=', userId)
    .where('disabled_at', 'is', null)
    .returning(['email', 'name', 'role', 'merchant_id as merchantId'])
    .executeTakeFirst();
  if (!user) throw noSuchLink();
  if (user.role === 'operator') await queries.deleteFrom('user_links').where('subject', '=', firstOperator).execute();
  await endSessionsOf(queries, userId);
  await writeAudit(queries, {
    actor: actorNamed(user),
    action: link.user_id === null ? 'user.first-operator' : 'user.password-by-link',
    subject: userId,
    merchantId: user.merchantId,
    detail: { email: user.email, purpose: link.purpose },
  });
  return userId;
}

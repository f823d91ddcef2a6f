// Rows of sessions. A session lasts at most 12 hours from sign-in, less without use; ending it deletes the row.
// The token (256 bits) is stored as a hash. Rotation replaces it. The previous token is accepted for some seconds more, for requests that the
// browser has already sent, but never as confirmed: a token stolen before the password was entered gains nothing.
import { sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import type { Random } from '../../kernel/random.ts';
import { hashSecret } from '../secrets.ts';

export const sessionLifetimeMs = 12 * 3_600_000;
export const confirmationMs = 15 * 60_000;
export const earlierTokenMs = 10_000;
/** Precision of the recorded last use of a session. */
export const usedToMs = 60_000;
const maxPerUser = 20;

export interface Origin {
  address: string;
  agent: string;
}

export interface NewSession {
  id: string;
  /** For the cookie; returned only once. */
  token: string;
  leftMs: number;
}

export const newToken = (random: Random) => Buffer.from(random.bytes(32)).toString('base64url');

/** A new session counts as confirmed. The oldest sessions of a user above the bound end. */
export async function insertSession(queries: Queries, random: Random, userId: string, origin: Origin): Promise<NewSession> {
  await queries.deleteFrom('sessions').where('expires_at', '<=', nowMs).execute();
  const session = { id: random.uuid(), token: newToken(random), leftMs: sessionLifetimeMs };
  await queries
    .insertInto('sessions')
    .values({
      id: session.id,
      user_id: userId,
      token_hash: hashSecret(session.token),
      earlier_hash: null,
      rotated_at: nowMs,
      confirmed_at: nowMs,
      created_at: nowMs,
      used_at: nowMs,
      expires_at: sql<number>`now_ms() + ${sessionLifetimeMs}`,
      address: origin.address.slice(0, 64),
      agent: origin.agent.slice(0, 200),
    })
    .execute();
  await queries
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', 'not in', (eb) =>
      eb.selectFrom('sessions').select('id').where('user_id', '=', userId).orderBy('created_at', 'desc').orderBy('id').limit(maxPerUser),
    )
    .where('id', '<>', session.id)
    .execute();
  return session;
}

/** Gives the session a new token, confirmed now; undefined if the session has ended. */
export async function rotateSession(queries: Queries, random: Random, sessionId: string): Promise<NewSession | undefined> {
  const token = newToken(random);
  const row = await queries
    .updateTable('sessions')
    .set((eb) => ({ earlier_hash: eb.ref('token_hash'), token_hash: hashSecret(token), rotated_at: nowMs, confirmed_at: nowMs }))
    .where('id', '=', sessionId)
    .where('expires_at', '>', nowMs)
    .returning(['id', 'expires_at', nowMs.as('now')])
    .executeTakeFirst();
  return row && { id: row.id, token, leftMs: row.expires_at - row.now };
}

export async function endSession(queries: Queries, sessionId: string, ofUserId?: string): Promise<{ userId: string } | undefined> {
  return await queries
    .deleteFrom('sessions')
    .where('id', '=', sessionId)
    .$if(ofUserId !== undefined, (query) => query.where('user_id', '=', ofUserId ?? ''))
    .returning('user_id as userId')
    .executeTakeFirst();
}

export async function endSessionsOf(queries: Queries, userId: string): Promise<void> {
  await queries.deleteFrom('sessions').where('user_id', '=', userId).execute();
}

/** Records the use of a session; writes at most once a minute. */
export async function touchSession(queries: Queries, sessionId: string): Promise<void> {
  await queries
    .updateTable('sessions')
    .set({ used_at: nowMs })
    .where('id', '=', sessionId)
    .where('used_at', '<', sql<number>`now_ms() - ${usedToMs}`)
    .execute();
}

/** Returns the number of ended sessions. */
export async function endAllSessions(queries: Queries): Promise<number> {
  const { numDeletedRows } = await queries.deleteFrom('sessions').executeTakeFirst();
  return Number(numDeletedRows);
}

const lastUseBefore = (idleMs: number) => sql<number>`now_ms() - ${idleMs}`;

/** Open sessions, newest first. */
export async function listSessions(queries: Queries, userId: string, idleMs: number) {
  return await queries
    .selectFrom('sessions')
    .select(['id', 'user_id as userId', 'created_at as createdAtMs', 'expires_at as expiresAtMs', 'address', 'agent'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', nowMs)
    .where('used_at', '>', lastUseBefore(idleMs))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
}

/** `isUseOld`: the use must be recorded again. `confirmedForMs`: zero or less if the confirmation has expired. */
export async function findSession(queries: Queries, tokenHash: string, idleMs: number) {
  const row = await queries
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['s.id', 's.token_hash', 's.rotated_at', 's.confirmed_at', 's.used_at', 's.expires_at', nowMs.as('now')])
    .select(['u.id as userId', 'u.email', 'u.name', 'u.role', 'u.merchant_id as merchantId', 'u.is_sandbox', 'u.totp_secret'])
    .where((eb) => eb.or([eb('s.token_hash', '=', tokenHash), eb('s.earlier_hash', '=', tokenHash)]))
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst();
  if (!row) return undefined;
  const isEarlier = row.token_hash !== tokenHash;
  const endsAt = Math.min(row.expires_at, row.used_at + idleMs);
  const leftMs = Math.min(endsAt, isEarlier ? row.rotated_at + earlierTokenMs : endsAt) - row.now;
  if (leftMs <= 0) return undefined;
  const { id, userId, email, name, role, merchantId } = row;
  const confirmedForMs = isEarlier ? 0 : row.confirmed_at + confirmationMs - row.now;
  const [isSandbox, hasTotp, isUseOld] = [row.is_sandbox === 1, row.totp_secret !== null, row.now - row.used_at > usedToMs];
  return { id, userId, email, name, role, merchantId, isSandbox, hasTotp, leftMs, isUseOld, confirmedForMs };
}

/** The given sessions that are still open. */
export async function openSessions(queries: Queries, ids: readonly string[], idleMs: number): Promise<Set<string>> {
  const rows = await queries
    .selectFrom('sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('expires_at', '>', nowMs)
    .where('used_at', '>', lastUseBefore(idleMs))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

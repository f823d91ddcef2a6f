// Users as rows, one function a verb, called inside a transaction where they change something, with the audit entry in it.
// Always holds: an operator who can sign in remains, once there was one. Every change of an operator first takes the locks of all operators,
// in one order, so that of two operators who remove each other at once the second finds itself the last.
import { type Selectable, sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { lockRows, nowMs } from '../../database/dialect.ts';
import type { Schema } from '../../database/schema.ts';
import type { Viewer } from '../../http/viewer.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { checkName, requireMerchant } from '../merchants.ts';
import { requireRank, type Standing, standingOf, type WantedStanding } from './ranks.ts';
import { endSessionsOf } from './sessions.ts';

export type UserRow = Selectable<Schema['users']>;

export interface ListedUser {
  id: string;
  email: string;
  name: string;
  role: UserRow['role'];
  merchantId: string | undefined;
  merchantName: string | undefined;
  hasTotp: boolean;
  /** invited: no password yet. */
  state: 'invited' | 'active' | 'disabled';
  createdAtMs: number;
}

export const noSuchUser = () => new GatewayError('Record_not_exist', 'There is no user by that id.');

/** One spelling of an e-mail. */
export function readEmail(value: string): string {
  const email = value.trim().toLowerCase();
  if (email.length > 254 || !/^[^\s@<>]+@[^\s@<>]+$/.test(email) || /\p{Cc}/u.test(email)) {
    throw invalidRequest('email must be an e-mail address.');
  }
  return email;
}

function listedUsers(queries: Queries) {
  return queries
    .selectFrom('users as u')
    .leftJoin('merchants as m', 'm.id', 'u.merchant_id')
    .select([
      'u.id',
      'u.email',
      'u.name',
      'u.role',
      'u.merchant_id',
      'u.created_at',
      'u.disabled_at',
      'u.is_sandbox',
      'm.name as merchantName',
    ])
    .select([sql<number>`case when u.password_hash is null then 0 else 1 end`.as('hasPassword')])
    .select([sql<number>`case when u.totp_secret is null then 0 else 1 end`.as('hasTotp')]);
}

type ListedRow = Awaited<ReturnType<ReturnType<typeof listedUsers>['executeTakeFirstOrThrow']>>;

function toListed(row: ListedRow): ListedUser {
  const canSignIn = row.hasPassword === 1 || row.is_sandbox === 1;
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    merchantId: row.merchant_id ?? undefined,
    merchantName: row.merchantName ?? undefined,
    hasTotp: row.hasTotp === 1,
    state: row.disabled_at !== null ? 'disabled' : canSignIn ? 'active' : 'invited',
    createdAtMs: row.created_at,
  };
}

export interface UserFilter {
  merchantId?: string | undefined;
  /** The last e-mail of the page before. */
  after?: string | undefined;
  limit: number;
  /** Elsewhere than in the sandbox its user can do nothing, and is not shown. */
  hasSandboxUser: boolean;
}

/** By e-mail. */
export async function listUsers(queries: Queries, { merchantId, after, limit, hasSandboxUser }: UserFilter): Promise<ListedUser[]> {
  const rows = await listedUsers(queries)
    .$if(merchantId !== undefined, (query) => query.where('u.merchant_id', '=', merchantId ?? ''))
    .$if(!hasSandboxUser, (query) => query.where('u.is_sandbox', '=', 0))
    .$if(after !== undefined, (query) => query.where('u.email', '>', after ?? ''))
    .orderBy('u.email')
    .limit(limit)
    .execute();
  return rows.map(toListed);
}

/** By id, or by e-mail. */
export async function findUser(queries: Queries, idOrEmail: string): Promise<ListedUser | undefined> {
  const wanted = idOrEmail.trim().toLowerCase();
  const row = await listedUsers(queries)
    .where((eb) => eb.or([eb('u.id', '=', wanted), eb('u.email', '=', wanted)]))
    .executeTakeFirst();
  return row && toListed(row);
}

export interface NewUser extends WantedStanding {
  email: string;
  name: string;
}

/** Without a password yet: the link that goes with it sets one. */
export async function insertUser(queries: Queries, random: Random, viewer: Viewer, wanted: NewUser): Promise<string> {
  const standing = standingOf(wanted);
  requireRank(viewer, standing);
  if (standing.merchantId !== null) await requireMerchant(queries, standing.merchantId);
  const email = readEmail(wanted.email);
  const id = await insertRow(queries, random, { email, name: wanted.name, standing });
  const { role, merchantId } = standing;
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.create',
    subject: id,
    merchantId: merchantId ?? undefined,
    detail: { email, role, merchantId },
  });
  return id;
}

export async function insertRow(
  queries: Queries,
  random: Random,
  user: { email: string; name: string; standing: Standing; isSandbox?: boolean },
): Promise<string> {
  const inserted = await queries
    .insertInto('users')
    .values({
      id: random.uuid(),
      email: user.email,
      name: checkName(user.name),
      role: user.standing.role,
      merchant_id: user.standing.merchantId,
      password_hash: null,
      totp_secret: null,
      totp_pending: null,
      totp_last_step: null,
      is_sandbox: user.isSandbox === true ? 1 : 0,
      created_at: nowMs,
      disabled_at: null,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) throw new GatewayError('The_status_cannot_be_applied', 'There is a user with this e-mail already.');
  return inserted.id;
}

function isOperating(user: Pick<UserRow, 'role' | 'password_hash' | 'disabled_at' | 'is_sandbox'>): boolean {
  return user.role === 'operator' && user.password_hash !== null && user.disabled_at === null && user.is_sandbox === 0;
}

/** Held until the transaction ends, so that what was counted stays true. */
export async function lockOperators(engine: Database['engine'], queries: Queries): Promise<UserRow[]> {
  const rows = await lockRows(engine, queries.selectFrom('users').selectAll().where('role', '=', 'operator').orderBy('id')).execute();
  return rows.filter(isOperating);
}

export async function lockUser(engine: Database['engine'], queries: Queries, id: string): Promise<UserRow> {
  const row = await lockRows(engine, queries.selectFrom('users').selectAll().where('id', '=', id)).executeTakeFirst();
  if (!row) throw noSuchUser();
  return row;
}

function requireAnother(operators: readonly UserRow[], user: UserRow): void {
  if (!isOperating(user) || operators.some(({ id }) => id !== user.id)) return;
  throw new GatewayError('The_status_cannot_be_applied', 'This is the last operator; make another one first.');
}

export interface UserChange {
  name?: string | undefined;
  role?: UserRow['role'] | undefined;
  merchantId?: string | undefined;
  allMerchants?: boolean | undefined;
  isActive?: boolean | undefined;
}

function changedStanding(user: UserRow, change: UserChange): Standing {
  const { role = user.role, merchantId, allMerchants } = change;
  if (role === user.role && merchantId === undefined && allMerchants === undefined) return { role, merchantId: user.merchant_id };
  return standingOf({
    role,
    merchantId: role === 'operator' || allMerchants === true ? merchantId : (merchantId ?? user.merchant_id ?? undefined),
    allMerchants,
  });
}

/**
 * Whoever loses or changes a role, a merchant or the right to be here loses all sessions and an open link in the same transaction: the link
 * was shown to somebody who may not let anybody in where the user stands now.
 */
export async function changeUser(
  engine: Database['engine'],
  queries: Queries,
  viewer: Viewer,
  id: string,
  change: UserChange,
): Promise<void> {
  const operators = await lockOperators(engine, queries);
  const user = await lockUser(engine, queries, id);
  const standing = changedStanding(user, change);
  requireRank(viewer, { role: user.role, merchantId: user.merchant_id });
  requireRank(viewer, standing);
  if (standing.merchantId !== null) await requireMerchant(queries, standing.merchantId);
  const isActive = change.isActive ?? user.disabled_at === null;
  if (standing.role !== 'operator' || !isActive) requireAnother(operators, user);
  const isMoved = standing.role !== user.role || standing.merchantId !== user.merchant_id;
  const name = change.name === undefined ? user.name : checkName(change.name);
  await queries
    .updateTable('users')
    .set({
      name,
      role: standing.role,
      merchant_id: standing.merchantId,
      disabled_at: isActive ? null : sql<number>`coalesce(disabled_at, now_ms())`,
    })
    .where('id', '=', id)
    .execute();
  if (isMoved || !isActive) {
    await endSessionsOf(queries, id);
    await queries.deleteFrom('user_links').where('subject', '=', id).execute();
  }
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.change',
    subject: id,
    merchantId: standing.merchantId ?? user.merchant_id ?? undefined,
    detail: { email: user.email, name, ...standing, isActive },
  });
}

export async function deleteUser(engine: Database['engine'], queries: Queries, viewer: Viewer, id: string): Promise<void> {
  const operators = await lockOperators(engine, queries);
  const user = await lockUser(engine, queries, id);
  requireRank(viewer, { role: user.role, merchantId: user.merchant_id });
  requireAnother(operators, user);
  await endSessionsOf(queries, id);
  await queries.deleteFrom('user_links').where('subject', '=', id).execute();
  await queries.deleteFrom('users').where('id', '=', id).execute();
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.delete',
    subject: id,
    merchantId: user.merchant_id ?? undefined,
    detail: { email: user.email, role: user.role },
  });
}

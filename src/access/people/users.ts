// Rows of users. Functions that change them run inside the caller's transaction, together with the audit entry.
// Invariant: once there is an operator who can sign in, one remains. Every change of an operator first locks all operators, in a fixed order;
// so if two operators remove each other at once, the second is refused as the last.
import { type Selectable, sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { lockRows, nowMs } from '../../database/dialect.ts';
import type { Schema } from '../../database/schema.ts';
import type { Viewer } from '../../http/viewer.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { checkName, lockMerchant } from '../merchants.ts';
import { requireDailyRoom } from './daily-bound.ts';
import { mayHaveHadPassword, movedDetail } from './had-password.ts';
import { requireRank, type Standing, standingOf, type WantedStanding } from './ranks.ts';
import { endSessionsOf } from './sessions.ts';

export type UserRow = Selectable<Schema['users']>;

export type ListedUser = ReturnType<typeof toListed>;

const takenEmail = () => new GatewayError('The_status_cannot_be_applied', 'There is a user with this e-mail already.');
export const noSuchUser = () => new GatewayError('Record_not_exist', 'There is no user by that id.');

/** Normalises an e-mail. */
export function readEmail(value: string): string {
  const email = value.trim().toLowerCase();
  if (email.length > 254 || !/^[^\s@<>]+@[^\s@<>]+$/.test(email) || /\p{Cc}/u.test(email)) {
    throw invalidRequest('email must be an e-mail address.');
  }
  return email;
}

/** No < and >, which delimit the e-mail in the audit log, and no marks that change the writing direction. */
export function checkPersonName(value: string): string {
  const name = checkName(value);
  if (/[<>\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(name)) {
    throw invalidRequest('name must not contain <, > or marks that change the writing direction.');
  }
  return name;
}

/** The password of another account with the same e-mail, if there is one. */
export async function siblingHash(
  queries: Queries,
  { id, email }: { id?: string | undefined; email: string },
): Promise<string | undefined> {
  const row = await queries
    .selectFrom('users')
    .select('password_hash')
    .where('email', '=', email)
    .where('id', '<>', id ?? '')
    .where('password_hash', 'is not', null)
    .executeTakeFirst();
  return row?.password_hash ?? undefined;
}

function listedUsers(queries: Queries) {
  return queries
    .selectFrom('users as u')
    .leftJoin('merchants as m', 'm.id', 'u.merchant_id')
    .select(['u.id', 'u.email', 'u.name', 'u.role', 'u.merchant_id as merchantId', 'm.name as merchantName', 'u.created_at as createdAtMs'])
    .select(['u.disabled_at', 'u.is_sandbox'])
    .select([sql<number>`case when u.password_hash is null then 0 else 1 end`.as('hasPassword')])
    .select([sql<number>`case when u.totp_secret is null then 0 else 1 end`.as('hasTotp')]);
}

type ListedRow = Awaited<ReturnType<ReturnType<typeof listedUsers>['executeTakeFirstOrThrow']>>;

function toListed({ hasPassword, disabled_at, is_sandbox, ...row }: ListedRow) {
  const isInvited = hasPassword === 0 && is_sandbox === 0;
  const state: 'disabled' | 'invited' | 'active' = disabled_at !== null ? 'disabled' : isInvited ? 'invited' : 'active';
  return { ...row, hasTotp: row.hasTotp === 1, state };
}

export interface UserFilter {
  merchantId?: string | undefined;
  /** `cursorOf` the last user of the previous page, or an e-mail: the page begins after it. */
  after?: string | undefined;
  limit: number;
  /** Whether to list the sandbox's user, who can sign in only in a sandbox. */
  hasSandboxUser: boolean;
}

/** The cursor of the next page. No e-mail contains a blank. */
export function cursorOf({ email, id }: ListedUser): string {
  return `${email} ${id}`;
}

/** Sorted by e-mail. */
export async function listUsers(queries: Queries, { merchantId, after, limit, hasSandboxUser }: UserFilter): Promise<ListedUser[]> {
  const [afterEmail = '', afterId] = (after ?? '').split(' ');
  const rows = await listedUsers(queries)
    .$if(merchantId !== undefined, (query) => query.where('u.merchant_id', '=', merchantId ?? ''))
    .$if(!hasSandboxUser, (query) => query.where('u.is_sandbox', '=', 0))
    .$if(after !== undefined, (query) =>
      query.where((eb) => {
        const isSame = afterId === undefined ? [] : [eb.and([eb('u.email', '=', afterEmail), eb('u.id', '>', afterId)])];
        return eb.or([eb('u.email', '>', afterEmail), ...isSame]);
      }),
    )
    .orderBy('u.email')
    .orderBy('u.id')
    .limit(limit)
    .execute();
  return rows.map(toListed);
}

export async function findUser(queries: Queries, id: string): Promise<ListedUser | undefined> {
  const row = await listedUsers(queries).where('u.id', '=', id).executeTakeFirst();
  return row && toListed(row);
}

/** By id, or by e-mail among the users visible to the viewer. */
export async function findVisible(queries: Queries, { merchantId }: Viewer, idOrEmail: string): Promise<ListedUser | undefined> {
  const wanted = idOrEmail.trim().toLowerCase();
  const rows = await listedUsers(queries)
    .where((eb) => eb.or([eb('u.id', '=', wanted), eb('u.email', '=', wanted)]))
    .$if(merchantId !== undefined, (query) => query.where('u.merchant_id', '=', merchantId ?? ''))
    .limit(2)
    .execute();
  if (rows.length > 1) throw new GatewayError('The_status_cannot_be_applied', 'Several users have this e-mail; name one by its id.');
  return rows[0] && toListed(rows[0]);
}

export interface NewUser extends WantedStanding {
  email: string;
  name: string;
}

/** Dependencies of every change of users. */
export interface UserDeps {
  engine: Database['engine'];
  queries: Queries;
  viewer: Viewer;
  /** Users of one merchant, including invited and disabled ones. */
  maxUsers: number;
}

/** Throws if the merchant is at its limit of users. Locks the merchant until the transaction ends, so that no other call adds a user. */
async function requireRoom({ engine, queries, maxUsers }: UserDeps, merchantId: string): Promise<void> {
  await lockMerchant(engine, queries, merchantId);
  const { count } = await queries
    .selectFrom('users')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow();
  if (count < maxUsers) return;
  const sentence = `The merchant has ${count} users, and ${maxUsers} are allowed (TILLGATE_USERS_PER_MERCHANT): delete one first.`;
  throw new GatewayError('The_status_cannot_be_applied', sentence);
}

/** The user has no password until they use the link. */
export async function insertUser(deps: UserDeps, random: Random, wanted: NewUser): Promise<string> {
  const { queries, viewer } = deps;
  const standing = standingOf(wanted);
  requireRank(viewer, standing);
  await requireDailyRoom(deps, standing.merchantId);
  if (standing.merchantId !== null) await requireRoom(deps, standing.merchantId);
  const email = readEmail(wanted.email);
  const id = await insertRow(queries, random, { email, name: wanted.name, standing });
  const { role, merchantId } = standing;
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.create',
    subject: id,
    merchantId,
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
      name: checkPersonName(user.name),
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
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) throw takenEmail();
  return inserted.id;
}

function isOperating(user: Pick<UserRow, 'role' | 'password_hash' | 'disabled_at' | 'is_sandbox'>): boolean {
  return user.role === 'operator' && user.password_hash !== null && user.disabled_at === null && user.is_sandbox === 0;
}

/** The lock is held until the transaction ends, so that the count stays valid. */
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
  throw new GatewayError('The_status_cannot_be_applied', 'This is the last operator; create another one first.');
}

export interface UserChange {
  name?: string | undefined;
  role?: UserRow['role'] | undefined;
  merchantId?: string | undefined;
  allMerchants?: boolean | undefined;
  isActive?: boolean | undefined;
  /** false: one-time codes are turned off, for a user who has lost the app. */
  totp?: false | undefined;
}

const rankOf = { viewer: 0, merchant: 1, operator: 2 } as const;

function changedStanding(user: UserRow, change: UserChange): Standing {
  const { role = user.role, merchantId, allMerchants } = change;
  if (role === user.role && merchantId === undefined && allMerchants === undefined) return { role, merchantId: user.merchant_id };
  return standingOf({
    role,
    merchantId: role === 'operator' || allMerchants === true ? merchantId : (merchantId ?? user.merchant_id ?? undefined),
    allMerchants,
  });
}

/** Whether the new standing allows nothing that the old one did not. */
function isWithin(standing: Standing, user: UserRow): boolean {
  return rankOf[standing.role] <= rankOf[user.role] && (user.merchant_id === null || user.merchant_id === standing.merchantId);
}

async function requireFreeEmail(queries: Queries, user: UserRow, { merchantId }: Standing): Promise<void> {
  const taken = await queries
    .selectFrom('users')
    .select('id')
    .where('email', '=', user.email)
    .where('merchant_id', merchantId === null ? 'is' : '=', merchantId)
    .where('id', '<>', user.id)
    .executeTakeFirst();
  if (taken) throw takenEmail();
}

/**
 * A change of role or merchant, or disabling, ends all sessions and an open link in the same transaction. A user who gains rights also loses
 * password and one-time codes and needs a new link (`needsLink`): the person who has set them up may have been invited by a user who could not
 * grant these rights [D166]. Only an operator can do that to an account that has or had a password: the link opens it.
 */
export async function changeUser(deps: UserDeps, id: string, change: UserChange): Promise<{ needsLink: boolean }> {
  const { engine, queries, viewer } = deps;
  const operators = await lockOperators(engine, queries);
  const user = await lockUser(engine, queries, id);
  const standing = changedStanding(user, change);
  requireRank(viewer, { role: user.role, merchantId: user.merchant_id });
  requireRank(viewer, standing);
  await requireDailyRoom(deps, user.merchant_id);
  const isElsewhere = standing.merchantId !== user.merchant_id;
  if (isElsewhere && standing.merchantId !== null) await requireRoom(deps, standing.merchantId);
  const isActive = change.isActive ?? user.disabled_at === null;
  if (standing.role !== 'operator' || !isActive) requireAnother(operators, user);
  const isMoved = standing.role !== user.role || isElsewhere;
  const isRaised = isMoved && !isWithin(standing, user);
  if (isElsewhere) await requireFreeEmail(queries, user, standing);
  const isWithLink = isRaised && viewer.role !== 'operator';
  if (isWithLink && (user.password_hash !== null || (await mayHaveHadPassword(queries, id, user.merchant_id)))) {
    const sentence = 'Only an operator can give more rights to a user who has or had a password: it ends the password and makes a link.';
    throw new GatewayError('API_Key_Wrong_Product', sentence, { httpStatus: 403 });
  }
  if (change.totp === false && viewer.role !== 'operator') {
    throw new GatewayError('API_Key_Wrong_Product', "Only an operator can turn off another user's one-time codes.", {
      httpStatus: 403,
    });
  }
  const name = change.name === undefined ? user.name : checkPersonName(change.name);
  await queries
    .updateTable('users')
    .set({
      name,
      role: standing.role,
      merchant_id: standing.merchantId,
      disabled_at: isActive ? null : sql<number>`coalesce(disabled_at, now_ms())`,
    })
    .$if(isRaised, (query) => query.set({ password_hash: null }))
    .$if(isRaised || change.totp === false, (query) => query.set({ totp_secret: null, totp_pending: null }))
    .where('id', '=', id)
    .execute();
  if (isMoved || !isActive || change.totp === false) {
    await endSessionsOf(queries, id);
    await queries.deleteFrom('user_links').where('subject', '=', id).execute();
  }
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.change',
    subject: id,
    merchantId: standing.merchantId ?? user.merchant_id,
    // An operator's address stands in no merchant's log.
    detail: {
      ...(standing.role === 'operator' ? {} : { email: user.email }),
      name,
      ...standing,
      isActive,
      ...(change.totp === false ? { totp: false } : {}),
      ...(isElsewhere ? movedDetail : {}),
    },
  });
  return { needsLink: isRaised && isActive };
}

export async function deleteUser(engine: Database['engine'], queries: Queries, viewer: Viewer, id: string): Promise<void> {
  const operators = await lockOperators(engine, queries);
  const user = await lockUser(engine, queries, id);
  requireRank(viewer, { role: user.role, merchantId: user.merchant_id });
  await requireDailyRoom({ engine, queries, viewer }, user.merchant_id);
  requireAnother(operators, user);
  await endSessionsOf(queries, id);
  await queries.deleteFrom('user_links').where('subject', '=', id).execute();
  await queries.deleteFrom('users').where('id', '=', id).execute();
  await writeAudit(queries, {
    actor: viewer.actor,
    action: 'user.delete',
    subject: id,
    merchantId: user.merchant_id,
    detail: { email: user.email, role: user.role },
  });
}

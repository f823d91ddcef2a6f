// The delivery log for people: callbacks with their attempts, dead callbacks, resending.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { GatewayError } from '../kernel/error-codes.ts';

export type CallbackState = 'pending' | 'delivered' | 'dead';

export interface ListedCallback {
  id: string;
  merchantId: string;
  subjectKind: 'invoice' | 'operation';
  subjectId: string;
  sequence: number;
  url: string;
  state: CallbackState;
  /** Attempts of the current round; a resend starts a new round. */
  attempts: number;
  nextAttemptAtMs: number | null;
  createdAtMs: number;
  endedAtMs: number | null;
}

export interface ListedAttempt {
  attempt: number;
  atMs: number;
  status: number | null;
  error: string | null;
  durationMs: number;
  responseHead: string | null;
}

export interface ListFilter {
  merchantId?: string | undefined;
  state?: CallbackState | undefined;
  subjectId?: string | undefined;
  limit: number;
  /** The id of the last callback on the previous page. */
  before?: string | undefined;
}

const listedColumns = [
  'c.id',
  'c.merchant_id as merchantId',
  'c.subject_kind as subjectKind',
  'c.subject_id as subjectId',
  'c.sequence',
  'c.url',
  'c.state',
  'c.attempts',
  'c.next_attempt_at as nextAttemptAtMs',
  'c.created_at as createdAtMs',
  'c.ended_at as endedAtMs',
] as const;

export async function findCallback(queries: Queries, id: string): Promise<ListedCallback | undefined> {
  return await queries.selectFrom('callbacks as c').select(listedColumns).where('c.id', '=', id).executeTakeFirst();
}

/** By their ids, newest first. */
export async function readListedCallbacks(queries: Queries, ids: readonly string[]): Promise<ListedCallback[]> {
  if (ids.length === 0) return [];
  return await queries
    .selectFrom('callbacks as c')
    .select(listedColumns)
    .where('c.id', 'in', [...ids])
    .orderBy(sql`c.created_at + 0`, 'desc')
    .orderBy('c.id', 'desc')
    .execute();
}

/** Newest first. */
export async function listCallbacks(queries: Queries, filter: ListFilter): Promise<ListedCallback[]> {
  const { merchantId, state, subjectId, before } = filter;
  return await queries
    .selectFrom('callbacks as c')
    .select(listedColumns)
    .$if(merchantId !== undefined, (query) => query.where('c.merchant_id', '=', merchantId ?? ''))
    .$if(subjectId !== undefined, (query) => query.where('c.subject_id', '=', subjectId ?? ''))
    .$if(state !== undefined, (query) => query.where('c.state', '=', sql.lit(state ?? 'dead')))
    .$if(before !== undefined, (query) =>
      query.where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('c.created_at', 'c.id'),
          '<',
          selectFrom('callbacks as last')
            .select(['last.created_at', 'last.id'])
            .where('last.id', '=', before ?? '')
            .$asTuple('created_at', 'id'),
        ),
      ),
    )
    .orderBy('c.created_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(filter.limit)
    .execute();
}

/** All attempts of all rounds, in the order in which they ended. */
export async function listAttempts(queries: Queries, callbackId: string): Promise<ListedAttempt[]> {
  return await queries
    .selectFrom('callback_attempts')
    .select(['attempt', 'at as atMs', 'status', 'error', 'duration_ms as durationMs', 'response_head as responseHead'])
    .where('callback_id', '=', callbackId)
    .orderBy('id')
    .execute();
}

const newRound = { state: 'pending', attempts: 0, next_attempt_at: nowMs, ended_at: null } as const;

/**
 * Starts a new round for one callback, with its first attempt now. A callback that waits for a retry is sent now as well; one in flight is
 * not changed.
 */
export async function resendCallback(queries: Queries, id: string): Promise<void> {
  const { numUpdatedRows } = await queries
    .updateTable('callbacks')
    .set(newRound)
    .where('id', '=', id)
    .where('leased_by', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return;
  const inFlight = await queries.selectFrom('callbacks').select('id').where('id', '=', id).executeTakeFirst();
  if (inFlight === undefined) throw new GatewayError('Record_not_exist', 'There is no such callback.');
}

/**
 * Starts a new round for the dead callbacks that were written from `fromMs` up to, not including, `toMs`.
 * Delivered ones are not resent: an ERP that was offline for some hours wants the missed callbacks only.
 */
export async function resendDeadCallbacks(queries: Queries, range: { merchantId: string; fromMs: number; toMs: number }): Promise<number> {
  const { numUpdatedRows } = await queries
    .updateTable('callbacks')
    .set(newRound)
    .where('merchant_id', '=', range.merchantId)
    .where('state', '=', sql.lit('dead'))
    .where('created_at', '>=', range.fromMs)
    .where('created_at', '<', range.toMs)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

export async function countCallbacks(queries: Queries): Promise<{ pending: number; oldestPendingAgeMs: number; dead: number }> {
  // Not the bare column: the planner would search its minimum along the index by age, past all delivered callbacks.
  const { rows } = await sql<{ pending: number; oldest_age_ms: number | null; dead: number }>`
    select
      (select count(*) from callbacks where state = 'pending') as pending,
      (select now_ms() - min(created_at + 0) from callbacks where state = 'pending') as oldest_age_ms,
      (select count(*) from callbacks where state = 'dead') as dead`.execute(queries);
  const row = rows[0];
  return { pending: row?.pending ?? 0, oldestPendingAgeMs: row?.oldest_age_ms ?? 0, dead: row?.dead ?? 0 };
}

/** The callbacks of these subjects of one merchant, oldest first. */
export async function listCallbacksOf(
  queries: Queries,
  merchantId: string,
  subjectIds: readonly string[],
  limit: number,
): Promise<ListedCallback[]> {
  return await queries
    .selectFrom('callbacks as c')
    .select(listedColumns)
    .where('c.subject_id', 'in', [...subjectIds])
    // Not a plain comparison: without statistics, an engine would read all callbacks of the merchant.
    .where(sql<SqlBool>`c.merchant_id || '' = ${merchantId}`)
    .orderBy(sql`c.created_at + 0`)
    .orderBy('c.sequence')
    .limit(limit)
    .execute();
}

/** All attempts of these callbacks, oldest first. */
export async function listAttemptsOf(queries: Queries, callbackIds: readonly string[], limit: number) {
  if (callbackIds.length === 0) return [];
  return await queries
    .selectFrom('callback_attempts')
    .select(['callback_id as callbackId', 'attempt', 'at as atMs', 'status', 'error', 'duration_ms as durationMs'])
    .where('callback_id', 'in', [...callbackIds])
    .orderBy('id')
    .limit(limit)
    .execute();
}

// The list of callbacks, newest first, and its text search.
import { type SqlBool, sql } from 'kysely';
import { type CallbackState, readListedCallbacks } from '../../../callbacks/delivery-log.ts';
import type { Queries } from '../../../database/database.ts';
import { parseUuid } from '../../../kernel/ids.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { beginsWith, idPrefixOf } from './command-lookup.ts';
import { type Lookup, type PageWanted, type Walkable, walk } from './walk.ts';

export interface CallbackFilter {
  state?: CallbackState | undefined;
  subjectId?: string | undefined;
  /** The id of a callback or its beginning, the OID of an invoice, the id of an operation, or a host. */
  q?: string | undefined;
}

const callbackRows: Walkable = { table: sql`callbacks k`, time: sql`k.created_at`, id: sql`k.id` };

export async function listCallbackPage(queries: Queries, scope: Scope, filter: CallbackFilter, page: PageWanted) {
  const isHost = filter.q !== undefined && idPrefixOf(filter.q) === undefined;
  // Pending and dead callbacks have their own indexes; nearly all are delivered.
  const isFew = filter.state === 'pending' || filter.state === 'dead';
  const walked = isFew ? [sql<SqlBool>`k.state = ${sql.lit(filter.state)}`] : [];
  const sieve = [
    ...(filter.state === 'delivered' ? [sql<SqlBool>`k.state = 'delivered'`] : []),
    ...(isFew ? [ownedBy(scope, sql`k.merchant_id`)] : []),
    ...(isHost ? [sql<SqlBool>`k.host = ${filter.q?.toLowerCase()}`] : []),
  ];
  const { ids, next } = await walk(queries, callbackRows, { sources: sourcesOf(scope, filter), walked, sieve }, page);
  return { callbacks: await readListedCallbacks(queries, ids), next };
}

function sourcesOf(scope: Scope, { q, subjectId, state }: CallbackFilter): Lookup[] {
  const { merchantId } = scope;
  const within = ownedBy(scope, sql`k.merchant_id`);
  if (subjectId !== undefined) return [{ where: sql<SqlBool>`${within} and k.subject_id = ${subjectId}`, isOrdered: false }];
  const prefix = q === undefined ? undefined : idPrefixOf(q);
  if (q !== undefined && prefix !== undefined) {
    const uuid = parseUuid(q);
    return [
      { where: sql<SqlBool>`${within} and ${beginsWith(sql`k.id`, prefix)}`, isOrdered: false },
      ...(uuid === undefined ? [] : [{ where: sql<SqlBool>`${within} and k.subject_id = ${uuid}`, isOrdered: false }]),
    ];
  }
  const isSieved = merchantId === undefined || state === 'pending' || state === 'dead';
  return [{ where: isSieved ? sql<SqlBool>`true` : sql<SqlBool>`k.merchant_id = ${merchantId}`, isOrdered: true }];
}

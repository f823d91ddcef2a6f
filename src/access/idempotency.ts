// The header Idempotency-Key [D13]: what a merchant's key once stood for, kept 24 hours by the database's clock; for a command that is not
// settled as long as that takes, and 24 hours more, or while it is disputed [D143]: "send it again" must not do
// once more what a device brings to its end after a weekend.
// A claim is one statement on the primary key inside the caller's transaction, so of any number of callers exactly one gets 'new';
// a second waits for the first's commit and then sees what it claimed, or takes its place if it was rolled back. A batch of commands
// claims by `claimAll` what it has seen unused; a key taken meanwhile fails the whole batch [D120].
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Queries } from '../database/database.ts';
import { type Engine, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';

const keptMs = 24 * 60 * 60 * 1000;
const sinceKept = sql<number>`now_ms() - ${sql.lit(keptMs)}`;

/** Most entries are judged by their age alone; only of an old one is its command looked at. */
const isOfUse = sql<SqlBool>`exists (
    select 1 from "commands" where "commands"."id" = "idempotency_keys"."subject_id"
      and ("commands"."state" in ('sent', 'unknown') or "commands"."settled_at" > ${sinceKept} or "commands"."state" = 'disputed')
  )`;
const counts = sql<SqlBool>`("idempotency_keys"."created_at" > ${sinceKept} or ${isOfUse})`;
const countsNoMore = sql<SqlBool>`("idempotency_keys"."created_at" <= ${sinceKept} and not ${isOfUse})`;

export type SubjectKind = 'command' | 'invoice';

export interface KeyClaim {
  merchantId: string;
  key: string;
  /** Of the route and the body without the API key: the same key for anything else is refused. */
  requestHash: string;
  subjectKind: SubjectKind;
  subjectId: string;
}

export interface KeyEntry {
  requestHash: string;
  subjectKind: SubjectKind;
  subjectId: string;
}

export type ClaimResult = { kind: 'new' } | { kind: 'same'; subjectKind: SubjectKind; subjectId: string } | { kind: 'other' };

/** An entry that is released or swept between the two statements makes room: then the claim is tried again. */
const claimTries = 5;

export async function claimKey(queries: Queries, claim: KeyClaim): Promise<ClaimResult> {
  for (let tries = 0; tries < claimTries; tries += 1) {
    if (await takeKey(queries, claim)) return { kind: 'new' };
    const entry = await findKey(queries, claim.merchantId, claim.key);
    if (entry) {
      if (entry.requestHash !== claim.requestHash) return { kind: 'other' };
      return { kind: 'same', subjectKind: entry.subjectKind, subjectId: entry.subjectId };
    }
  }
  throw new Error('An Idempotency-Key was taken and released again and again while it was claimed.');
}

const take = keptStatement((queries, claim: KeyClaim) =>
  queries
    .insertInto('idempotency_keys')
    .values({
      merchant_id: claim.merchantId,
      key: claim.key,
      request_hash: claim.requestHash,
      subject_kind: claim.subjectKind,
      subject_id: claim.subjectId,
      created_at: nowMs,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['merchant_id', 'key'])
        .doUpdateSet((row) => ({
          request_hash: row.ref('excluded.request_hash'),
          subject_kind: row.ref('excluded.subject_kind'),
          subject_id: row.ref('excluded.subject_id'),
          created_at: row.ref('excluded.created_at'),
        }))
        .where(countsNoMore),
    )
    .returning('subject_id')
    .compile(),
);

/** True if the key was free, or held by an entry that is too old to count. */
async function takeKey(queries: Queries, claim: KeyClaim): Promise<boolean> {
  const [taken] = await take(queries, claim);
  return taken !== undefined;
}

const claimColumns = { merchant_id: 'text', key: 'text', request_hash: 'text', subject_kind: 'text', subject_id: 'text' } as const;

export type ClaimsText = RowsText<typeof claimColumns>;

/** For `claimAll`. */
export function claimsText(claims: readonly KeyClaim[]): ClaimsText {
  const rows = claims.map(({ merchantId, key, requestHash, subjectKind, subjectId }) => ({
    merchant_id: merchantId,
    key,
    request_hash: requestHash,
    subject_kind: subjectKind,
    subject_id: subjectId,
  }));
  return rowsText(claimColumns, rows);
}

/**
 * Claims of many keys in one statement, for those that were seen to be unused in the same commit. One that was taken since makes the
 * statement fail, with all that was written along. In one order, so that two gateways do not lock each other out. `ofThese`: ids of subjects.
 */
export function claimAll(engine: Engine, claims: ClaimsText, ofThese?: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into "idempotency_keys" ("merchant_id", "key", "request_hash", "subject_kind", "subject_id", "created_at")
    select "merchant_id", "key", "request_hash", "subject_kind", "subject_id", now_ms() from ${rowsAs(engine, 'claims', claimColumns, claims)}
    ${ofThese ? sql`where "subject_id" in ${ofThese}` : sql``}
    order by "merchant_id", "key"`;
}

/**
 * Nothing stands under the key, not even what is too old to count: `merchant` and `key` are columns of the statement that it stands in.
 * With a limit, so that PostgreSQL, planning while the table is small, makes no join of it that reads all of it for ever.
 */
export function isUnused(merchant: string, key: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`not exists (
        select 1 from "idempotency_keys" as "used"
        where "used"."merchant_id" = ${sql.ref(merchant)} and "used"."key" = ${sql.ref(key)} limit 1 offset 0
      )`;
}

/** Whether something stands under the key, and be it too old to count. */
export async function isUsed(queries: Queries, merchantId: string, key: string): Promise<boolean> {
  const entry = queries.selectFrom('idempotency_keys').select('subject_id').where('merchant_id', '=', merchantId).where('key', '=', key);
  return (await entry.executeTakeFirst()) !== undefined;
}

const entryOfKey = keptStatement((queries, { merchantId, key }: { merchantId: string; key: string }) =>
  queries
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'subject_kind', 'subject_id'])
    .where('merchant_id', '=', merchantId)
    .where('key', '=', key)
    .where(counts)
    .compile(),
);

/** What the key stands for, unless that is too old to count. */
export async function findKey(queries: Queries, merchantId: string, key: string): Promise<KeyEntry | undefined> {
  const [row] = await entryOfKey(queries, { merchantId, key });
  return row && { requestHash: row.request_hash, subjectKind: row.subject_kind, subjectId: row.subject_id };
}

/** Only outcomes of what was sent are kept: a claim whose command never went out is given back, unless another took its place. */
export async function releaseKey(queries: Queries, merchantId: string, key: string, subjectId: string): Promise<void> {
  await queries
    .deleteFrom('idempotency_keys')
    .where('merchant_id', '=', merchantId)
    .where('key', '=', key)
    .where('subject_id', '=', subjectId)
    .execute();
}

/** Removes the entries that no longer count, and says how many. */
export async function sweepKeys(queries: Queries): Promise<number> {
  const swept = await queries.deleteFrom('idempotency_keys').where(countsNoMore).executeTakeFirst();
  return Number(swept.numDeletedRows);
}

/** The key stands for another attempt of the same request from now on, unless it has gone from `from` to a third one meanwhile. */
export async function moveKey(queries: Queries, merchantId: string, key: string, from: string, to: string): Promise<void> {
  await queries
    .updateTable('idempotency_keys')
    .set({ subject_id: to })
    .where('merchant_id', '=', merchantId)
    .where('key', '=', key)
    .where('subject_id', '=', from)
    .execute();
}

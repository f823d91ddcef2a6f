// The header Idempotency-Key [D13]: the command or invoice of each key, kept for 24 hours by the database's clock. The key of a command is
// kept until 24 hours after the command is settled, and while it is disputed [D143]: a repeat must not execute a second time what a device
// may complete only after a weekend.
// A claim is one statement on the primary key inside the caller's transaction, so exactly one of several concurrent callers gets 'new'.
// A second caller waits for the first commit and then reads its entry, or gets the key if the first was rolled back. A batch of commands
// claims keys that it has found unused with `claimAll`; if one was taken in between, the whole batch fails [D120].
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Queries } from '../database/database.ts';
import { type Engine, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';

const keptMs = 24 * 60 * 60 * 1000;
const sinceKept = sql<number>`now_ms() - ${sql.lit(keptMs)}`;

/** Evaluated only for entries older than 24 hours. */
const isStillNeeded = sql<SqlBool>`exists (
    select 1 from "commands" where "commands"."id" = "idempotency_keys"."subject_id"
      and ("commands"."state" in ('sent', 'unknown') or "commands"."settled_at" > ${sinceKept} or "commands"."state" = 'disputed')
  )`;
const counts = sql<SqlBool>`("idempotency_keys"."created_at" > ${sinceKept} or ${isStillNeeded})`;
const hasExpired = sql<SqlBool>`("idempotency_keys"."created_at" <= ${sinceKept} and not ${isStillNeeded})`;

export type SubjectKind = 'command' | 'invoice';

export interface KeyClaim {
  merchantId: string;
  key: string;
  /** Hash of the route and the body without the API key: another request with the same key is refused. */
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

/** An entry may be released or swept between the two statements; then the claim is retried. */
const claimTries = 5;

export async function claimKey(queries: Queries, claim: KeyClaim): Promise<ClaimResult> {
  for (let tries = 0; tries < claimTries; tries += 1) {
    // Returned if the key was free or its entry had expired.
    const [taken] = await take(queries, claim);
    if (taken) return { kind: 'new' };
    const entry = await findKey(queries, claim.merchantId, claim.key);
    if (entry) {
      if (entry.requestHash !== claim.requestHash) return { kind: 'other' };
      return { kind: 'same', subjectKind: entry.subjectKind, subjectId: entry.subjectId };
    }
  }
  throw new Error('An Idempotency-Key was taken and released repeatedly while it was being claimed.');
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
        .where(hasExpired),
    )
    .returning('subject_id')
    .compile(),
);

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
 * Claims many keys in one statement, after they were found unused in the same transaction. If one was taken in between, the statement
 * fails and the transaction with it. The keys are sorted, so that two gateways do not deadlock. `ofThese`: only the claims of these subjects.
 */
export function claimAll(engine: Engine, claims: ClaimsText, ofThese?: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into "idempotency_keys" ("merchant_id", "key", "request_hash", "subject_kind", "subject_id", "created_at")
    select "merchant_id", "key", "request_hash", "subject_kind", "subject_id", now_ms() from ${rowsAs(engine, 'claims', claimColumns, claims)}
    ${ofThese ? sql`where "subject_id" in ${ofThese}` : sql``}
    order by "merchant_id", "key"`;
}

/**
 * There is no entry for the key, not even an expired one. `merchant` and `key` are columns of the surrounding statement. The limit keeps
 * PostgreSQL, if it plans while the table is small, from caching a join plan that reads the whole table.
 */
export function isUnused(merchant: string, key: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`not exists (
        select 1 from "idempotency_keys" as "used"
        where "used"."merchant_id" = ${sql.ref(merchant)} and "used"."key" = ${sql.ref(key)} limit 1 offset 0
      )`;
}

/** Whether there is an entry for the key, even an expired one. */
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

/** The entry of the key, unless it has expired. */
export async function findKey(queries: Queries, merchantId: string, key: string): Promise<KeyEntry | undefined> {
  const [row] = await entryOfKey(queries, { merchantId, key });
  return row && { requestHash: row.request_hash, subjectKind: row.subject_kind, subjectId: row.subject_id };
}

/** Releases the claim of a command that was never sent, unless the key belongs to another subject by now. */
export async function releaseKey(queries: Queries, merchantId: string, key: string, subjectId: string): Promise<void> {
  await queries
    .deleteFrom('idempotency_keys')
    .where('merchant_id', '=', merchantId)
    .where('key', '=', key)
    .where('subject_id', '=', subjectId)
    .execute();
}

/** Deletes expired entries; returns their number. */
export async function sweepKeys(queries: Queries): Promise<number> {
  const swept = await queries.deleteFrom('idempotency_keys').where(hasExpired).executeTakeFirst();
  return Number(swept.numDeletedRows);
}

/** Moves the key from one attempt of a request to another, unless it no longer belongs to `from`. */
export async function moveKey(queries: Queries, merchantId: string, key: string, from: string, to: string): Promise<void> {
  await queries
    .updateTable('idempotency_keys')
    .set({ subject_id: to })
    .where('merchant_id', '=', merchantId)
    .where('key', '=', key)
    .where('subject_id', '=', from)
    .execute();
}

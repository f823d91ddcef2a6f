// Payments whose receipt failed, and receipts whose payment failed, where one document links the two [D80].
// Of the old core: the new one stores with each operation what its number needs a person for (attention.ts).
// The search starts from the failed half, because failures are few. Still they are thousands in a month, and every open page asks every few
// seconds. So a month is searched every ten minutes, some days at a time, and in between only the last hours. Results are candidates: each
// is checked again by its id whenever it is shown, so a settled one disappears at once.
// Each merchant has its own search, and viewers of all merchants another: the candidates of one merchant do not displace those of others.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { BoundedMap } from '../../../kernel/bounded-map.ts';
import { kindConditions, standingConditions } from '../../../ledger/standing-sql.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { unnoted } from './notes.ts';

export type MismatchKind = 'paymentWithoutReceipt' | 'receiptWithoutPayment';

export type Mismatches = ReturnType<typeof createMismatches>;

const dayMs = 24 * 3_600_000;
/** Older mismatches are shown only in the day's close. */
export const searchedForMs = 31 * dayMs;
const searchedEveryMs = 10 * 60_000;
const recentMs = 2 * 3_600_000;
const maxCandidates = 2_000;
const maxShown = 200;
/** Searched at once: one merchant has fewer rows. */
const spanMs = (scope: Scope) => (scope.merchantId === undefined ? 1 : 8) * dayMs;
/** Merchants whose candidates are cached: the most recently viewed. */
const maxBooks = 1_000;
const kinds = ['paymentWithoutReceipt', 'receiptWithoutPayment'] as const;

const came = standingConditions('p');
const other = standingConditions('o');
const { failed } = standingConditions('c');

/** p: the successful half. */
const standing: Record<MismatchKind, RawBuilder<SqlBool>> = {
  // No receipt names it, under whatever Uid [D146].
  paymentWithoutReceipt: sql`p.document_nr is not null and ${kindConditions('p').payment} and ${came.keepsMoney} and not ${came.refunded}
    and not exists (select 1 from receipt_payments r join commands o on o.id = r.print_id where r.payment_id = p.id and ${other.openOrDone})`,
  receiptWithoutPayment: sql`p.receipt_uid is not null and ${kindConditions('p').print} and ${came.done}`,
};
/** c: the failed half. A UUID as documentNr is stored in lower case, a Receipt.Uid as the ERP wrote it. */
const { payment, print } = kindConditions('c');
const failedHalf: Record<MismatchKind, RawBuilder<SqlBool>> = { paymentWithoutReceipt: print, receiptWithoutPayment: payment };
const linked: Record<MismatchKind, RawBuilder<SqlBool>> = {
  paymentWithoutReceipt: sql`p.merchant_id = c.merchant_id and p.document_nr = lower(c.receipt_uid)`,
  receiptWithoutPayment: sql`p.merchant_id = c.merchant_id and p.receipt_uid in (c.document_nr, upper(c.document_nr))`,
};
/** The same from the other side: the failed half, found by the number of the successful one. */
const byNumber: Record<MismatchKind, RawBuilder<SqlBool>> = {
  paymentWithoutReceipt: sql`c.merchant_id = p.merchant_id and c.receipt_uid is not null and c.receipt_uid in (p.document_nr, upper(p.document_nr))`,
  receiptWithoutPayment: sql`c.merchant_id = p.merchant_id and c.document_nr is not null and c.document_nr = lower(p.receipt_uid)`,
};
/** No other attempt of the failed half has succeeded or may still succeed. */
const noOther: Record<MismatchKind, RawBuilder<SqlBool>> = {
  paymentWithoutReceipt: sql`not exists (select 1 from commands o where o.merchant_id = c.merchant_id and o.receipt_uid = c.receipt_uid and o.receipt_uid is not null
    and ${other.openOrDone})`,
  receiptWithoutPayment: sql`not exists (select 1 from commands o where o.merchant_id = c.merchant_id and o.document_nr = c.document_nr and o.document_nr is not null
    and ${kindConditions('o').payment} and ${other.openOrDone})`,
};

type Candidates = Record<MismatchKind, string[]>;

/** The candidates of one scope, newest first. */
interface Book {
  candidates: Candidates;
  searchedAtMs: number | undefined;
  searching: Promise<void> | undefined;
}

export function createMismatches() {
  const books = new BoundedMap<string, Book>(maxBooks);

  function bookOf({ merchantId = '*' }: Scope): Book {
    const book = books.get(merchantId) ?? { candidates: noCandidates(), searchedAtMs: undefined, searching: undefined };
    books.delete(merchantId);
    books.set(merchantId, book);
    return book;
  }

  return {
    /** Ids of the successful half. `isCut`: there may be older ones. */
    async read(queries: Queries, scope: Scope, nowMs: number): Promise<Record<MismatchKind, string[]> & { isCut: boolean }> {
      const book = bookOf(scope);
      book.searching ??= search(book, queries, scope, nowMs).finally(() => {
        book.searching = undefined;
      });
      await book.searching;
      const { candidates } = book;
      return {
        paymentWithoutReceipt: await stillMissing(queries, scope, 'paymentWithoutReceipt', candidates.paymentWithoutReceipt),
        receiptWithoutPayment: await stillMissing(queries, scope, 'receiptWithoutPayment', candidates.receiptWithoutPayment),
        isCut: kinds.some((kind) => candidates[kind].length >= maxCandidates),
      };
    },
  };
}

function noCandidates(): Candidates {
  return { paymentWithoutReceipt: [], receiptWithoutPayment: [] };
}

/** Newest first: above the bound the oldest are left out. */
const newestOf = (...ids: string[][]) => [...new Set(ids.flat())].slice(0, maxCandidates);

async function search(book: Book, queries: Queries, scope: Scope, nowMs: number): Promise<void> {
  const { searchedAtMs, candidates } = book;
  const isDue = searchedAtMs === undefined || nowMs - searchedAtMs >= searchedEveryMs || nowMs < searchedAtMs;
  const found = noCandidates();
  for (const kind of kinds) {
    if (!isDue) {
      const recent = await findCandidates(queries, scope, kind, nowMs - recentMs, nowMs + dayMs);
      found[kind] = newestOf(recent, candidates[kind]);
      continue;
    }
    for (let toMs = nowMs + dayMs; toMs > nowMs - searchedForMs && found[kind].length < maxCandidates; toMs -= spanMs(scope)) {
      found[kind] = newestOf(found[kind], await findCandidates(queries, scope, kind, toMs - spanMs(scope), toMs));
    }
  }
  book.candidates = found;
  if (isDue) book.searchedAtMs = nowMs;
}

/** The mismatches among these ids, of any age. */
export async function findMismatchesOf(queries: Queries, scope: Scope, ids: readonly string[]): Promise<Record<MismatchKind, string[]>> {
  const found = noCandidates();
  if (ids.length === 0) return found;
  for (const kind of kinds) found[kind] = await stillMissing(queries, scope, kind, await failedHalvesOf(queries, kind, ids));
  return found;
}

async function failedHalvesOf(queries: Queries, kind: MismatchKind, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from commands p where p.id in (${sql.join(ids)}) and ${standing[kind]} and exists
      (select 1 from commands c where ${byNumber[kind]} and ${failed} and ${failedHalf[kind]})`.execute(queries);
  return rows.map(({ id }) => id);
}

async function findCandidates(queries: Queries, scope: Scope, kind: MismatchKind, fromMs: number, toMs: number): Promise<string[]> {
  const merchants = scope.merchantId === undefined ? sql`in (select m.id from merchants m)` : sql`= ${scope.merchantId}`;
  const { rows } = await sql<{ id: string }>`
    select p.id from settlements s join commands c on c.id = s.command_id join commands p on ${linked[kind]} and ${standing[kind]}
    where s.failed_merchant_id ${merchants} and s.failed_issued_at >= cast(${fromMs} as bigint) and s.failed_issued_at < cast(${toMs} as bigint)
      and ${failed} and ${failedHalf[kind]} and ${noOther[kind]} and ${unnoted(kind, sql`p.id`)}
    order by c.issued_at desc limit ${sql.lit(maxCandidates)}`.execute(queries);
  return rows.map(({ id }) => id);
}

async function stillMissing(queries: Queries, scope: Scope, kind: MismatchKind, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const turned: Record<MismatchKind, RawBuilder<SqlBool>> = {
    paymentWithoutReceipt: sql`not exists (select 1 from commands o where o.merchant_id = p.merchant_id and o.receipt_uid is not null and ${kindConditions('o').print}
      and o.receipt_uid in (p.document_nr, upper(p.document_nr)) and ${other.openOrDone})`,
    receiptWithoutPayment: sql`not exists (select 1 from commands o where o.merchant_id = p.merchant_id and o.document_nr is not null and ${kindConditions('o').payment}
      and o.document_nr = lower(p.receipt_uid) and ${other.openOrDone})`,
  };
  const { rows } = await sql<{ id: string }>`
    select p.id from commands p where p.id in (${sql.join(ids)}) and ${standing[kind]} and ${turned[kind]} and ${ownedBy(scope, sql`p.merchant_id`)}
      and ${unnoted(kind, sql`p.id`)}
    order by p.issued_at + 0 desc limit ${sql.lit(maxShown)}`.execute(queries);
  return rows.map(({ id }) => id);
}

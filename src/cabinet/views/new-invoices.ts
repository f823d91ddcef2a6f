// Invoices created since the last query, for the event stream: a new invoice has no history row yet.
// They are found by their creation time, which is the database's. Each query starts before the newest one seen, by the longest time of a
// transaction, and skips invoices already reported.
import { sql } from 'kysely';
import type { Queries } from '../../database/database.ts';

interface Row {
  oid: string;
  merchant_id: string;
  created_at: number;
}

const maxRows = 1_000;

export function createNewInvoiceReader(lateCommitsMs: number) {
  let newestMs: number | undefined;
  const reported = new Map<string, number>();

  async function readFrom(queries: Queries, fromMs: number): Promise<Row[]> {
    const found: Row[] = [];
    for (let last: Row | undefined; ; ) {
      const [atMs, oid] = [last?.created_at ?? fromMs, last?.oid ?? ''];
      const { rows } = await sql<Row>`select oid, merchant_id, created_at from invoices
        where created_at >= cast(${atMs} as bigint) and (created_at > cast(${atMs} as bigint) or oid > cast(${oid} as text))
        order by created_at, oid limit ${sql.lit(maxRows)}`.execute(queries);
      found.push(...rows);
      last = rows.at(-1);
      if (last === undefined || rows.length < maxRows) return found;
    }
  }

  return {
    /** The first call only stores the position. */
    async read(queries: Queries) {
      const isFirst = newestMs === undefined;
      if (newestMs === undefined) {
        const { rows } = await sql<{ at: number | null }>`select max(created_at) as at from invoices`.execute(queries);
        newestMs = rows[0]?.at ?? 0;
      }
      const fromMs = newestMs - lateCommitsMs;
      for (const [oid, atMs] of reported) if (atMs < fromMs) reported.delete(oid);
      const fresh = (await readFrom(queries, fromMs)).filter(({ oid }) => !reported.has(oid));
      for (const row of fresh) {
        reported.set(row.oid, row.created_at);
        newestMs = Math.max(newestMs, row.created_at);
      }
      return isFirst ? [] : fresh.map((row) => ({ oid: row.oid, merchantId: row.merchant_id }));
    },
  };
}

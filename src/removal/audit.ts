// Removes audit entries after the retention time [D66]. They leave no tombstone: no call can repeat one.
import type { Database, Queries } from '../database/database.ts';
import { type Aged, oldestAllowed, type Removable } from './page.ts';

export const removableAuditEntries: Removable = { what: 'audit entries', page, filter: async (_queries, ids) => [...ids], remove };

async function page(queries: Queries, keepDays: number, after: Aged | undefined, limit: number): Promise<Aged[]> {
  const rows = await queries
    .selectFrom('audit_log')
    .select(['id', 'at'])
    .where('at', '<=', oldestAllowed(keepDays))
    .$if(after !== undefined, (query) =>
      query.where((row) => row(row.refTuple('at', 'id'), '>', row.tuple(after?.atMs ?? 0, Number(after?.id)))),
    )
    .orderBy('at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, at }) => ({ id: String(id), atMs: at }));
}

async function remove({ queries }: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('audit_log').where('id', '=', Number(id)).executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

// Removes audit entries after the retention time [D66]. They leave no tombstone: no call can repeat one.
import type { Database } from '../database/database.ts';
import { pagesBy, type Removable } from './page.ts';

export const removableAuditEntries: Removable = {
  what: 'audit entries',
  page: pagesBy('audit_log', 'at', 'id', { isNumber: true }),
  filter: async (_queries, ids) => [...ids],
  remove,
};

async function remove({ queries }: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('audit_log').where('id', '=', Number(id)).executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

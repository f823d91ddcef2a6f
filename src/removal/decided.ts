// Settled operations and ended invoices of the new core, whose rules decide what may go [D66, D300]: each is one event, and its commit leaves the
// tombstone. Here is only which rows are old enough to be asked about.
//
// If the process dies before that commit, the record is complete; after it, a tombstone. Its entry among the settlements goes afterwards: one
// that was left is met by the next round.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { oldestAllowed, pagesBy, type Removable } from './page.ts';

/** True: it is a tombstone now. */
type Remove = (id: string, given: { isCallbackPending: boolean }) => Promise<boolean>;

export interface DecidedRemovals {
  operation: Remove;
  invoice: Remove;
}

export function removableOperations(remove: DecidedRemovals['operation']): Removable {
  return {
    what: 'commands',
    page: pagesBy('settlements', 'settled_at', 'command_id'),
    filter: longLookedAt,
    async remove({ queries }, id, atMs) {
      const isRemoved = await remove(id, { isCallbackPending: await isCallbackPending(queries, id) });
      if (isRemoved && atMs !== undefined)
        await queries.deleteFrom('settlements').where('settled_at', '=', atMs).where('command_id', '=', id).execute();
      return isRemoved;
    },
  };
}

/** What a person has resolved or looked at is as old as that. */
async function longLookedAt(queries: Queries, ids: readonly string[], keepDays = 0): Promise<string[]> {
  const rows = await queries
    .selectFrom('commands')
    .select('id')
    .where('id', 'in', ids)
    .where((row) => row.or([row('reviewed_at', 'is', null), row('reviewed_at', '<=', oldestAllowed(keepDays))]))
    .execute();
  return rows.map(({ id }) => id);
}

export function removableEndedInvoices(remove: DecidedRemovals['invoice']): Removable {
  return {
    what: 'invoices',
    page: pagesBy('invoices', 'ended_at', 'oid', { isCandidate: sql`removed_at is null` }),
    filter: async (_queries, oids) => [...oids],
    remove: async ({ queries }, oid) => remove(oid, { isCallbackPending: await isCallbackPending(queries, oid) }),
  };
}

async function isCallbackPending(queries: Queries, subjectId: string): Promise<boolean> {
  const pending = queries.selectFrom('callbacks').select('id').where('subject_id', '=', subjectId).where('state', '=', 'pending').limit(1);
  return (await pending.execute()).length > 0;
}

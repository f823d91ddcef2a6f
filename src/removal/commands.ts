// Settled commands that are no longer needed [D66]. What they were sent and what they answered goes, with the timeline; the row stays, small:
// merchant, device, call, documentNr, Receipt.Uid, content hash, amount, the bank's numbers and how it ended; of a report also whether it was
// a Z, since the day of the next one begins there [D85].
//
// Why the row stays where it is: its number is claimed before, while and after it is made small, so a repeat that comes in that very moment
// finds it in one of its two forms, on both engines.
//
// One transaction a command. Dying before its commit leaves the command whole; dying after it leaves it small: there is nothing in between.
// Done twice (two instances, a commit whose answer was lost), the second finds `removed_at` and changes nothing.
import { type ExpressionBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Schema } from '../database/schema.ts';
import { mainNumberOf, reclaimNumbers, releaseContent } from '../ledger/claims.ts';
import type { Command } from '../ledger/command.ts';
import { forgetSettlement } from '../ledger/settlements.ts';
import { confirmDecision, lockCommand } from '../ledger/store.ts';
import { type Aged, oldestAllowed, type Removable } from './page.ts';

export const removableCommands: Removable = { what: 'commands', page, filter: (queries, ids) => stillRemovable(queries, ids), remove };

/** Kept ones that were settled longer ago, whatever else speaks against removing them: reading on is what counts here. */
async function page(queries: Queries, keepDays: number, after: Aged | undefined, limit: number): Promise<Aged[]> {
  return await queries
    .selectFrom('settlements')
    .select(['command_id as id', 'settled_at as atMs'])
    .where('settled_at', '<=', oldestAllowed(keepDays))
    .$if(after !== undefined, (query) =>
      query.where((row) => row(row.refTuple('settled_at', 'command_id'), '>', row.tuple(after?.atMs ?? 0, after?.id ?? ''))),
    )
    .orderBy('settled_at')
    .orderBy('command_id')
    .limit(limit)
    .execute();
}

/** Those that nothing kept still needs: no operator has to look at them, and nothing refers to them. */
async function stillRemovable(queries: Queries, ids: readonly string[]): Promise<string[]> {
  const rows = await queries
    .selectFrom('commands as c')
    .select('c.id')
    .where('c.id', 'in', ids)
    .where('c.removed_at', 'is', null)
    .where('c.state', 'in', ['done', 'refused', 'never'])
    .where((row) => row.or([row('c.document_state', 'is', null), row('c.document_state', '!=', 'open')]))
    .where((row) => row.or([row('c.review_since', 'is', null), row('c.reviewed_at', 'is not', null)]))
    // Its number stays taken, and answers about it stay true [D129].
    .where('c.state', '!=', 'disputed')
    .where(({ not, exists }) => not(exists(pendingCallback)))
    .where(({ not, exists }) => not(exists(keptFollower)))
    .where(({ not, exists }) => not(exists(openInvoice)))
    .execute();
  return rows.map(({ id }) => id);
}

type OfCommand = ExpressionBuilder<Schema & { c: Schema['commands'] }, 'c'>;

function pendingCallback({ selectFrom }: OfCommand) {
  return selectFrom('callbacks')
    .select('callbacks.id')
    .whereRef('callbacks.subject_id', '=', 'c.id')
    .where('callbacks.state', '=', 'pending');
}

/** A refund, void or CloseDoc of it. */
function keptFollower({ selectFrom }: OfCommand) {
  return selectFrom('commands as follower')
    .select('follower.id')
    .whereRef('follower.target_id', '=', 'c.id')
    .where('follower.removed_at', 'is', null);
}

/** [D19] An invoice that can still be paid: after a refused payment its number must stay free for another try. */
function openInvoice({ selectFrom }: OfCommand) {
  return selectFrom('invoices')
    .select('invoices.oid')
    .whereRef('invoices.oid', '=', 'c.document_nr')
    .whereRef('invoices.merchant_id', '=', 'c.merchant_id')
    .where('invoices.ended_at', 'is', null);
}

async function wasTriedAgain(queries: Queries, command: Command): Promise<boolean> {
  const main = mainNumberOf(command);
  if (!main) return false;
  const later = await queries
    .selectFrom('commands')
    .select('id')
    .where('merchant_id', '=', command.merchantId)
    .where(main.kind === 'document' ? 'document_nr' : 'receipt_uid', '=', main.number)
    .where('name', '=', command.name)
    .where('issued_at', '>', command.issuedAtMs)
    .limit(1)
    .executeTakeFirst();
  return later !== undefined;
}

async function remove({ engine, transaction }: Database, id: string): Promise<boolean> {
  return await transaction(async (queries) => {
    // The lock first, in a statement of its own: a refund of this payment holds it while it is being written, and only a look
    // that begins after the lock was had sees that refund. Under the lock a newer one waits, and then finds the payment removed.
    const command = await lockCommand(engine, queries, id);
    if ((await stillRemovable(queries, [id])).length === 0) return false;
    // From now on its number stays taken. What was tried again since keeps it for itself, or is removed later.
    if (command.state !== 'done' && !(await wasTriedAgain(queries, command))) await reclaimNumbers(queries, command);
    await releaseContent(queries, command);
    await confirmDecision(queries, command);
    await forgetSettlement(queries, command);
    await queries.deleteFrom('command_events').where('command_id', '=', id).execute();
    await queries.deleteFrom('command_step_counts').where('command_id', '=', id).execute();
    await queries.deleteFrom('search_terms').where('subject_id', '=', id).execute();
    await queries
      .updateTable('commands')
      .set({
        removed_at: nowMs,
        args: sql<string>`case when closes_day = 1 then args else '{}' end`,
        callback_uri: null,
        journal_id: null,
        report: null,
        reason: null,
        review_since: null,
        review_reason: null,
        reviewed_at: null,
        contradiction: null,
        caller: null,
        request: null,
        receipt_id: null,
      })
      .where('id', '=', id)
      .execute();
    return true;
  });
}

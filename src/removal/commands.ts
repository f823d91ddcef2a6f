// Removes settled commands after the retention time [D66]. Arguments, report and timeline are deleted; the row stays as a tombstone:
// merchant, device, call, documentNr, Receipt.Uid, content hash, amount, the bank's numbers and the outcome; of a fiscal report also
// whether it was a Z, because the day of the next one begins there [D85].
//
// The tombstone is the same row, so its number stays claimed all the time: a repeat at that moment finds the row before or after the
// removal, on both engines.
//
// One transaction per command: if the process dies before the commit, the command is complete; after it, a tombstone.
// A second removal (two instances, a commit whose answer was lost) finds `removed_at` and changes nothing.
import { type ExpressionBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Schema } from '../database/schema.ts';
import { mainNumberOf, reclaimNumbers, releaseContent } from '../ledger/claims.ts';
import type { Command } from '../ledger/command.ts';
import { forgetSettlement } from '../ledger/settlements.ts';
import { confirmDecision, lockCommand } from '../ledger/store.ts';
import { pagesBy, type Removable } from './page.ts';

export const removableCommands: Removable = {
  what: 'commands',
  // Without further conditions, so that the next page continues after them.
  page: pagesBy('settlements', 'settled_at', 'command_id'),
  filter: stillRemovable,
  remove,
};

/** Commands that are not needed any more: they are not on the review list, and no kept row refers to them. */
async function stillRemovable(queries: Queries, ids: readonly string[]): Promise<string[]> {
  const rows = await queries
    .selectFrom('commands as c')
    .select('c.id')
    .where('c.id', 'in', ids)
    .where('c.removed_at', 'is', null)
    .where('c.state', 'in', ['done', 'refused', 'never'])
    .where((row) => row.or([row('c.document_state', 'is', null), row('c.document_state', '!=', 'open')]))
    .where((row) => row.or([row('c.review_since', 'is', null), row('c.reviewed_at', 'is not', null)]))
    // Its number stays claimed, and answers about it stay correct [D129].
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

/** [D19] An invoice that can still be paid: after a refused payment, its number must stay free for another attempt. */
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
    // Locks first, in a separate statement: a refund of this payment has the lock while it is being written, and only a query that begins
    // after the lock is acquired sees that refund. A newer refund waits for the lock, and then finds the payment removed.
    const command = await lockCommand(engine, queries, id);
    if ((await stillRemovable(queries, [id])).length === 0) return false;
    // From now on its number stays claimed. If it was tried again since, the later attempt has the number, or is removed later.
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

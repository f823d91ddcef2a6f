// What waits for a person or for its device, for the metrics. Each figure reads few rows: the review list and dead callbacks have their own
// indexes, open commands are found by the device locks, and refused payments and unmatched reports are rare.
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { isOpenReport } from '../../../ledger/unmatched.ts';
import { moneySql } from '../money-sql.ts';
import { unnoted } from './notes.ts';

export interface WaitingFigures {
  /** Commands on the review list. */
  review: number;
  /** Of these, settled commands that an answer of their device contradicts. */
  contradictions: number;
  /** Orphans: payments that their invoices could not accept, then or later, and that have no note. */
  orphans: number;
  /** Reports of money for which there is no row, and that have no note [D295]. */
  unmatched: number;
  /** Dead callbacks without a note and without a later callback about the same invoice or operation. */
  deadCallbacks: number;
  /** Of the open commands whose caller waits, and of those whose caller was answered 3 or has left: the longest time in this state. */
  oldestWaitingMs: number;
  oldestWithoutAnswerMs: number;
}

const none: WaitingFigures = {
  review: 0,
  contradictions: 0,
  orphans: 0,
  unmatched: 0,
  deadCallbacks: 0,
  oldestWaitingMs: 0,
  oldestWithoutAnswerMs: 0,
};

export async function countWaiting(queries: Queries): Promise<WaitingFigures> {
  const { of, orphan } = moneySql();
  const { locking, open } = of('commands');
  const { rows } = await sql<WaitingFigures>`
    select
      (select count(*) from commands where review_since is not null and reviewed_at is null) as review,
      (select count(*) from commands where review_since is not null and reviewed_at is null and settled_at is not null) as contradictions,
      (select count(*) from orphan_payments o where ${orphan.isListed} and ${unnoted('paydRefused', sql`cast(o.id as text)`, sql`o.version`)}) as orphans,
      (select count(*) from unmatched_reports u where ${isOpenReport}) as unmatched,
      (select count(*) from callbacks c where c.state = 'dead' and not exists
        (select 1 from notes n where n.kind = 'erpNotNotified' and n.subject_id = c.id) and not exists
        (select 1 from callbacks later where later.subject_id = c.subject_id and later.sequence > c.sequence)) as "deadCallbacks",
      oldest.*
    from (select
      coalesce(max(case when outcome_missed_at is null then now_ms() - issued_at end), 0) as "oldestWaitingMs",
      coalesce(max(now_ms() - outcome_missed_at), 0) as "oldestWithoutAnswerMs"
      from commands where ${locking} and ${open}) oldest`.execute(queries);
  return rows[0] ?? none;
}

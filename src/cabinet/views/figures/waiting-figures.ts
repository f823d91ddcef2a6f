// Four counts of items that wait for a person, for the metrics. Each reads few rows: the review list and dead callbacks have their own
// indexes, and refused payments and unmatched reports are rare.
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { isStillOrphan } from '../../../invoices/store.ts';
import { isOpenReport } from '../../../ledger/unmatched.ts';

export interface WaitingFigures {
  /** Commands on the review list. */
  review: number;
  /** Orphans: payments that their invoices could not accept, then or later, and that have no note. */
  orphans: number;
  /** Reports of money for which there is no row, and that have no note [D295]. */
  unmatched: number;
  /** Dead callbacks without a note and without a later callback about the same invoice or operation. */
  deadCallbacks: number;
}

export async function countWaiting(queries: Queries): Promise<WaitingFigures> {
  const { rows } = await sql<WaitingFigures>`
    select
      (select count(*) from commands where review_since is not null and reviewed_at is null) as review,
      (select count(*) from orphan_payments o where ${isStillOrphan} and not exists
        (select 1 from notes n where n.kind = 'paydRefused' and n.subject_id = cast(o.id as text))) as orphans,
      (select count(*) from unmatched_reports u where ${isOpenReport}) as unmatched,
      (select count(*) from callbacks c where c.state = 'dead' and not exists
        (select 1 from notes n where n.kind = 'erpNotNotified' and n.subject_id = c.id) and not exists
        (select 1 from callbacks later where later.subject_id = c.subject_id and later.sequence > c.sequence)) as "deadCallbacks"`.execute(
    queries,
  );
  return rows[0] ?? { review: 0, orphans: 0, unmatched: 0, deadCallbacks: 0 };
}

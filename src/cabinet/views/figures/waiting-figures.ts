// How much waits for a person, in three counts for the metrics. Each looks into few rows: those on the review list and those that are dead
// have indexes of their own, and refused payments are rare.
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { isStillOrphan } from '../../../invoices/store.ts';

export interface WaitingFigures {
  /** Commands on the review list. */
  review: number;
  /** Payments that their invoices could not take, neither then nor later, and that nobody has noted. */
  orphans: number;
  /** Dead callbacks that nobody has noted and no later one about the same thing has made good. */
  untold: number;
}

export async function countWaiting(queries: Queries): Promise<WaitingFigures> {
  const { rows } = await sql<WaitingFigures>`
    select
      (select count(*) from commands where review_since is not null and reviewed_at is null) as review,
      (select count(*) from orphan_payments o where ${isStillOrphan} and not exists
        (select 1 from notes n where n.kind = 'paydRefused' and n.subject_id = cast(o.id as text))) as orphans,
      (select count(*) from callbacks c where c.state = 'dead' and not exists
        (select 1 from notes n where n.kind = 'erpNotTold' and n.subject_id = c.id) and not exists
        (select 1 from callbacks later where later.subject_id = c.subject_id and later.sequence > c.sequence)) as untold`.execute(queries);
  return rows[0] ?? { review: 0, orphans: 0, untold: 0 };
}

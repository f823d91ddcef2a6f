// Deletes delivered callbacks and their attempts after the retention time. Pending and dead ones are kept: they may still be delivered.
// Several gateways may delete at once: each takes the rows that the others have not locked, in small transactions.

import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { skipLocked } from '../database/dialect.ts';
import type { Shared } from '../database/shared-deps.ts';
import { createRounds, type Rounds } from '../kernel/rounds.ts';

const dayMs = 24 * 3_600_000;
const clearEveryMs = 3_600_000;
const batchSize = 500;

export interface RetentionDeps extends Pick<Shared, 'database' | 'clock' | 'logger'> {
  keepDays: number;
}

/** Deletes callbacks delivered longer ago and returns their number. For a resent callback, the last round counts. */
export async function clearDelivered(database: Database, keepDays: number): Promise<number> {
  for (let total = 0; ; ) {
    const count = await clearBatch(database, keepDays);
    total += count;
    if (count < batchSize) return total;
  }
}

async function clearBatch({ engine, transaction }: Database, keepDays: number): Promise<number> {
  const latest = sql<number>`(select now_ms() - ${sql.lit(keepDays * dayMs)})`;
  return await transaction(async (queries) => {
    const old = queries
      .selectFrom('callbacks')
      .select('id')
      .where('state', '=', sql.lit('delivered'))
      // `created_at` is implied; it makes the index by age usable.
      .where('created_at', '<=', latest)
      .where('ended_at', '<=', latest)
      .orderBy('created_at')
      .limit(batchSize);
    const ids = (await skipLocked(engine, old).execute()).map(({ id }) => id);
    if (ids.length === 0) return 0;
    await queries.deleteFrom('callback_attempts').where('callback_id', 'in', ids).execute();
    await queries.deleteFrom('callbacks').where('id', 'in', ids).execute();
    return ids.length;
  });
}

export function createRetention({ database, clock, logger, keepDays }: RetentionDeps): Rounds {
  const work = () => clearDelivered(database, keepDays);
  return createRounds({ clock, logger, periodMs: clearEveryMs, work, complaint: 'old delivered callbacks could not be removed' });
}

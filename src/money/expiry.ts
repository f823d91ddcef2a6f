// The sweep: overdue invoices become Expired, and their ERPs get a callback, without any request [D23]. It selects ids only, oldest limit
// first; the event Expire of each decides. Several gateways may sweep at once: every invoice moves once.
// An invoice that the database rejects does not block the others: it is skipped for a while, each time for longer.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { isCertainlyUndone } from '../database/errors.ts';
import type { Shared } from '../database/shared-deps.ts';
import { PutAside } from '../kernel/put-aside.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import { createRounds } from '../kernel/rounds.ts';
import type { Run } from './run.ts';

/** Decided at once; a sweep goes on with the next ones. */
const pageSize = 16;
/** If so many fail before one could be moved, perhaps none can: the next sweep begins behind them. */
const maxInVain = 100;
const pauses = { firstMs: 10_000, maxMs: 600_000 };
const defaultPeriodMs = 5_000;

interface Deps extends Pick<Shared, 'database' | 'clock' | 'logger'> {
  run: Run;
  scanGraceS: number;
  sweepPeriodMs?: number | undefined;
}

interface Overdue {
  oid: string;
  validTo: number;
}

export function createExpirySweep({ database, clock, run, scanGraceS, sweepPeriodMs, ...deps }: Deps) {
  const aside = new PutAside(clock, pauses);
  const logger = restrainLogger(deps.logger, clock);

  async function expire({ oid }: Overdue): Promise<'expired' | 'kept' | 'failed'> {
    try {
      const { added } = await run({ type: 'Expire', oid });
      return added && added.history.length > 0 ? 'expired' : 'kept';
    } catch (error) {
      if (!isCertainlyUndone(error)) throw error;
      logger.error({ oid, retryMs: aside.add(oid), err: error }, 'an overdue invoice could not be made Expired; it will be retried');
      return 'failed';
    }
  }

  /** Makes every overdue invoice Expired now; returns their number. */
  async function expireOverdue(): Promise<number> {
    let last: Overdue = { oid: '', validTo: Number.MIN_SAFE_INTEGER };
    for (let count = 0, inVain = 0; ; ) {
      const page = await overdueAfter(database.queries, last, scanGraceS * 1000);
      const results = await Promise.all(page.filter(({ oid }) => !aside.has(oid)).map(expire));
      const counted = (wanted: (typeof results)[number]) => results.filter((result) => result === wanted).length;
      count += counted('expired');
      inVain = counted('expired') > 0 ? 0 : inVain + counted('failed');
      if (page.length < pageSize || inVain >= maxInVain) return count;
      last = page.at(-1) ?? last;
    }
  }

  const rounds = createRounds({
    ...{ clock, logger: deps.logger, periodMs: sweepPeriodMs ?? defaultPeriodMs, work: expireOverdue },
    complaint: 'overdue invoices could not be swept',
  });
  return { expireOverdue, start: () => rounds.start(), stop: () => rounds.stop() };
}

/** Whether one is overdue, is decided by the rules: this leaves out those that were paid by card, which may stay for long. */
async function overdueAfter(queries: Queries, last: Overdue, graceMs: number): Promise<Overdue[]> {
  return await queries
    .selectFrom('invoices')
    .select(['oid', sql<number>`valid_to`.as('validTo')])
    .where('ended_at', 'is', null)
    .where('valid_to', 'is not', null)
    // In a subquery, because PostgreSQL uses an index only for a value that it computes once.
    .where('valid_to', '<=', sql<number>`(select ${nowMs})`)
    .where(sql<boolean>`(scanned_at is null or valid_to <= ${nowMs} - ${sql.lit(graceMs)})`)
    .where('is_paid_by_card', '=', 0)
    .where(sql<boolean>`(valid_to, oid) > (${last.validTo}, ${last.oid})`)
    .orderBy('valid_to')
    .orderBy('oid')
    .limit(pageSize)
    .execute();
}

// Precomputes the sums of hours in the background, so that opening the first page does not sum weeks (views/hour-sums.ts).
// One instance at a time sums an hour, then pauses; the empty hours before the first sale, weeks in a new shop, are stored at once.
// Hours of the last day are summed again every hour, because the payment of a receipt or an invoice may follow later. Sums that no page
// shows any more are deleted.
//
// A page computes missing sums itself: if this job dies, lags or runs twice, pages are slower, but no figure is wrong.

import { nowMs } from '../../database/dialect.ts';
import type { Shared } from '../../database/shared-deps.ts';
import { keepTurn, takeTurn } from '../../database/turn.ts';
import { sleep } from '../../kernel/clock.ts';
import { createRounds } from '../../kernel/rounds.ts';
import { lateAfterMs } from '../../ledger/settlements.ts';
import { hourMs } from '../views/figures/hour-figures.ts';
import { sumHour, sumIdleHours } from '../views/figures/hour-sums.ts';

type Deps = Pick<Shared, 'database' | 'clock' | 'logger' | 'instanceId'>;

const dayMs = 24 * hourMs;
/** Seven days and the seven before them, in any time zone. */
const keptForMs = 16 * dayMs;
const lookEveryMs = 60_000;
/** Longer than summing an hour takes. */
const turnMs = 60_000;
const sumsAgainAfterMs = hourMs;
/** The first round over two weeks must not take the disk from payments. */
const pauseMs = 25;

export function createHourKeeper({ database, clock, logger, instanceId }: Deps) {
  const { queries } = database;
  // In small steps with pauses: a gateway whose cabinet is never opened needs no second connection for it.
  const unhurried = { ...database, pages: queries };
  const turn = { work: 'hour sums', instanceId };
  let isStopped = false;

  async function look(): Promise<void> {
    if (!(await takeTurn(queries, turn, turnMs))) return;
    const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
    // Also delete sums dated in the future (the clock ran ahead): they would hide later sales.
    await queries
      .deleteFrom('hour_sums')
      .where((where) => where.or([where('start_ms', '<', now - keptForMs), where('made_at', '>', now)]))
      .execute();
    for (const startMs of await sumIdleHours(database, await dueHours(now))) {
      if (isStopped || !(await keepTurn(queries, turn, turnMs))) return;
      await sumHour(unhurried, startMs);
      await sleep(clock, pauseMs);
    }
    await keepTurn(queries, turn, lookEveryMs);
  }

  /** Newest first: they are shown most. */
  async function dueHours(now: number): Promise<number[]> {
    const summed = await queries.selectFrom('hour_sums').select(['start_ms', 'made_at']).where('merchant_id', '=', '').execute();
    const madeAt = new Map(summed.map((row) => [row.start_ms, row.made_at]));
    const newest = Math.floor((now - lateAfterMs) / hourMs) * hourMs - hourMs;
    const due: number[] = [];
    for (let startMs = newest; startMs > now - keptForMs; startMs -= hourMs) {
      const madeAtMs = madeAt.get(startMs);
      const isYoung = startMs > now - dayMs;
      if (madeAtMs === undefined || (isYoung && madeAtMs <= now - sumsAgainAfterMs)) due.push(startMs);
    }
    return due;
  }

  const complaint = 'past hours could not be summed; the gateway will retry';
  const rounds = createRounds({ clock, logger, periodMs: lookEveryMs, work: look, complaint });

  return {
    start: rounds.start,
    /** Resolves when the current hour is summed. */
    async stop(): Promise<void> {
      isStopped = true;
      await rounds.stop();
    },
  };
}

// Keeps the sums of hours ready, in the background, so that opening the first page does not sum weeks (views/hour-sums.ts).
// An hour at a time with a pause between, by one instance at a time; those before the first sale, weeks of them in a new shop, all at once.
// Hours of the last day are summed again every hour: what belongs to a receipt or an invoice may be paid later than it. Sums that no page
// shows any more are removed.
//
// It only repeats what a page would do by itself: if it dies, lags behind or runs twice, pages are slower and no figure is wrong.
import type { Database } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import { keepTurn, takeTurn } from '../../database/turn.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { createRounds } from '../../kernel/rounds.ts';
import { lateAfterMs } from '../../ledger/settlements.ts';
import { hourMs, sumHour, sumIdleHours } from '../views/figures/hour-sums.ts';

export interface HourKeeper {
  start(): void;
  /** Resolves when the hour that is being summed is done. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
}

const dayMs = 24 * hourMs;
/** Seven days and the seven before them, in whatever zone. */
const keptForMs = 16 * dayMs;
const lookEveryMs = 60_000;
/** More than an hour takes to be summed. */
const turnMs = 60_000;
const sumsAgainAfterMs = hourMs;
/** A first round over two weeks must leave the disk to the tills. */
const pauseMs = 25;

export function createHourKeeper({ database, clock, logger, instanceId }: Deps): HourKeeper {
  const { queries } = database;
  const turn = { work: 'hour sums', instanceId };
  let isStopped = false;

  async function look(): Promise<void> {
    if (!(await takeTurn(queries, turn, turnMs))) return;
    const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
    // And what was summed in a future that was none, by a clock that was ahead for a while: it would hide all that was sold since.
    await queries
      .deleteFrom('hour_sums')
      .where((where) => where.or([where('start_ms', '<', now - keptForMs), where('made_at', '>', now)]))
      .execute();
    for (const startMs of await sumIdleHours(database, await dueHours(now))) {
      if (isStopped || !(await keepTurn(queries, turn, turnMs))) return;
      await sumHour(database, startMs);
      await sleep(clock, pauseMs);
    }
    await keepTurn(queries, turn, lookEveryMs);
  }

  /** The newest first: they are looked at most. */
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

  const complaint = 'the hours that are over could not be summed; it is tried again';
  const rounds = createRounds({ clock, logger, periodMs: lookEveryMs, work: look, complaint });

  return {
    start: rounds.start,
    async stop() {
      isStopped = true;
      await rounds.stop();
    },
  };
}

// Removes what has been kept long enough, in the background [D66]: a page of the oldest, a short transaction for each thing, a pause, the next page.
// No call waits for it, and it holds no lock beyond one thing. Without a setting nothing is ever removed.
//
// Nothing brings it back, so a clock that jumped must not do it: while the database's clock and this machine's are apart, nothing is removed.
//
// One instance at a time has the turn. If it dies in the middle, what it removed is removed, the turn runs out within a minute
// and any instance begins again from the oldest that is left.
import type { Database } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { keepTurn, takeTurn } from '../database/turn.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createRounds } from '../kernel/rounds.ts';
import { removableAuditEntries } from './audit.ts';
import { removableCommands } from './commands.ts';
import { removableInvoices } from './invoices.ts';
import type { Aged, Removable } from './page.ts';

/** Days that each is kept; undefined: for ever. */
export interface Keeping {
  commandsDays: number | undefined;
  invoicesDays: number | undefined;
  auditDays: number | undefined;
}

export interface Removal {
  start(): void;
  /** Resolves when the thing that is being removed is done. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  keeping: Keeping;
}

const lookEveryMs = 60_000;
/** From the end of one round to the next one, by whichever instance. */
const roundEveryMs = 3_600_000;
/** More than a page takes. */
const turnMs = 60_000;
/** More than two maintained clocks differ. */
const clocksApartMs = 3_600_000;
const pageSize = 50;
/** A first round over years of sales must leave the disk to the tills. */
const pauseMs = 250;

export function createRemoval({ database, clock, logger, instanceId, keeping }: Deps): Removal {
  const turn = { work: 'removal', instanceId };
  // Commands before invoices: an invoice stays while a payment of it is kept.
  const kinds: readonly [Removable, number | undefined][] = [
    [removableCommands, keeping.commandsDays],
    [removableInvoices, keeping.invoicesDays],
    [removableAuditEntries, keeping.auditDays],
  ];
  const isNeeded = kinds.some(([, keepDays]) => keepDays !== undefined);
  let isStopped = false;
  let endPause: () => void = () => {};

  /** If it fails, the turn runs out, and the next round finds the same things. */
  async function look(): Promise<void> {
    if (!(await takeTurn(database.queries, turn, turnMs)) || !(await areClocksTogether())) return;
    for (const [kind, keepDays] of kinds) {
      if (keepDays !== undefined && !(await removeAll(kind, keepDays))) return;
    }
    await keepTurn(database.queries, turn, roundEveryMs);
  }

  async function areClocksTogether(): Promise<boolean> {
    const row = await database.queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
    const apartMs = Math.abs(row.now - clock.now());
    if (apartMs < clocksApartMs) return true;
    logger.error({ apartMs }, 'the clocks of the database and of this machine are apart: nothing that was kept is removed');
    return false;
  }

  /** False when the round is not ours any more. */
  async function removeAll(kind: Removable, keepDays: number): Promise<boolean> {
    let count = 0;
    for (let last: Aged | undefined; ; ) {
      if (isStopped || !(await keepTurn(database.queries, turn, turnMs))) return false;
      const page = await kind.page(database.queries, keepDays, last, pageSize);
      const ids =
        page.length === 0
          ? []
          : await kind.filter(
              database.queries,
              page.map(({ id }) => id),
            );
      for (const id of ids) {
        if (isStopped) return false;
        if (await removeOne(kind, id)) count += 1;
      }
      last = page.at(-1);
      if (page.length < pageSize) break;
      await pause();
    }
    if (count > 0) logger.info({ what: kind.what, count, keepDays }, 'what had been kept long enough was removed');
    return true;
  }

  async function removeOne(kind: Removable, id: string): Promise<boolean> {
    try {
      return await kind.remove(database, id);
    } catch (error) {
      if (isDatabaseDown(error)) throw error;
      // One that cannot be removed must not keep all that come after it.
      logger.error({ err: error, what: kind.what, id }, 'something that has been kept long enough could not be removed');
      return false;
    }
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancelTimer = clock.after(pauseMs, resolve);
      endPause = () => {
        cancelTimer();
        resolve();
      };
    });
  }

  const complaint = 'what has been kept long enough could not be removed; it is tried again';
  const rounds = createRounds({ clock, logger, periodMs: lookEveryMs, work: look, complaint });

  return {
    start() {
      if (isNeeded) rounds.start();
    },
    async stop() {
      isStopped = true;
      endPause();
      await rounds.stop();
    },
  };
}

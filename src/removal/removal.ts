// Removes records after their retention time, in the background [D66]: a page of the oldest, a short transaction for each record, a pause,
// the next page. No call waits for it, and it locks one record at a time. Without a setting, nothing is ever removed.
//
// A removal cannot be undone, so a clock jump must not cause one: while the database's clock and this machine's differ, nothing is removed.
//
// One instance at a time has the turn. If it dies, its removals so far are committed, the turn expires within a minute, and any instance
// starts again from the oldest record.

import { nowMs } from '../database/dialect.ts';
import { isDatabaseDown } from '../database/errors.ts';
import type { Shared } from '../database/shared-deps.ts';
import { keepTurn, takeTurn } from '../database/turn.ts';
import { createRounds } from '../kernel/rounds.ts';
import { removableAuditEntries } from './audit.ts';
import { removableCommands } from './commands.ts';
import { type DecidedRemovals, removableEndedInvoices, removableOperations } from './decided.ts';
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
  /** Resolves when the current removal is done. */
  stop(): Promise<void>;
}

interface Deps extends Pick<Shared, 'database' | 'clock' | 'logger' | 'instanceId'> {
  keeping: Keeping;
  /** Of the new core [D300]; undefined: of the old one. */
  decided?: DecidedRemovals | undefined;
}

const lookEveryMs = 60_000;
/** From the end of one round to the next one, by any instance. */
const roundEveryMs = 3_600_000;
/** More than a page takes. */
const turnMs = 60_000;
/** More than two maintained clocks differ. */
const clocksApartMs = 3_600_000;
const pageSize = 50;
/** The first round over years of sales must not slow down the tills. */
const pauseMs = 250;

export function createRemoval({ database, clock, logger, instanceId, keeping, decided }: Deps): Removal {
  const turn = { work: 'removal', instanceId };
  // Commands before invoices: an invoice stays while a payment of it is kept.
  const kinds: readonly [Removable, number | undefined][] = [
    [decided ? removableOperations(decided.operation) : removableCommands, keeping.commandsDays],
    [decided ? removableEndedInvoices(decided.invoice) : removableInvoices, keeping.invoicesDays],
    [removableAuditEntries, keeping.auditDays],
  ];
  const isNeeded = kinds.some(([, keepDays]) => keepDays !== undefined);
  let isStopped = false;
  let endPause: () => void = () => {};

  /** If it fails, the turn expires, and the next round finds the same records. */
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
    logger.error({ apartMs }, 'the clocks of the database and of this machine differ, so no old records are removed');
    return false;
  }

  /** False: this instance has lost the turn, or is stopping. */
  async function removeAll(kind: Removable, keepDays: number): Promise<boolean> {
    let count = 0;
    for (let last: Aged | undefined; ; ) {
      if (isStopped || !(await keepTurn(database.queries, turn, turnMs))) return false;
      const page = await kind.page(database.queries, keepDays, last, pageSize);
      const ids = new Set(
        page.length === 0
          ? []
          : await kind.filter(
              database.queries,
              page.map(({ id }) => id),
              keepDays,
            ),
      );
      for (const record of page) {
        if (isStopped) return false;
        if (ids.has(record.id) && (await removeOne(kind, record))) count += 1;
      }
      last = page.at(-1);
      if (page.length < pageSize) break;
      await pause();
    }
    if (count > 0) logger.info({ what: kind.what, count, keepDays }, 'records past their retention time were removed');
    return true;
  }

  async function removeOne(kind: Removable, { id, atMs }: Aged): Promise<boolean> {
    try {
      return await kind.remove(database, id, atMs);
    } catch (error) {
      if (isDatabaseDown(error)) throw error;
      // A record that cannot be removed must not block those after it.
      logger.error({ err: error, what: kind.what, id }, 'a record past its retention time could not be removed');
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

  const complaint = 'records past their retention time could not be removed; the removal will be retried';
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

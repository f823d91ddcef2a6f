// Commits that failed while the database was down: kept here and retried until they succeed, or until the gateway stops.
// If the process dies first, only time is lost: the row is still open, and Recall asks the device.
import type { Database } from '../../database/database.ts';
import { growingPauseMs } from '../../kernel/backoff.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { isOpen } from '../command.ts';
import { findCommand } from '../store.ts';
import type { Settlements } from './settlement.ts';

const pauses = { firstMs: 500, maxMs: 30_000 };
/** Pauses before the reads, a minute together; a failed read does not count. */
const readBackPausesMs = [500, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];

export interface LateCommits {
  /** Runs the commit after a pause, and again with back-off until it succeeds. */
  keepTrying(commit: () => Promise<unknown>): void;
  /**
   * It is unknown whether a command's first commit succeeded, and nothing was published: its row is read back and, if found, settled as
   * `never`. A server may finish a commit long after its connection broke, so a single read without a row proves nothing.
   */
  readBack(commandId: string, error: unknown): void;
  stop(): void;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  settlements: Pick<Settlements, 'neverSent'>;
}

export function createLateCommits({ database, clock, logger, settlements }: Deps): LateCommits {
  const cancels = new Set<Cancel>();

  function tryAfter(pauseMs: number, commit: () => Promise<unknown>, failures: number): void {
    const cancel = clock.after(pauseMs, () => {
      cancels.delete(cancel);
      commit().catch(() => tryAfter(growingPauseMs(failures + 1, pauses), commit, failures + 1));
    });
    cancels.add(cancel);
  }

  function lookFor(commandId: string, [pauseMs, ...later]: readonly number[]): void {
    if (pauseMs === undefined) return;
    const look = async () => {
      const command = await findCommand(database.queries, commandId);
      if (!command) return lookFor(commandId, later);
      if (isOpen(command)) await settlements.neverSent(command, 'The database failed before it could be sent.');
    };
    tryAfter(pauseMs, look, 1);
  }

  return {
    keepTrying: (commit) => tryAfter(growingPauseMs(1, pauses), commit, 1),
    readBack(commandId, error) {
      logger.warn(
        { err: error, commandId },
        'it is not known whether a command was committed; nothing was sent, and its row will be read back',
      );
      lookFor(commandId, readBackPausesMs);
    },
    stop() {
      for (const cancel of cancels) cancel();
    },
  };
}

// Whether a device has accepted a command. Money depends on it: a device that accepted a command cannot report later that it never began.
// So it is stored in the command's row (`accepted_at`) and not in the timeline, which may lose steps.
//
// No call waits for it: acceptances are gathered for a moment and written together. Before a command is settled as `never`, its gathered
// acceptance is written, and the settling statement itself skips a command that was accepted.
//
// A row that another transaction has locked is mostly being settled, and then nothing is left to write. So it is skipped once, so that the
// others are written; the next time it is written alone, with a wait for the lock.
//
// If the process dies before the write, the effect is the same as a lost message: Recall gets "running" or the outcome.
// If the write fails, the acceptance stays gathered and is retried; until then, no `never` is settled here.
// If the acceptance comes after the settlement, twice, or through another instance, it is written as well. A command that was settled as
// `never` becomes disputed [D143].
import type { Database } from '../../database/database.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Command } from '../command.ts';
import { findCommand, markAccepted } from '../store.ts';

/** Longer than a quick command takes: its settlement includes the acceptance, so nothing is left to write. */
const gatherMs = 250;
const retryMs = 1_000;
const maxPerStatement = 500;

export interface Acceptances {
  note(commandId: string): void;
  /** The command is settled, which includes the acceptance. */
  forget(commandId: string): void;
  /** Writes a gathered acceptance now; rejects if that fails. Does not wait for the rows of other commands. */
  flush(commandId: string): Promise<void>;
  /** Writes the rest once, without retries. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** The acceptance contradicts a `never`: records the dispute with the acceptance, or changes nothing. */
  onSettledAsNever(command: Command): Promise<unknown>;
}

export function createAcceptances({ database, clock, logger, onSettledAsNever }: Deps): Acceptances {
  // Bounded by the calls that wait for a device: without a database no new ones begin. Value: whether the row was skipped once.
  const unwritten = new Map<string, boolean>();
  let writing: Promise<void> = Promise.resolve();
  let timer: Cancel | undefined;
  let isStopped = false;

  function writeLater(delayMs: number): void {
    if (isStopped) return;
    timer ??= clock.after(delayMs, () => {
      timer = undefined;
      inTurn(false).catch((error: unknown) => {
        logger.warn({ err: error }, 'the acceptance of commands could not be stored; the write will be retried');
        writeLater(retryMs);
      });
    });
  }

  /** Rows that another transaction has locked are skipped until the next time, unless `mustWait`. */
  async function write(mustWait: boolean): Promise<void> {
    const all = [...unwritten.keys()];
    for (let start = 0; start < all.length; start += maxPerStatement) {
      const ids = all.slice(start, start + maxPerStatement);
      await mark(ids.length === 1 ? [] : ids);
      for (const id of ids) {
        const wasSkipped = unwritten.get(id);
        if (wasSkipped === undefined) continue;
        if (mustWait || wasSkipped || ids.length === 1) {
          await mark([id]);
          unwritten.delete(id);
        } else unwritten.set(id, true);
      }
    }
    if (unwritten.size > 0) writeLater(gatherMs);
  }

  async function mark(ids: string[]): Promise<void> {
    const [only, ...others] = ids;
    if (only === undefined) return;
    const marked = new Set((await markAccepted(database, ids)).map(({ id }) => id));
    for (const id of marked) unwritten.delete(id);
    // An unmarked id of several is checked alone the next time.
    const unmarked = others.length > 0 || marked.has(only) ? undefined : await findCommand(database.queries, only);
    if (unmarked?.state === 'never' && unmarked.acceptedAtMs === null) await onSettledAsNever(unmarked);
  }

  /** One write after the other, so that no acceptance is written twice. */
  function inTurn(mustWait: boolean): Promise<void> {
    writing = writing.catch(() => {}).then(() => write(mustWait));
    return writing;
  }

  return {
    note(commandId) {
      if (!unwritten.has(commandId)) unwritten.set(commandId, false);
      writeLater(gatherMs);
    },
    forget: (commandId) => void unwritten.delete(commandId),
    async flush(commandId) {
      if (!unwritten.has(commandId)) return;
      await mark([commandId]);
      unwritten.delete(commandId);
    },
    async stop() {
      isStopped = true;
      timer?.();
      await inTurn(true).catch((error: unknown) => logger.warn({ err: error }, 'the acceptance of commands could not be stored'));
    },
  };
}

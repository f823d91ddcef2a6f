// Whether a device has taken a command on. It decides about money, since a device that accepted cannot say later that the command never began,
// so it stands in the command's own row (`accepted_at`) and not in the timeline, which may lose lines.
//
// It delays no call: what devices say is gathered for a moment and written together. Before a "never began" is believed, what that
// device said of that command is written first, and the settling statement itself passes over a command that was accepted.
//
// A row that another transaction holds is mostly one that is just being settled, and then nothing is left to write: it is passed over once,
// so that the others do not wait, and waited for by itself after that.
//
// The process dies before it is written: as if the answer had got lost on the way; Recall is answered "running" or the outcome.
// The write fails: it stays gathered and is tried again; until then no "never began" is settled here.
// The answer comes after the settlement, doubled, or by another instance: it is written all the same. A command that was settled as `never`
// becomes disputed [D143].
import type { Database } from '../../database/database.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Command } from '../command.ts';
import { findCommand, markAccepted } from '../store.ts';

/** Longer than a quick command takes: its settlement says it too, and then nothing is left to write. */
const gatherMs = 250;
const retryMs = 1_000;
/** So many rows at most are held by one statement. */
const maxPerStatement = 500;

export interface Acceptances {
  note(commandId: string): void;
  /** Its settlement is written, and says what needs to be said. */
  forget(commandId: string): void;
  /** Writes it now if it was gathered and is not written; rejects when that could not be done. Waits for no other command's row. */
  flush(commandId: string): Promise<void>;
  /** Writes what is left if that can be done, and tries no more. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** The device contradicts that the command never began: records it with the acceptance, or changes nothing. */
  onSettledAsNever(command: Command): Promise<unknown>;
}

export function createAcceptances({ database, clock, logger, onSettledAsNever }: Deps): Acceptances {
  // Bounded by the calls that wait for a device: without a database no new ones begin.
  // True: it was passed over once.
  const heard = new Map<string, boolean>();
  let writing: Promise<void> = Promise.resolve();
  let timer: Cancel | undefined;
  let isStopped = false;

  function writeLater(delayMs: number): void {
    if (isStopped) return;
    timer ??= clock.after(delayMs, () => {
      timer = undefined;
      inTurn(false).catch((error: unknown) => {
        logger.warn({ err: error }, 'it could not be written that a device accepted a command; it will be tried again');
        writeLater(retryMs);
      });
    });
  }

  /** What cannot be written without waiting is left for the next time, unless it must be written now. */
  async function write(mustWait: boolean): Promise<void> {
    const all = [...heard.keys()];
    for (let start = 0; start < all.length; start += maxPerStatement) {
      const ids = all.slice(start, start + maxPerStatement);
      await mark(ids.length === 1 ? [] : ids);
      for (const id of ids) {
        const wasPassedOver = heard.get(id);
        if (wasPassedOver === undefined) continue;
        if (mustWait || wasPassedOver || ids.length === 1) {
          await mark([id]);
          heard.delete(id);
        } else heard.set(id, true);
      }
    }
    if (heard.size > 0) writeLater(gatherMs);
  }

  async function mark(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    const marked = new Set((await markAccepted(database, ids)).map(({ id }) => id));
    for (const id of marked) heard.delete(id);
    const [only] = ids;
    // Of several, what was not marked is looked at by itself the next time.
    const unmarked = ids.length > 1 || only === undefined || marked.has(only) ? undefined : await findCommand(database.queries, only);
    if (unmarked?.state === 'never' && unmarked.acceptedAtMs === null) await onSettledAsNever(unmarked);
  }

  /** One after the other, so that none is written twice. */
  function inTurn(mustWait: boolean): Promise<void> {
    writing = writing.catch(() => {}).then(() => write(mustWait));
    return writing;
  }

  return {
    note(commandId) {
      if (!heard.has(commandId)) heard.set(commandId, false);
      writeLater(gatherMs);
    },
    forget: (commandId) => void heard.delete(commandId),
    async flush(commandId) {
      if (!heard.has(commandId)) return;
      await mark([commandId]);
      heard.delete(commandId);
    },
    async stop() {
      isStopped = true;
      timer?.();
      await inTurn(true).catch((error: unknown) => logger.warn({ err: error }, 'it could not be written that a device accepted a command'));
    },
  };
}

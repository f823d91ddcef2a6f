// Whether a device has taken a command on. It decides about money, since a device that accepted cannot say later that the command never began,
// so it stands in the command's own row (`accepted_at`) and not in the timeline, which may lose lines.
//
// It delays no call: what devices say is gathered for a moment and written together. Before a "never began" is believed, what is
// gathered is written first, and the settling statement itself passes over a command that was accepted.
//
// The process dies before it is written: as if the answer had got lost on the way; Recall is told "running" or the outcome.
// The write fails: it stays gathered and is tried again; until then no "never began" is settled here.
// The answer comes after the settlement, doubled, or by another instance: it is written all the same, and a command that was settled as
// `never` is a contradiction.
import type { Database } from '../../database/database.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Command } from '../command.ts';
import { markAccepted } from '../store.ts';

const gatherMs = 50;
const retryMs = 1_000;
const contradiction = 'The device has accepted the command, but it was settled as one that never began.';
/** A statement takes only so many parameters. */
const maxPerStatement = 500;

export interface Acceptances {
  note(commandId: string): void;
  /** Its settlement is written, and says what needs to be said. */
  forget(commandId: string): void;
  /** Writes what was gathered so far; rejects when that could not be done. */
  flush(): Promise<void>;
  /** Writes what is left if that can be done, and tries no more. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Of a command that was settled as `never` before; it is on the review list already. */
  onContradiction(command: Command, why: string): void;
}

export function createAcceptances({ database, clock, logger, onContradiction }: Deps): Acceptances {
  // Bounded by the calls that wait for a device: without a database no new ones begin.
  const heard = new Set<string>();
  let writing: Promise<void> = Promise.resolve();
  let timer: Cancel | undefined;
  let isStopped = false;

  function writeLater(delayMs: number): void {
    if (isStopped) return;
    timer ??= clock.after(delayMs, () => {
      timer = undefined;
      flush().catch((error: unknown) => {
        logger.warn({ err: error }, 'it could not be written that a device accepted a command; it will be tried again');
        writeLater(retryMs);
      });
    });
  }

  async function write(): Promise<void> {
    while (heard.size > 0) {
      const ids = [...heard].slice(0, maxPerStatement);
      const marked = await markAccepted(database.queries, ids, contradiction);
      for (const id of ids) heard.delete(id);
      for (const command of marked) if (command.state === 'never') onContradiction(command, contradiction);
    }
  }

  /** One after the other, so that when a flush ends all that was noted before it is written, whoever began to write it. */
  function flush(): Promise<void> {
    writing = writing.catch(() => {}).then(write);
    return writing;
  }

  return {
    note(commandId) {
      heard.add(commandId);
      writeLater(gatherMs);
    },
    forget: (commandId) => void heard.delete(commandId),
    flush,
    async stop() {
      isStopped = true;
      timer?.();
      await flush().catch((error: unknown) => logger.warn({ err: error }, 'it could not be written that a device accepted a command'));
    },
  };
}

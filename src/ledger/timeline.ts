// The steps of each command, for the sale's timeline. Kept beside the money path: a step that could not be written
// never delays or fails a command, so steps are gathered and written in small batches.
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { addEvents, type CommandEvent } from './event-store.ts';

const flushAfterMs = 50;
const maxWaiting = 10_000;

export interface Timeline {
  add(event: CommandEvent): void;
  /** Writes what is waiting; call it at the end. */
  flush(): Promise<void>;
}

export function createTimeline(deps: { database: Database; clock: Clock; logger: Logger }): Timeline {
  const { database, clock, logger } = deps;
  let waiting: CommandEvent[] = [];
  let timer: Cancel | undefined;

  async function flush(): Promise<void> {
    timer?.();
    timer = undefined;
    const batch = waiting;
    waiting = [];
    try {
      await addEvents(database.queries, batch);
    } catch (error) {
      logger.warn({ err: error, lost: batch.length }, 'timeline steps could not be written');
    }
  }

  return {
    add(event) {
      if (waiting.length >= maxWaiting) return;
      waiting.push(event);
      timer ??= clock.after(flushAfterMs, () => void flush());
    },
    flush,
  };
}

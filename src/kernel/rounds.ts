// Work that comes round again: one round at a time, the next a period after the last has ended. A round that fails is logged and the next one
// tries again: the database may be away for a while. Stopping waits for the round under way.
import { type Cancel, type Clock, every } from './clock.ts';
import type { Logger } from './logger.ts';

export interface Rounds {
  start(): void;
  /** Resolves when the round that is under way has ended. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  clock: Clock;
  logger: Logger;
  periodMs: number;
  work(): Promise<unknown>;
  /** What the log says when a round fails. */
  complaint: string;
}

export function createRounds({ clock, logger, periodMs, work, complaint }: RoundsOptions): Rounds {
  let cancel: Cancel | undefined;
  let running: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error }, complaint);
    }
  }

  return {
    start() {
      cancel ??= every(clock, periodMs, () => {
        running = round();
        return running;
      });
    },
    async stop() {
      cancel?.();
      cancel = undefined;
      await running;
    },
  };
}

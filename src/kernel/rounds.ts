// Periodic work: one round at a time, the next starts a period after the last has ended. A failed round is logged, and the next one tries
// again, because the database may be down for a while. Stopping waits for the running round.

import { type Cancel, every } from './clock.ts';
import type { World } from './world.ts';

export type Rounds = ReturnType<typeof createRounds>;

export interface RoundsOptions extends Pick<World, 'clock' | 'logger'> {
  periodMs: number;
  work(): Promise<unknown>;
  /** The log message of a failed round. */
  complaint: string;
}

export function createRounds({ clock, logger, periodMs, work, complaint }: RoundsOptions) {
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
    start(): void {
      cancel ??= every(clock, periodMs, () => {
        running = round();
        return running;
      });
    },
    /** Resolves when the running round has ended. */
    async stop(): Promise<void> {
      cancel?.();
      cancel = undefined;
      await running;
    },
  };
}

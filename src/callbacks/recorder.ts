// Puts ended attempts on record, in groups. Dying before the commit, the lease runs out and the callback is sent again under the same id; after it,
// all of the group is on record. A commit whose answer got lost is written again, and by then each guard knows whether its attempt is there. One
// that the database refuses alone is tried again and again: a delivered callback must not stay pending.
import type { Database } from '../database/database.ts';
import { isCertainlyUndone } from '../database/errors.ts';
import { createGroup } from '../database/group.ts';
import type { Logger } from '../kernel/logger.ts';
import { type EndedAttempt, recordAttempts } from './attempt-records.ts';

export interface Recorder {
  /** True when it is on record, false when stopping left it to its lease: twice rather than never. Never rejects. */
  record(ended: Omit<EndedAttempt, 'isRepeat'>): Promise<boolean>;
}

interface Deps {
  database: Database;
  logger: Logger;
  instanceId: string;
  /** The database gets time to come back; false when the gateway is stopping. */
  pause(failures: number): Promise<boolean>;
}

export function createRecorder({ database, logger, instanceId, pause }: Deps): Recorder {
  const group = createGroup<EndedAttempt, void>({
    soon: database.soon,
    namesOf: ({ callback }) => [callback.id],
    async together(ended) {
      await recordAttempts(database, instanceId, ended);
      return [];
    },
    alone: (ended) => recordAttempts(database, instanceId, [ended]),
    // No caller waits for a record: rather few and large ones.
    inFlight: 1,
  });

  return {
    async record(ended) {
      let isRepeat = false;
      for (let failures = 1; ; failures += 1) {
        try {
          await group.add({ ...ended, isRepeat });
          return true;
        } catch (error) {
          logger.warn({ err: error, callbackId: ended.callback.id }, 'a callback attempt could not be recorded; trying again');
          isRepeat ||= !isCertainlyUndone(error);
          if (!(await pause(failures))) return false;
        }
      }
    },
  };
}

// Records ended attempts, in batches. If the process dies before the commit, the lease expires and the callback is sent again under the
// same id; after it, the whole batch is recorded. If the answer of the commit is lost, the batch is written again, and each guard detects
// an attempt that is recorded already. A single attempt that the database rejects is retried without end: a delivered callback must not
// stay pending.

import { isCertainlyUndone } from '../database/errors.ts';
import { createGroup } from '../database/group.ts';
import type { Shared } from '../database/shared-deps.ts';
import { type EndedAttempt, recordAttempts } from './attempt-records.ts';

export type Recorder = ReturnType<typeof createRecorder>;

interface Deps extends Pick<Shared, 'database' | 'logger' | 'instanceId'> {
  /** Back-off for the database; false: the gateway is stopping. */
  pause(failures: number): Promise<boolean>;
}

export function createRecorder({ database, logger, instanceId, pause }: Deps) {
  const group = createGroup<EndedAttempt, void>({
    soon: database.soon,
    namesOf: ({ callback }) => [callback.id],
    async together(ended) {
      await recordAttempts(database, instanceId, ended);
      return [];
    },
    alone: (ended) => recordAttempts(database, instanceId, [ended]),
    // No caller waits for a record, so few large batches are better.
    inFlight: 1,
  });

  return {
    /** True: recorded. False: the gateway stops and the lease will expire, so the callback is sent twice rather than never. Never rejects. */
    async record(ended: Omit<EndedAttempt, 'isRepeat'>): Promise<boolean> {
      let isRepeat = false;
      for (let failures = 1; ; failures += 1) {
        try {
          await group.add({ ...ended, isRepeat });
          return true;
        } catch (error) {
          logger.warn({ err: error, callbackId: ended.callback.id }, 'a callback attempt could not be recorded; the write will be retried');
          isRepeat ||= !isCertainlyUndone(error);
          if (!(await pause(failures))) return false;
        }
      }
    },
  };
}

// Retries work that the database rolled back in favour of another transaction (LostToAnother), at once: the database ends one of two
// transactions that wait for each other, so the other has continued meanwhile. After some lost tries, the error is DatabaseBusy.
// The work may run several times, so it must have no effects outside the database.
import { DatabaseBusy, LostToAnother } from './errors.ts';

const usualTries = 5;

export interface Tries {
  tries?: number;
  /** Called before each retry, with the number of the lost try. */
  onLost?: (attempt: number, error: LostToAnother) => void;
}

export async function untilNotLost<Result>(work: () => Promise<Result>, { tries = usualTries, onLost }: Tries = {}): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LostToAnother)) throw error;
      if (attempt === tries) throw new DatabaseBusy(error);
      onLost?.(attempt, error);
    }
  }
}

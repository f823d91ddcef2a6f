// Work that the database ended for another's sake (LostToAnother) has done nothing and goes again at once: the database ends one of two that
// wait for each other, so the other one has gone on meanwhile. Not for ever: a caller that has lost every try gets the answer that it was too busy.
// The work must have no effect but through the database, since it may run several times.
import { DatabaseBusy, LostToAnother } from './errors.ts';

const usualTries = 5;

export interface Tries {
  tries?: number;
  /** Before each further try, with the number of the one that was lost. */
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

// A commit whose answer is lost [D59]. Get and Payd are simply repeated: if the first try was committed, the repeat finds that and gives
// the same answer, and nothing happens twice. If the repeat fails as well, the answer is 2: the change may have been written.
import { isDatabaseDown } from '../database/errors.ts';

/** `isRepeat`: the work reads first, so that a read-only database still shows an earlier move [D121]. */
export async function onceMoreIfUnclear<Result>(work: (isRepeat: boolean) => Promise<Result>): Promise<Result> {
  try {
    return await work(false);
  } catch (error) {
    if (!isDatabaseDown(error)) throw error;
    return work(true);
  }
}

// A commit whose answer got lost [D59]. Get and Payd are read back by doing them once more: what was committed is found and answered the
// same, and nothing happens twice. If that fails as well, the answer is 2, which says that it may have been written.
import { isDatabaseDown } from '../database/errors.ts';

/** `isRepeat`: by a look first, so that a database that can only be read still tells what was moved before [D121]. */
export async function onceMoreIfUnclear<Result>(work: (isRepeat: boolean) => Promise<Result>): Promise<Result> {
  try {
    return await work(false);
  } catch (error) {
    if (!isDatabaseDown(error)) throw error;
    return work(true);
  }
}

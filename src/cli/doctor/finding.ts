// What a check of the doctor ends with. Always holds: every check ends within its bound, and one that fails by itself is a finding too,
// so that one thing that is broken hides no other.
import type { Clock } from '../../kernel/clock.ts';
import { StartRefused } from '../../kernel/start-refused.ts';
import { systemSentence } from '../../kernel/system-errors.ts';

export type Verdict = 'ok' | 'warning' | 'bad';

export interface Finding {
  check: string;
  verdict: Verdict;
  /** What was found, as a sentence. */
  says: string;
  /** What to do about it; absent when there is nothing to do. */
  advice?: string;
}

export const good = (check: string, says: string): Finding => ({ check, verdict: 'ok', says });
export const doubt = (check: string, says: string, advice: string): Finding => ({ check, verdict: 'warning', says, advice });
export const trouble = (check: string, says: string, advice: string): Finding => ({ check, verdict: 'bad', says, advice });

const patienceMs = 15_000;

/** `work`, or what kept it from an answer. */
export async function bounded(check: string, clock: Clock, work: () => Promise<Finding[]>, withinMs = patienceMs): Promise<Finding[]> {
  const { promise, resolve } = Promise.withResolvers<Finding[]>();
  const cancel = clock.after(withinMs, () =>
    resolve([trouble(check, `No answer within ${withinMs / 1000} s.`, 'See whether what it speaks of hangs.')]),
  );
  Promise.resolve()
    .then(work)
    .then(resolve, (error: unknown) => resolve([failed(check, error)]))
    .finally(cancel);
  return promise;
}

/** What the person reads of an error: a sentence that already says what to do, or the error's own words. */
export function wordsOf(error: unknown): string {
  const { message } = error as Error;
  return error instanceof StartRefused ? message : (systemSentence(error) ?? message);
}

function failed(check: string, error: unknown): Finding {
  return trouble(check, wordsOf(error), 'Mend that, and ask again.');
}

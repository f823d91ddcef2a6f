// The result of a check. Invariant: every check ends within its bound, and a check that fails with an error is a finding, too, so that one
// problem does not hide another.
import type { Clock } from '../../kernel/clock.ts';
import { StartRefused } from '../../kernel/start-refused.ts';
import { systemSentence } from '../../kernel/system-errors.ts';

export type Verdict = 'ok' | 'warning' | 'bad';

export interface Finding {
  check: string;
  verdict: Verdict;
  /** The result, as a sentence. */
  says: string;
  /** What to do; absent if nothing. */
  advice?: string;
}

export const good = (check: string, says: string): Finding => ({ check, verdict: 'ok', says });
export const doubt = (check: string, says: string, advice: string): Finding => ({ check, verdict: 'warning', says, advice });
export const trouble = (check: string, says: string, advice: string): Finding => ({ check, verdict: 'bad', says, advice });

const patienceMs = 15_000;

/** The findings of `work`, or its error or time-out as a finding. */
export async function bounded(check: string, clock: Clock, work: () => Promise<Finding[]>, withinMs = patienceMs): Promise<Finding[]> {
  const { promise, resolve } = Promise.withResolvers<Finding[]>();
  const cancel = clock.after(withinMs, () =>
    resolve([trouble(check, `No answer within ${withinMs / 1000} s.`, 'Check whether the server or disk that it uses hangs.')]),
  );
  Promise.resolve()
    .then(work)
    .then(resolve, (error: unknown) => resolve([failed(check, error)]))
    .finally(cancel);
  return promise;
}

/** An error for people: a sentence that already says what to do, or the error's message. */
export function wordsOf(error: unknown): string {
  const { message } = error as Error;
  return error instanceof StartRefused ? message : (systemSentence(error) ?? message);
}

function failed(check: string, error: unknown): Finding {
  return trouble(check, wordsOf(error), 'Fix this, and run the check again.');
}

// The periods in which the outcome of a command was unknown. Pure. A period begins when contact is lost after a copy may have arrived, and
// ends when the device reports about the command. A routine Recall that is answered at once begins no period.
import { personDecidesAfterMs } from '../../../ledger/settle-batch.ts';
import { contactLostSteps, deviceSpokeSteps } from '../../../ledger/standing-sql.ts';
import type { StoryCommand, StoryEvent, Unclear } from './sale-model.ts';

const begins: ReadonlySet<string> = new Set(contactLostSteps);
const ends: ReadonlySet<string> = new Set(deviceSpokeSteps);

/** `settledAtMs`: the time in the row, in case the step was lost. */
export function unclearSpans(events: readonly StoryEvent[], settledAtMs: number | null): Unclear[] {
  const spans: Unclear[] = [];
  let fromMs: number | undefined;
  for (const [index, event] of events.entries()) {
    const isUnanswered = event.step === 'recall' && events[index + 1]?.step !== 'recalled' && events[index + 1]?.step !== 'answered';
    if (begins.has(event.step) || isUnanswered) fromMs ??= event.atMs;
    else if (ends.has(event.step) && !isStillDoubtful(event) && fromMs !== undefined) {
      spans.push({ fromMs, toMs: event.atMs });
      fromMs = undefined;
    }
  }
  if (fromMs === undefined) return spans;
  return [...spans, settledAtMs === null ? { fromMs } : { fromMs, toMs: Math.max(fromMs, settledAtMs) }];
}

/** The device answers but does not know the outcome. */
function isStillDoubtful({ step, detail }: StoryEvent): boolean {
  return (step === 'answered' || step === 'recalled') && (detail?.includes('unknown') ?? false);
}

/** Adds the period, known only afterwards, from the device's lost answer until the outcome was found. */
export function withLostAnswer(spans: readonly Unclear[], lostAtMs: number | undefined, foundAtMs: number | null): Unclear[] {
  if (lostAtMs === undefined || foundAtMs === null) return [...spans];
  const apart = spans.filter(({ fromMs, toMs = foundAtMs }) => toMs < lostAtMs || fromMs > foundAtMs);
  const joined = spans.filter((span) => !apart.includes(span));
  const fromMs = Math.min(lostAtMs, ...joined.map((span) => span.fromMs));
  const toMs = Math.max(foundAtMs, ...joined.map((span) => span.toMs ?? foundAtMs));
  return [...apart, { fromMs, toMs }].sort((one, other) => one.fromMs - other.fromMs);
}

export function longestUnclearMs(spans: readonly Unclear[], nowMs: number): number {
  return spans.reduce((longest, { fromMs, toMs = nowMs }) => Math.max(longest, toMs - fromMs), 0);
}

/** From when a person may decide an open command [D63]: at once if its device has ended it as unknown. */
export function decidableFromMs({ endedUnknownAtMs, answerByMs }: Pick<StoryCommand, 'endedUnknownAtMs' | 'answerByMs'>): number {
  return endedUnknownAtMs ?? answerByMs + personDecidesAfterMs;
}

// Repeated steps become one line. Pure. A repeat may be of several steps: asked and not answered, asked and not answered. The last round
// stays as it is, because it shows how the repeating ended; money is never folded away.
import type { Step } from '../api/views.ts';

const longestRound = 4;

export function foldSteps(steps: readonly Step[]): Step[] {
  const folded: Step[] = [];
  for (let index = 0; index < steps.length; ) {
    const run = longestRun(steps, index);
    const step = steps[index];
    if (!step) break;
    if (!run) {
      folded.push(step);
      index += 1;
      continue;
    }
    const skipped = steps.slice(index, index + run.length * (run.times - 1));
    const tries = skipped.reduce((sum, one) => sum + (sameAs(one, step) ? (one.repeats ?? 1) : 0), 0);
    folded.push({ ...step, repeats: tries });
    index += skipped.length;
  }
  return folded;
}

/** The round that begins here and comes at least three times; the one that folds most away. */
function longestRun(steps: readonly Step[], from: number): { length: number; times: number } | undefined {
  let best: { length: number; times: number } | undefined;
  for (let length = 1; length <= longestRound; length += 1) {
    const isRepeated = (at: number) =>
      at + length <= steps.length &&
      Array.from({ length }, (_, offset) => offset).every((offset) => {
        const [one, other] = [steps[from + offset], steps[at + offset]];
        return one !== undefined && other !== undefined && !other.isMoney && !one.isMoney && sameAs(one, other);
      });
    let times = 1;
    while (isRepeated(from + times * length)) times += 1;
    if (times >= 3 && (!best || length * times > best.length * best.times)) best = { length, times };
  }
  return best;
}

function sameAs(one: Step, other: Step): boolean {
  return one.kind === other.kind && one.text.key === other.text.key && one.from === other.from && one.to === other.to;
}

// Random walks: long sequences of events in one wide world, where everything may happen. A walk is known by its number; of one that breaks an
// invariant, events are left out for as long as it still does.

import type { Id } from '../src/money/case.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import { forgetReleases } from './invariants-of-states.ts';
import { coreMs, counterOf, judgeOf, type Met, movesOrFault, type Node, nothingMet, startOf, type Violation } from './search.ts';
import type { World } from './world.ts';

export const everything: World = {
  ...{ devices: ['t1', 't2', 'r1'], numbers: ['n', 'oid'], maxOps: 8, depth: 4, pairs: 1, isUnnamed: true, keys: ['k'], hasNotices: true },
  events: [
    ...['Pay', 'CloseDoc', 'CloseDocByPerson', 'Void', 'Refund', 'Abort', 'abortRefused', 'CloseDay', 'Print', 'PrintPaid', 'PrintCards'],
    ...['Cash', 'Z', 'Payd', 'Get', 'cancelInvoice', 'decision', 'resolve', 'review', 'closeByHand', 'lost', 'swap', 'offline', 'bank'],
    ...['accepted', 'busy', 'unclear', 'wrongAmount', 'secondNumber', 'lateMoney', 'Deadline', 'forget'],
  ],
  stale: ['Pay', 'Print', 'Refund', 'Void', 'Abort', 'CloseDoc', 'Payd', 'report', 'decision', 'resolve', 'lost'],
};

const eventsOfWalk = 40;

/** An event of a walk, and the operation that it began. */
interface Step {
  label: string;
  begun: Id | undefined;
}

interface Walked {
  steps: Step[];
  violation?: Violation;
}

/** `choose`: the label of the next event among those that are possible; undefined: the walk ends. */
type Choose = (labels: readonly string[], steps: readonly Step[]) => string | undefined;

function walk(world: World, choose: Choose, met: Met): Walked {
  const count = counterOf(met);
  const judge = judgeOf(world, met, count);
  const steps: Step[] = [];
  let node: Node = startOf(world);
  forgetReleases();
  for (;;) {
    const moves = movesOrFault(node, world, count);
    if ('invariant' in moves) return { steps, violation: moves };
    const labels = moves.map(({ label }) => label);
    const label = choose(labels, steps);
    const move = moves.find((one) => one.label === label);
    if (!move) return { steps };
    const child: Node = { state: move.next, parent: node, label: move.label, answer: move.answer };
    steps.push({ label: move.label, begun: move.next.count > node.state.count ? String(node.state.count) : undefined });
    const violation = judge(node, child, move, true);
    if (violation) return { steps, violation };
    node = child;
  }
}

export function randomWalk(world: World, number: number, met: Met): Walked {
  const random = seededRandom(number);
  return walk(
    world,
    (labels, steps) => (steps.length < eventsOfWalk ? labels[Math.floor(random.fraction() * labels.length)] : undefined),
    met,
  );
}

/** Walks for so much processor time, from this number on. */
export function walks(world: World, first: number, limitMs: number, met: Met): { count: number; events: number; violation?: Violation } {
  const began = coreMs();
  let events = 0;
  for (let count = 0; ; count += 1) {
    if (count > 0 && coreMs() - began > limitMs) return { count, events };
    const { steps, violation } = randomWalk(world, first + count, met);
    events += steps.length;
    if (!violation) continue;
    const found = shrunk(world, steps, violation);
    return { count: count + 1, events, violation: { ...found, why: `${found.why} (walk ${first + count})` } };
  }
}

/** Leaves out some events after another, until none can be left out any more. */
export function shrunk(world: World, steps: readonly Step[], violation: Violation): Violation {
  let best: Walked = { steps: [...steps], violation };
  for (let size = Math.ceil(steps.length / 2); size > 0; ) {
    const shorter = firstShorter(world, best.steps, size, violation.invariant);
    if (shorter) best = shorter;
    else size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return best.violation ?? violation;
}

function firstShorter(world: World, steps: readonly Step[], size: number, invariant: string): Walked | undefined {
  for (let at = 0; at < steps.length; at += size) {
    const found = repeat(world, steps.toSpliced(at, size));
    if (found.violation?.invariant === invariant && found.steps.length < steps.length) return found;
  }
  return undefined;
}

/** The same events, as far as they are possible. Operations are counted, so without an earlier one the later ones have other ids. */
function repeat(world: World, wanted: readonly Step[]): Walked {
  const ids = new Map<Id, Id>();
  let at = 0;
  let last: Step | undefined;
  const choose: Choose = (labels, steps) => {
    const begun = steps.at(-1)?.begun;
    if (last?.begun !== undefined && begun !== undefined) ids.set(last.begun, begun);
    last = undefined;
    for (; at < wanted.length; at += 1) {
      const step = wanted[at];
      const label = step && [withIds(step.label, ids), step.label].find((one) => labels.includes(one));
      if (label === undefined) continue;
      last = step;
      at += 1;
      return label;
    }
    return undefined;
  };
  return walk(world, choose, nothingMet());
}

/** The first number that is an id; a gateway has a number, too. */
const withIds = (label: string, ids: ReadonlyMap<Id, Id>): string => label.replace(/(?<!gateway)(?<= )\d+\b/, (id) => ids.get(id) ?? id);

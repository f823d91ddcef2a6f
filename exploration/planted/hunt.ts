// The search for one planted bug, in a copy of the project that has it: every world in rounds, each with a longer search, so that the shallow
// violations of all worlds come before the deep ones of the first; pairs of events of two gateways are compared, too. It ends at the first
// violation, which it prints as JSON.
import { parseArgs } from 'node:util';
import { commute } from '../commutation.ts';
import { type Explored, explore, nothingMet, type Violation } from '../search.ts';
import { worlds } from '../worlds.ts';

export interface Hunted {
  world?: string;
  violation?: Violation;
  transitions: number;
  /** Of processor time: the machine may be busy with other things. */
  seconds: number;
}

/** Transitions per world and round; and how deep pairs of events are compared. */
const rounds = [150, 1_500, 12_000, Number.POSITIVE_INFINITY];
const pairsOfRound = [0, 1, 2, 4];

/** `skipped`: worlds that violate something without the bug, too. `first`: the likeliest worlds. */
function hunt(first: readonly string[], skipped: readonly string[], limitS: number): Hunted {
  const began = process.cpuUsage();
  const secondsUsed = () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1e6;
  };
  let transitions = 0;
  const impossible = new Set(skipped);
  const names = [...first, ...Object.keys(worlds).filter((name) => !first.includes(name))];
  for (const [round, most] of rounds.entries())
    for (const name of names) {
      const world = worlds[name];
      if (!world || impossible.has(name)) continue;
      if (secondsUsed() > limitS) return { transitions, seconds: secondsUsed() };
      const explored = exploreOrSkip(name, { most, pairs: pairsOfRound[round] ?? 0, limitMs: (limitS - secondsUsed()) * 1000 });
      if (!explored) {
        impossible.add(name);
        continue;
      }
      transitions += explored.transitions;
      if (explored.violation) return { world: name, violation: explored.violation, transitions, seconds: secondsUsed() };
      // A search in which nothing happens would find nothing.
      if (explored.transitions === 0 && !explored.isCut) {
        const violation = { invariant: 'no search is empty', why: `nothing can happen in the world "${name}"`, sequence: [] };
        return { world: name, violation, transitions, seconds: secondsUsed() };
      }
      if (!explored.isCut) impossible.add(name);
    }
  return { transitions, seconds: secondsUsed() };
}

/** A seed that is not possible any more is no violation of an invariant, so it does not count: undefined. */
function exploreOrSkip(name: string, { most, pairs, limitMs }: { most: number; pairs: number; limitMs: number }): Explored | undefined {
  const world = worlds[name];
  if (!world) return undefined;
  try {
    const explored = explore(world, { depth: world.depth, most, limitMs }, nothingMet());
    if (explored.violation) return explored;
    const { violation, isCut } = commute(world, { depth: Math.min(pairs, world.pairs), limitMs });
    const isWhole = !explored.isCut && !isCut && pairs >= world.pairs;
    return { ...explored, isCut: !isWhole, ...(violation ? { violation } : {}) };
  } catch (error) {
    if (String(error).includes("The seed's")) return undefined;
    const violation = { invariant: 'every event is decided', why: String((error as Error).stack), sequence: [...(world.seed ?? [])] };
    return { states: 0, transitions: 0, depth: 0, isCut: false, violation };
  }
}

const { values } = parseArgs({
  options: {
    first: { type: 'string', multiple: true, default: [] },
    skip: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '60' },
  },
});
console.log(JSON.stringify(hunt(values.first, values.skip, Number(values.seconds))));

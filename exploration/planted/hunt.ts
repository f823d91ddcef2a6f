// The search for one planted bug, in a copy of the project that has it: every world in rounds, each with a longer search, so that the shallow
// violations of all worlds come before the deep ones of the first. It ends at the first violation, which it prints as JSON.
import { parseArgs } from 'node:util';
import { explore, nothingMet, type Violation } from '../search.ts';
import { worlds } from '../worlds.ts';

export interface Hunted {
  world?: string;
  violation?: Violation;
  transitions: number;
  /** Of processor time: the machine may be busy with other things. */
  seconds: number;
}

/** Transitions per world and round. */
const rounds = [150, 1_500, 12_000, Number.POSITIVE_INFINITY];

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
  for (const most of rounds)
    for (const name of names) {
      const world = worlds[name];
      if (!world || impossible.has(name)) continue;
      if (secondsUsed() > limitS) return { transitions, seconds: secondsUsed() };
      const explored = exploreOrSkip(name, most, (limitS - secondsUsed()) * 1000);
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
function exploreOrSkip(name: string, most: number, limitMs: number) {
  const world = worlds[name];
  if (!world) return undefined;
  try {
    return explore(world, { depth: world.depth, most, limitMs }, nothingMet());
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

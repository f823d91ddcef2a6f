// npm run explore: every order of events in many small worlds, with the invariants asked in each state.
import { parseArgs } from 'node:util';
import { coreMs, type Explored, explore, type Met, nothingMet } from './search.ts';
import type { World } from './world.ts';
import { worlds } from './worlds.ts';

const { values } = parseArgs({
  options: {
    depth: { type: 'string' },
    more: { type: 'string', default: '0' },
    world: { type: 'string' },
    seconds: { type: 'string', default: '600' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run explore -- [options]
  --world NAME   this world alone
  --depth N      events after the seed, instead of the world's own number
  --more N       so many events more
  --seconds N    at most, per world (600)`);
  process.exit(0);
}

const sum = { states: 0, transitions: 0 };
const began = coreMs();
const met = nothingMet();
for (const [name, world] of Object.entries(worlds)) if (values.world === undefined || values.world === name) runWorld(name, world, met);
console.log(`together ${sum.states} states, ${sum.transitions} transitions, ${rate(sum.transitions, began)}`);
console.log('how often each answer was given, and changed something:');
for (const [place, { times, changed }] of Object.entries(met.reached).toSorted(([one], [other]) => one.localeCompare(other)))
  console.log(`  ${place}: ${times}, ${changed}`);
console.log('how often an invariant was interesting:');
for (const [name, times] of Object.entries(met.interesting)) console.log(`  ${name}: ${times}`);

function runWorld(name: string, world: World, counted: Met): void {
  const depth = values.depth === undefined ? world.depth + Number(values.more) : Number(values.depth);
  const start = coreMs();
  const explored = explore(world, { depth, limitMs: Number(values.seconds) * 1000 }, counted);
  sum.states += explored.states;
  sum.transitions += explored.transitions;
  console.log(`${name}: ${shown(world, explored)}, ${rate(explored.transitions, start)}`);
  if (!explored.violation) return;
  process.exitCode = 1;
  const { invariant, why, sequence } = explored.violation;
  console.log(`  ${invariant}: ${why}`);
  for (const [index, line] of sequence.entries()) console.log(`    ${index + 1}. ${line}`);
}

function shown({ seed = [] }: World, { depth, states, transitions, isCut }: Explored): string {
  return `depth ${seed.length}+${depth}${isCut ? ' (cut)' : ''}, ${states} states, ${transitions} transitions`;
}

function rate(transitions: number, since: number): string {
  const seconds = (coreMs() - since) / 1000;
  return `${seconds.toFixed(1)} core seconds, ${Math.round(transitions / seconds)} transitions per core second`;
}

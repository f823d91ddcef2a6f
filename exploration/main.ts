// npm run explore: every order of events in many small worlds, with the invariants asked in each state.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Done, runAll, type Task, together } from './all-worlds.ts';
import { guardsLeftOut } from './guards.ts';
import { unreached } from './reached.ts';
import type { Violation } from './search.ts';
import { worlds } from './worlds.ts';

const { values } = parseArgs({
  options: {
    depth: { type: 'string' },
    more: { type: 'string', default: '0' },
    world: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    threads: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    nightly: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run explore -- [options]
  --world NAME   this world alone
  --depth N      events after the seed, instead of the world's own number
  --more N       so many events more
  --nightly      two events more in each world, for at most 70 core seconds each
  --seconds N    core seconds of each world, at most (120)
  --threads N    worlds at once
  --guards       leaves out one guard after another, and says which nothing catches`);
  process.exit(0);
}
if (values.guards) {
  const uncaught = guardsLeftOut(console.log);
  console.log(`${uncaught} guards are not caught`);
  process.exit(0);
}

const more = values.nightly ? 2 : Number(values.more);
const seconds = values.nightly ? 70 : Number(values.seconds);
const tasks = Object.entries(worlds)
  .filter(([name]) => values.world === undefined || values.world === name)
  .map(
    ([name, world]): Task => ({
      ...{ name, pairs: world.pairs + (values.nightly ? 1 : 0), limitMs: seconds * 1000 },
      depth: values.depth === undefined ? world.depth + more : Number(values.depth),
    }),
  );
if (tasks.length === 0) throw new Error(`There is no world "${values.world}", only: ${Object.keys(worlds).join(', ')}`);
const all = await runAll(tasks, Number(values.threads), show);
const states = all.reduce((sum, { explored }) => sum + explored.states, 0);
const transitions = all.reduce((sum, { explored }) => sum + explored.transitions, 0);
console.log(
  `together ${states} states, ${transitions} transitions, ${rate(
    transitions,
    all.reduce((sum, { coreMs }) => sum + coreMs, 0),
  )}`,
);
showMet();

function show({ name, explored, commuted, coreMs }: Done): void {
  const seed = worlds[name]?.seed?.length ?? 0;
  const cut = (isCut: boolean) => (isCut ? ' (cut)' : '');
  console.log(
    `${name}: depth ${seed}+${explored.depth}${cut(explored.isCut)}, ${explored.states} states, ${explored.transitions} transitions, ${rate(explored.transitions, coreMs)}; ${commuted.pairs} pairs${cut(commuted.isCut)}, guards held in ${commuted.held}`,
  );
  for (const violation of [explored.violation, commuted.violation]) if (violation) showViolation(violation);
}

function showViolation({ invariant, why, sequence }: Violation): void {
  process.exitCode = 1;
  console.log(`  ${invariant}: ${why}`);
  for (const [index, line] of sequence.entries()) console.log(`    ${index + 1}. ${line}`);
}

function showMet(): void {
  const met = together(all);
  console.log('how often each answer was given, and changed something:');
  const places = Object.entries(met.reached).toSorted(([one], [other]) => one.localeCompare(other));
  for (const [place, { times, changed }] of places) console.log(`  ${place}: ${times}, ${changed}`);
  console.log('how often an invariant was interesting:');
  for (const [name, times] of Object.entries(met.interesting)) console.log(`  ${name}: ${times}`);
  if (values.world !== undefined || values.depth !== undefined) return;
  for (const line of unreached(met)) {
    process.exitCode = 1;
    console.log(`NOT REACHED: ${line}`);
  }
}

function rate(count: number, ms: number): string {
  return `${(ms / 1000).toFixed(1)} core seconds, ${Math.round((count / ms) * 1000)} transitions per core second`;
}

// npm run explore: every order of events in many small worlds, with the invariants asked in each state.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { allTasks, type Done, nightlyTasks, runAll, type Task, together } from './all-worlds.ts';
import { allGuards, failsOf, type Guards, unexplained } from './guards.ts';
import { unreached } from './reached.ts';
import type { Violation } from './search.ts';
import { unmet } from './unmet.ts';
import { worlds } from './worlds.ts';

const { values } = parseArgs({
  options: {
    depth: { type: 'string' },
    more: { type: 'string', default: '0' },
    world: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    threads: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    nightly: { type: 'boolean', default: false },
    walk: { type: 'string' },
    guards: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run explore -- [options]
  --world NAME   this world alone, or this transcript as a seed
  --depth N      events after the seed, instead of the world's own number
  --more N       so many events more
  --nightly      two events more in each world, everything at once, random walks: 30 minutes on two cores
  --walk N       the random walk of this number
  --seconds N    core seconds of each world, at most (120)
  --threads N    worlds at once
  --guards       lists every kind of guard, and the events that need it`);
  process.exit(0);
}
const limitMs = Number(values.seconds) * 1000;
const firstWalk = values.walk === undefined ? Date.now() % 1_000_000 : Number(values.walk);
if (values.nightly) console.log(`the first walk is ${firstWalk}`);
const every = values.nightly ? nightlyTasks(firstWalk) : allTasks(limitMs, Number(values.more));
if (values.walk !== undefined) every.push({ name: 'walk', depth: 0, pairs: 0, limitMs: 0, firstWalk });
const tasks = every
  .filter(({ name }) => values.world === undefined || values.world === name)
  .map((task): Task => (values.depth === undefined ? task : { ...task, depth: Number(values.depth) }));
if (tasks.length === 0) throw new Error(`There is no world "${values.world}", only: ${every.map(({ name }) => name).join(', ')}`);
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
  const guards = allGuards(all.map(({ commuted }) => commuted.guards));
  if (values.guards) showGuards(guards);
  if (values.world !== undefined || values.depth !== undefined) return;
  for (const line of [...unreached(met).map((what) => `NOT REACHED: ${what}`), ...unmet(met), ...unexplained(guards)]) {
    process.exitCode = 1;
    console.log(line);
  }
}

function showGuards(guards: Guards): void {
  console.log('which guards are needed:');
  for (const [kind, guard] of Object.entries(guards).toSorted(([one], [other]) => one.localeCompare(other)))
    console.log(`  ${kind}: ${guard.needed ?? failsOf(guard)}`);
}

function rate(count: number, ms: number): string {
  return `${(ms / 1000).toFixed(1)} core seconds, ${Math.round((count / ms) * 1000)} transitions per core second`;
}

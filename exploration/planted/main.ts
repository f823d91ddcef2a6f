// npm run planted-rules: plants each bug of the rules in a copy of the project, and explores the copy until an invariant is violated. The
// transcripts are not asked: exploration alone must find 95 %. A violation that the rules have without the bug does not count.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type PlantedBug, placeOfEdit } from '../../simulation/planted/planted-bug.ts';
import { explore, nothingMet, type Violation } from '../search.ts';
import { worlds } from '../worlds.ts';
import type { Hunted } from './hunt.ts';
import { copyWith, huntIn } from './hunting.ts';
import { ruleBugs } from './rule-bugs.ts';
import { likelyWorlds, rowOf, withVerdicts } from './verdicts.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '60' },
    workers: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run planted-rules -- [options]
  --only TEXT   bugs whose name has this text in it
  --seconds N   of processor time to catch each (60)
  --workers N   bugs that are tried at once (2)
  --write       puts the results into the table of docs/planted-bugs.md`);
  process.exit(0);
}
const root = fileURLToPath(new URL('../..', import.meta.url));
const goal = 95;

/** The same events, decided by the rules as they are. */
function isViolatedWithout(name: string, { invariant, sequence }: Violation): boolean {
  const world = worlds[name];
  if (!world) return false;
  const seed = sequence.map((line) => line.split(' -> ')[0] ?? line);
  try {
    const { violation } = explore({ ...world, seed: seed.slice(0, -1) }, { depth: 1 }, nothingMet());
    return violation?.invariant === invariant;
  } catch {
    return false;
  }
}

async function judge(bug: PlantedBug): Promise<Hunted> {
  const copy = copyWith(root, bug);
  const skipped: string[] = [];
  const used = { seconds: 0, transitions: 0 };
  try {
    for (;;) {
      const hunted = await huntIn(copy.path, { first: likelyWorlds(bug), skipped, seconds: Number(values.seconds) - used.seconds });
      used.seconds += hunted.seconds;
      used.transitions += hunted.transitions;
      if (!hunted.violation || hunted.world === undefined || !isViolatedWithout(hunted.world, hunted.violation))
        return { ...hunted, ...used };
      console.log(`(the world "${hunted.world}" is left out: without a bug, too, ${hunted.violation.invariant}: ${hunted.violation.why})`);
      skipped.push(hunted.world);
    }
  } finally {
    copy.remove();
  }
}

const chosen = ruleBugs.filter(({ name }) => name.includes(values.only));
// A text that is gone is an error of the table, before anything runs.
for (const edit of chosen.flatMap(({ edits }) => edits)) placeOfEdit(root, edit);
const caught: PlantedBug[] = [];
const survivors: PlantedBug[] = [];
const waiting = [...chosen];

async function judgeNext(): Promise<void> {
  for (let bug = waiting.shift(); bug; bug = waiting.shift()) {
    const hunted = await judge(bug);
    (hunted.violation ? caught : survivors).push(bug);
    console.log(rowOf(bug, hunted));
    if (!values.write) continue;
    const page = join(root, 'docs/planted-bugs.md');
    writeFileSync(page, withVerdicts(readFileSync(page, 'utf8'), ruleBugs, [{ bug, hunted }]));
  }
}

await Promise.all(Array.from({ length: Math.min(2, Number(values.workers)) }, judgeNext));
const share = (100 * caught.length) / Math.max(1, chosen.length);
console.log(`\n${caught.length} of ${chosen.length} bugs are caught by exploration alone (${share.toFixed(0)} %; the goal is ${goal} %)`);
for (const { name, harm } of survivors) console.log(`survives (${harm}): ${name}`);
process.exitCode = share >= goal ? 0 : 1;

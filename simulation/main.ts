// npm run simulation -- --days 100 --seed 1 --workers 2: runs that many shop-days, each from its own seed. A day that breaks
// a guarantee is reduced as far as possible and printed from its beginning to its end; --days 1 --seed <its seed> runs it again.
// oxlint-disable-next-line import/no-unassigned-import -- it must run before the others, which read what it sets
import './core-option.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/kernel/system.ts';
import { core } from '../test/support/core.ts';
import { addDay, nothingCompared, tellCompared } from './compare/reasons.ts';
import { runDays } from './day-pool.ts';
import { shrink } from './shrink.ts';
import { createSummary } from './summary.ts';

/** Fewer days cannot hit every place in every way. */
const daysThatHitAll = 500;
const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    core: { type: 'string', default: core },
    'trading-minutes': { type: 'string' },
    'stop-at-first': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    json: { type: 'string' },
    shapes: { type: 'string' },
    compare: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run simulation -- [--days N] [--seed N] [--workers N] [options]
  --days N             shop-days, each from a seed of its own (50)
  --seed N             of the first day (1)
  --workers N          days that run at once (1)
  --core new           on the new money core (src/money); the old one unless given
  --trading-minutes N  how long the shop is open under faults; the calm after it lasts until all is settled
  --stop-at-first      ends with the first broken day
  --no-shrink          tells the broken day as it was
  --json FILE          writes the sums there, for who adds up several series
  --shapes FILE        adds the shapes of events that it lacks, for the exploration of the new core
  --compare            the events of each day also go through the new core, and every different answer is listed with its reason
  --short              does not ask that every place was hit in every way (asked of ${daysThatHitAll} days and more), nor that every place has a name in the table`);
  process.exit(0);
}

function wholeNumber(name: 'days' | 'seed' | 'workers', most: number): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 1 || number > most) throw new Error(`--${name} must be a whole number from 1 to ${most}.`);
  return number;
}

const days = wholeNumber('days', 1_000_000);
const firstSeed = wholeNumber('seed', 2 ** 31);
const workers = wholeNumber('workers', 4 * availableParallelism());
const tradingMs = values['trading-minutes'] === undefined ? undefined : Number(values['trading-minutes']) * 60_000;
const progressEveryMs = 15_000;
const summary = createSummary();
const startedAtMs = systemClock.elapsed();
let outcomeReceivedAtMs = startedAtMs;

const seeds = Array.from({ length: days }, (_, day) => firstSeed + day);
if (values.compare && core === 'new') throw new Error('--compare records the old core.');
const compared = nothingCompared();
await runDays({ seeds, workers, tradingMs, isCompared: values.compare, clock: systemClock }, (day) => {
  summary.add(day);
  if (day.compared) addDay(compared, day.seed, day.compared);
  const nowMs = systemClock.elapsed();
  if (days <= 20) console.log(`seed ${day.seed} ${day.violations.length === 0 ? 'held' : 'BROKE'}, trace ${day.traceHash.slice(0, 16)}`);
  else if (day.violations.length > 0) console.log(`seed ${day.seed} BROKE: ${day.violations[0]}`);
  else if (nowMs - outcomeReceivedAtMs > progressEveryMs) {
    outcomeReceivedAtMs = nowMs;
    console.log(`${summary.days} of ${days} days in ${Math.round((nowMs - startedAtMs) / 1000)} s, ${summary.broken.length} broken`);
  }
  return day.violations.length > 0 && values['stop-at-first'];
});

if (values.json !== undefined) {
  const { user, system } = process.cpuUsage();
  const spent = { seconds: (systemClock.elapsed() - startedAtMs) / 1_000, cpuSeconds: (user + system) / 1e6 };
  writeFileSync(values.json, JSON.stringify({ firstSeed, ...spent, ...summary.totals() }));
}
if (values.shapes !== undefined) addShapes(values.shapes, summary.shapes);
console.log(summary.tell((systemClock.elapsed() - startedAtMs) / 1000));
if (values.compare) console.log(tellCompared(compared));
for (const { seed, violations } of summary.broken.slice(0, 5)) {
  console.log(`\nseed ${seed} broke ${violations.length} promises:`);
  for (const violation of violations) console.log(`  ${violation}`);
}
const [first] = summary.broken;
// A day that never ends cannot be reduced: a smaller one would not end either.
if (first?.hasEnded && !values['no-shrink']) {
  console.log(`\nmaking seed ${first.seed} smaller ...`);
  const { ways, day, odd } = await shrink({ seed: first.seed, tradingMs, clock: systemClock });
  for (const smaller of odd) console.log(`smaller by ${smaller}`);
  const what = ways.join(', ') || 'all that it had';
  console.log(`seed ${first.seed} with ${what}: ${day.violations[0] ?? 'nothing is broken when the calm is shorter'}\n`);
  console.log(day.history.join('\n'));
}
const missed = values.short || days < daysThatHitAll ? [] : summary.missed();
if (missed.length > 0) console.log(`\nnever hit (${missed.length}):\n  ${missed.join('\n  ')}`);
const unnamed = values.short ? [] : summary.unnamedPlaces();
if (unnamed.length > 0) console.log(`\nplaces that no table names: ${unnamed.join(', ')}`);
process.exitCode = first || compared.unexplained.length > 0 || missed.length > 0 || unnamed.length > 0 ? 1 : 0;

function addShapes(file: string, met: ReadonlySet<string>): void {
  const known = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
  const all = [...new Set([...known, ...met])].sort();
  writeFileSync(file, `${all.join('\n')}\n`);
  console.log(`${all.length - known.length} of ${met.size} shapes of events are new in ${file}`);
}

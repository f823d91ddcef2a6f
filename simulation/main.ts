// npm run simulation -- --days 100 --seed 1: so many shop-days, each from its own seed, until one breaks a promise or all are over.
// A day that fails is run again by its seed alone: --days 1 --seed <that one>.
import { parseArgs } from 'node:util';
import { runDay } from './run-day.ts';

const { values } = parseArgs({ options: { days: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } } });
const days = Number(values.days);
const firstSeed = Number(values.seed);
if (!Number.isInteger(days) || !Number.isInteger(firstSeed) || days < 1) throw new Error('--days and --seed must be whole numbers.');

const totals: Record<string, number> = {};
let broken = 0;
for (let day = 0; day < days; day += 1) {
  const seed = firstSeed + day;
  const { violations, traceHash, figures } = await runDay(seed);
  for (const [name, value] of Object.entries(figures)) totals[name] = (totals[name] ?? 0) + value;
  if (violations.length > 0) {
    broken += 1;
    console.log(`seed ${seed} broke ${violations.length} promises, trace ${traceHash}`);
    for (const violation of violations) console.log(`  ${violation}`);
  } else if (days <= 20 || day % 100 === 99) {
    console.log(`seed ${seed} held, trace ${traceHash.slice(0, 16)}`);
  }
}
console.log(`${days} shop-days from seed ${firstSeed}: ${broken} with broken promises`);
console.log(
  Object.entries(totals)
    .map(([name, value]) => `${name} ${value}`)
    .join(', '),
);
process.exitCode = broken === 0 ? 0 : 1;

// Measures the cabinet on a big database: `npm run cabinet-load -- --rows 1000000 --engine sqlite --dir /tmp/load`, or `--engine postgres
// --url postgres://...` with an empty database. Fills it once (a filled one is reused), runs all queries of the pages, and
// prints p50 and the slowest of each; `--writes` measures how fast commands are written and settled.
import { mkdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/database/open.ts';
import { systemClock } from '../src/kernel/system.ts';
import { type Filled, fill, merchantId } from './cabinet-load/fill.ts';
import { questionsOf } from './cabinet-load/questions.ts';
import { measureWrites } from './cabinet-load/writes.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    engine: { type: 'string', default: 'sqlite' },
    dir: { type: 'string', default: '/tmp/tillgate-cabinet-load' },
    url: { type: 'string' },
    only: { type: 'string' },
    times: { type: 'string', default: '7' },
    writes: { type: 'string' },
  },
});
const rows = Number(values.rows);
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };
if (values.engine === 'postgres' && values.url === undefined) throw new Error('--engine postgres needs --url.');
if (values.engine === 'sqlite') mkdirSync(values.dir, { recursive: true, mode: 0o700 });
const place = values.engine === 'postgres' ? { url: values.url } : { dataDir: values.dir };
const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quiet });

const newest = await database.queries.selectFrom('commands').select(['issued_at']).orderBy('issued_at', 'desc').limit(1).executeTakeFirst();
const hourMs = 3_600_000;
let filled: Filled;
if (newest) {
  const endMs = Math.ceil(newest.issued_at / hourMs) * hourMs;
  filled = {
    rows,
    invoices: Math.floor(rows / 10),
    startMs: endMs - 720 * hourMs,
    endMs,
    bigMerchant: merchantId(0),
    smallMerchant: merchantId(7),
  };
} else {
  const startedMs = performance.now();
  filled = await fill(database, rows, Math.floor(systemClock.now() / hourMs) * hourMs, { say: (text) => console.log(text) });
  console.log(`filled in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}
if (values.writes !== undefined) console.log(await measureWrites(database, Number(values.writes)));

const times = Number(values.times);
const lines: string[] = [];
for (const { name, boundMs, ask } of questionsOf(database, filled)) {
  if (values.only !== undefined && !name.includes(values.only)) continue;
  const took: number[] = [];
  for (let count = 0; count < times; count += 1) {
    const startedMs = performance.now();
    await ask(database.queries);
    took.push(performance.now() - startedMs);
  }
  took.sort((one, other) => one - other);
  const p50 = took[Math.floor(took.length / 2)] ?? 0;
  const max = took.at(-1) ?? 0;
  lines.push(`| ${name} | ${p50.toFixed(1)} | ${max.toFixed(1)} | ${boundMs} | ${p50 > boundMs ? 'OVER' : ''} |`);
}
console.log(`| ${values.engine}, ${rows} commands | p50 ms | max ms | bound ms | |\n|---|---|---|---|---|\n${lines.join('\n')}`);
await database.close();

// Sends a hundred thousand inputs to its own sandbox and checks the answers: `npm run fuzz -- --count 100000 --seed 7 [--json]`.
// Messages on a real RabbitMQ have a separate run: `npm run fuzz -- --rabbitmq --count 20000`.
// A failure names the round seed that repeats it. Progress goes to stderr.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openForeignShop } from '../test/conformance/foreign-shop.ts';
import { openDoors } from '../test/fuzz/fuzzed-gateway.ts';
import { runFuzz } from '../test/fuzz/run-fuzz.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    rabbitmq: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run fuzz -- [--count N] [--seed N] [--rabbitmq] [--json]
  --count N   inputs to throw (100000)
  --seed N    of what is thrown; a failure names the seed of the round that repeats it
  --rabbitmq  device messages on a real RabbitMQ instead, which must be running: see npm run servers
  --json      the result as JSON, on standard output; progress goes to standard error`);
  process.exit(0);
}
const [seed, count] = [Number(values.seed), Number(values.count)];
if (!values.json) console.log(`${count} inputs, seed ${seed}`);
if (values.rabbitmq) process.exit(await runOnRabbitmq());
const startedAt = performance.now();
const shop = await openForeignShop(openDoors);
try {
  const tell = (progress: string) => process.stderr.write(`\r${progress} in ${Math.round((performance.now() - startedAt) / 1000)} s   `);
  const result = await runFuzz(shop, { seed, count, bounds: { neighbourMs: 3_000, growthMb: 100 }, tell });
  process.stderr.write('\n');
  console.log(values.json ? JSON.stringify({ seed, ...result }) : describe(result));
} finally {
  await shop.close();
}
process.exit(0);

/** Starts and stops the servers itself: it is the long form of a test. */
function runOnRabbitmq(): Promise<number> {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const file = 'test/conformance/rabbitmq.server.test.ts';
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', file, '-t', 'messages by chance'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TILLGATE_TEST_FUZZ_SEED: values.seed, TILLGATE_TEST_FUZZ_COUNT: values.count },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

function describe({ inputs, ...watched }: Awaited<ReturnType<typeof runFuzz>>): string {
  return [
    ...Object.entries(inputs).map(([name, thrown]) => `${name.padEnd(18)} ${thrown}`),
    `A good caller beside it was served ${watched.neighbourCalls} times, the slowest in ${watched.slowestNeighbourMs} ms.`,
    `The gateway grew by ${watched.grownMb} MB. Every answer had its envelope, and no call was an internal error.`,
  ].join('\n');
}

// The kill -9 series of test/faults at full length: `npm run kill9 -- --rounds 200 --victims gateway --seed 7`.
// Victims: gateway, terminal, register on the embedded database; postgres, mosquitto, rabbitmq (and gateway) on real servers.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    victims: { type: 'string', default: 'gateway' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const needsServers = /postgres|mosquitto|rabbitmq/.test(values.victims);
const root = fileURLToPath(new URL('..', import.meta.url));
const file = `test/faults/kill-series.${needsServers ? 'server.' : ''}test.ts`;
console.log(`${values.rounds} kills of ${values.victims}, seed ${values.seed}`);
const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', file, '--disable-console-intercept'], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    TILLGATE_TEST_KILL_ROUNDS: values.rounds,
    TILLGATE_TEST_KILL_VICTIMS: values.victims,
    TILLGATE_TEST_KILL_SEED: values.seed,
  },
});
child.once('exit', (code) => process.exit(code ?? 1));

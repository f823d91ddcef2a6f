// test/deploy/two-gateways at full length: `npm run two-gateways -- --requests 10000 --kills 20`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { core, coreVariables } from '../test/support/core.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '20' },
    core: { type: 'string', default: core },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(`npm run two-gateways -- [--requests N] [--kills N] [--core new]
  --requests N  answered while the gateways are restarted in turn (10000)
  --kills N     of the gateways in turn, afterwards (20)
  --core new    on the new money core (src/money); the old one unless given`);
  process.exit(0);
}
const variables = {
  ...coreVariables(values.core),
  TILLGATE_TEST_ROLLING_REQUESTS: values.requests,
  TILLGATE_TEST_ROLLING_KILLS: values.kills,
};
const root = fileURLToPath(new URL('..', import.meta.url));
const file = 'test/deploy/two-gateways.server.test.ts';
const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', file, '--disable-console-intercept'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ...variables },
});
child.once('exit', (code) => process.exit(code ?? 1));

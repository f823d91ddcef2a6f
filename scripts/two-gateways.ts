// test/deploy/two-gateways at full length: `npm run two-gateways -- --requests 10000 --kills 20`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' }, kills: { type: 'string', default: '20' } } });
const root = fileURLToPath(new URL('..', import.meta.url));
const file = 'test/deploy/two-gateways.server.test.ts';
const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', file, '--disable-console-intercept'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, TILLGATE_TEST_ROLLING_REQUESTS: values.requests, TILLGATE_TEST_ROLLING_KILLS: values.kills },
});
child.once('exit', (code) => process.exit(code ?? 1));

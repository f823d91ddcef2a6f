// All checks of CI, the fastest first; stops at the first failure.
// Each step is an npm script, so that it can be run alone by the same name.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const steps = [
  { name: 'types', script: 'types' },
  { name: 'format', script: 'format:check' },
  { name: 'lint', script: 'lint' },
  { name: 'dead code', script: 'knip' },
  { name: 'tidy', script: 'tidy' },
  { name: 'generated files up to date', script: 'generated:check' },
  { name: 'tests', script: 'test' },
];

for (const { name, script } of steps) {
  console.log(`\n=== ${name} (npm run ${script})`);
  const { status } = spawnSync('npm', ['run', '-s', script], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: 'inherit',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  if (status !== 0) {
    console.error(`\n=== ${name} failed`);
    process.exit(status ?? 1);
  }
}
console.log('\n=== all checks passed');

// Everything that CI holds a change to, in the order in which a failure is quickest to see; stops at the first.
// `npm run check`
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Step {
  name: string;
  command: string[];
}

const steps: Step[] = [
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'format', command: ['biome', 'check'] },
  { name: 'lint', command: ['oxlint', '--deny-warnings'] },
  { name: 'dead code', command: ['knip'] },
  { name: 'tidy', command: ['vitest', 'run', 'test/tidy.test.ts'] },
  { name: 'generated files up to date', command: ['node', 'scripts/openapi.ts', '--check'] },
  { name: 'OpenAPI rules', command: ['redocly', 'lint', 'openapi/v1.json'] },
  { name: 'tests', command: ['node', 'scripts/test.ts'] },
];

for (const { name, command } of steps) {
  console.log(`\n=== ${name}: ${command.join(' ')}`);
  const [program = '', ...args] = command;
  const local = join(root, 'node_modules/.bin', program);
  const result = spawnSync(existsSync(local) ? local : program, args, {
    cwd: root,
    stdio: 'inherit',
    // With the Node that the package brought, whatever started this.
    env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}` },
  });
  if (result.status !== 0) {
    console.error(`\n=== ${name} failed`);
    process.exit(result.status ?? 1);
  }
}
console.log('\n=== all checks passed');

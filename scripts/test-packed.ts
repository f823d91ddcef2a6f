// Packs Tillgate, unpacks it as an installation would, and runs the end-to-end tests on that: all of them that need no servers, or the
// files given. Exit code: Vitest's.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packProgram } from '../test/support/packed-program.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);
const { program, files, tarballBytes } = await packProgram();
console.log(`[packed] ${files.length} files, ${Math.ceil(tarballBytes / 1024)} KiB`);
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...(given.length > 0 ? given : ['test/e2e'])],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TILLGATE_TEST_PROGRAM: program, TILLGATE_TEST_EMBEDDED: '1' },
  },
);
process.exit(status ?? 1);

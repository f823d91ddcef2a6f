// Packs the program of an earlier commit for test/upgrade: `node scripts/version-before.ts v0.1.0`. To be run once at each release
// (docs/releasing.md), so that later code is tested against the installed version; a checkout in CI has no history.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

const [commit = ''] = process.argv.slice(2);
if (commit === '') throw new Error('Usage: node scripts/version-before.ts COMMIT');
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

const paths = git('ls-tree', '-r', '--name-only', commit, 'src', 'migrations', 'package.json').trim().split('\n');
const files = Object.fromEntries(paths.map((path) => [path, git('show', `${commit}:${path}`)]));
const text = JSON.stringify({ commit: git('rev-parse', commit).trim(), files });
const settings = {
  [constants.BROTLI_PARAM_LGWIN]: 24,
  [constants.BROTLI_PARAM_QUALITY]: 11,
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
};
const packed = brotliCompressSync(text, { params: settings });
writeFileSync(new URL('../test/upgrade/version-before.json.br', import.meta.url), packed);
process.stdout.write(`${paths.length} files of ${commit} in ${packed.length} bytes\n`);

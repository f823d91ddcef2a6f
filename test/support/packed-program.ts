// Tillgate as `npm pack` makes it, unpacked under node_modules beside what its package.json asks for and nothing else.
// It is packed from a copy, so that whoever runs tests at the same time sees no half-made dist/.
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from './gateway-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
/** What the pack reads. Of the cabinet only what is built: without its sources there is nothing to build anew. */
const read = [
  'bin',
  'src',
  'scripts',
  'migrations',
  'openapi',
  'asyncapi',
  'docs',
  'deploy',
  'web/dist',
  'web/reference',
  'web/package.json',
];

export interface PackedProgram {
  /** What `tillgate` starts. */
  program: string;
  /** Files of the package, as it lists them. */
  files: string[];
  /** The whole package unpacked. */
  home: string;
  tarballBytes: number;
}

export async function packProgram(): Promise<PackedProgram> {
  const copy = temporaryDirectory();
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const loose = globSync(['package.json', '.npmrc', '.env.example', '*.md', 'LICENSE'], { cwd: root });
  for (const path of [...read, ...loose]) cpSync(join(root, path), join(copy, path), { recursive: true });
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  await run('npm', ['pack', '--silent'], { cwd: copy, env });
  const [tarball = ''] = globSync('*.tgz', { cwd: copy });
  const files = (await run('tar', ['-tzf', join(copy, tarball)])).stdout.trim().split('\n');

  const modules = join(temporaryDirectory(), 'node_modules');
  const home = join(modules, 'tillgate');
  mkdirSync(home, { recursive: true });
  await run('tar', ['-xzf', join(copy, tarball), '-C', home, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    bin: { tillgate: string };
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return {
    program: join(home, manifest.bin.tillgate),
    files: files.map((file) => file.replace(/^package\//, '')).sort(),
    home,
    tarballBytes: statSync(join(copy, tarball)).size,
  };
}

// The clients as a user gets them: the tarball unpacked into node_modules, the wheel installed into a directory of its own.
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../support/gateway-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
/** Debian's, which has what builds a wheel. */
export const python = '/usr/bin/python3';

export interface Packed {
  /** Files of the package, as it lists them. */
  files: string[];
  /** Where programs find the package: a directory with node_modules, or for PYTHONPATH. */
  place: string;
}

/** Built in a copy: whoever runs tests at the same time must not see half a build. */
function copyOf(client: string): string {
  const copy = join(temporaryDirectory(), client);
  cpSync(join(root, 'clients', client), copy, { recursive: true });
  return copy;
}

export async function packTypescript(): Promise<Packed> {
  const source = copyOf('typescript');
  const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}` };
  // The copy lies outside of the repository, and its build needs Node's types as any other does.
  cpSync(join(root, 'node_modules/@types/node'), join(source, 'node_modules/@types/node'), { recursive: true });
  cpSync(join(root, 'node_modules/undici-types'), join(source, 'node_modules/undici-types'), { recursive: true });
  await run('npm', ['pack', '--silent'], { cwd: source, env });
  const [tarball = ''] = globSync('*.tgz', { cwd: source });
  const files = (await run('tar', ['-tzf', join(source, tarball)])).stdout.trim().split('\n');
  const place = temporaryDirectory();
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }\n');
  const home = join(place, 'node_modules/tillgate-client');
  mkdirSync(home, { recursive: true });
  await run('tar', ['-xzf', join(source, tarball), '-C', home, '--strip-components=1']);
  return { files: files.map((file) => file.replace(/^package\//, '')).sort(), place };
}

export async function packPython(): Promise<Packed> {
  const source = copyOf('python');
  for (const left of globSync('**/{__pycache__,*.egg-info}', { cwd: source })) rmSync(join(source, left), { recursive: true });
  const build = 'import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))';
  const wheels = temporaryDirectory();
  await run(python, ['-c', build, wheels], { cwd: source });
  const [wheel = ''] = globSync('*.whl', { cwd: wheels });
  const place = temporaryDirectory();
  await run(python, ['-m', 'zipfile', '-e', join(wheels, wheel), place]);
  return {
    files: globSync('**/*.*', { cwd: place })
      .filter((file) => dirname(file) !== '.')
      .sort(),
    place,
  };
}

// Code that a generator makes of openapi/v1.json, in a directory far from our own settings, as a user's project is.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from './gateway-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
export const generatorsDir = join(root, 'test/generators');

/** `program`: a package and the file in it. The use of the code lies beside what it makes. */
export async function generate(program: string, args: string[], use: string, files: Record<string, string> = {}): Promise<string> {
  const place = temporaryDirectory();
  copyFileSync(join(root, 'openapi/v1.json'), join(place, 'v1.json'));
  copyFileSync(join(generatorsDir, 'uses', use), join(place, use));
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }\n');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  const [, name = '', file = ''] = /^((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(program) ?? [];
  const lookUp = createRequire(join(generatorsDir, 'package.json')).resolve.paths(name) ?? [];
  const home = lookUp.map((directory) => join(directory, name)).find((directory) => existsSync(join(directory, file)));
  if (home === undefined) throw new Error(`${name} of test/generators is not installed: run npm ci.`);
  await run(process.execPath, [join(home, file), ...args], { cwd: place });
  return place;
}

const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler', '--allowImportingTsExtensions'];

/** What the compiler says against it. */
export async function compile(place: string, file: string): Promise<string> {
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--types', 'node', ...bundler];
  const failed = await run(join(root, 'node_modules/.bin/tsc'), [...options, file], { cwd: place }).catch((error: unknown) => error);
  return (failed as { stdout: string }).stdout;
}

// Generators of the trade make good code of openapi/v1.json: each call is used with types that tell a success from a failure, and the
// mistakes that they should catch do not compile.
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/gateway-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const generators = join(root, 'test/generators');
const slow = { timeout: 120_000 };

/** Far from our own settings, as a user's project is. */
async function generate(program: string, args: string[], use: string): Promise<string> {
  const place = temporaryDirectory();
  copyFileSync(join(root, 'openapi/v1.json'), join(place, 'v1.json'));
  copyFileSync(join(generators, 'uses', use), join(place, use));
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }\n');
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  const file = createRequire(join(generators, 'package.json')).resolve(`${program.split('/')[0]}/package.json`);
  await run(process.execPath, [join(file, '..', program.slice(program.indexOf('/') + 1)), ...args], { cwd: place });
  return place;
}

async function compile(place: string, file: string, module: string[]): Promise<string> {
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--types', 'node', ...module];
  const failed = await run(join(root, 'node_modules/.bin/tsc'), [...options, file], { cwd: place }).catch((error: unknown) => error);
  return (failed as { stdout: string }).stdout;
}

const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler', '--allowImportingTsExtensions'];

it('openapi-typescript: every call, typed', slow, async () => {
  const place = await generate('openapi-typescript/bin/cli.js', ['v1.json', '-o', 'api.ts'], 'types.ts');
  expect(await compile(place, 'types.ts', bundler)).toBe('');
  expect(readFileSync(join(place, 'api.ts'), 'utf8')).toContain('ErrorCode: 1 | 2 | 3 | 10 | 11 | 20 | 21 | 22 | 30 | 31 | 40 | 41 | 50;');
});

it('openapi-typescript-codegen: every call, typed', slow, async () => {
  const place = await generate(
    'openapi-typescript-codegen/bin/index.js',
    ['-i', 'v1.json', '-o', 'codegen', '--useOptions'],
    'services.ts',
  );
  expect(await compile(place, 'services.ts', bundler)).toBe('');
});

it('uses each call of the document', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'openapi/v1.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const calls = Object.entries(paths).flatMap(([path, methods]) => (/^\/(Device|Invoice)\//.test(path) ? Object.values(methods) : []));
  expect(calls).toHaveLength(16);
  const uses = ['types.ts', 'services.ts'].map((name) => readFileSync(join(generators, 'uses', name), 'utf8'));
  for (const { operationId } of calls) for (const use of uses) expect(use).toMatch(new RegExp(`\\b${operationId}\\b`));
});

// Generators of the trade make good code of openapi/v1.json: each call is used with types that tell a success from a failure, and the
// mistakes that they should catch do not compile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compile, generate, generatorsDir } from '../support/generated-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const slow = { timeout: 120_000 };

it('openapi-typescript: every call, typed', slow, async () => {
  const place = await generate('openapi-typescript/bin/cli.js', ['v1.json', '-o', 'api.ts'], 'types.ts');
  expect(await compile(place, 'types.ts')).toBe('');
  expect(readFileSync(join(place, 'api.ts'), 'utf8')).toContain('ErrorCode: 1 | 2 | 3 | 10 | 11 | 20 | 21 | 22 | 30 | 31 | 40 | 41 | 50;');
});

it('openapi-typescript-codegen: every call, typed', slow, async () => {
  const place = await generate(
    'openapi-typescript-codegen/bin/index.js',
    ['-i', 'v1.json', '-o', 'codegen', '--useOptions'],
    'services.ts',
  );
  expect(await compile(place, 'services.ts')).toBe('');
});

it('uses each call of the document', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'openapi/v1.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const calls = Object.entries(paths).flatMap(([path, methods]) => (/^\/(Device|Invoice)\//.test(path) ? Object.values(methods) : []));
  expect(calls).not.toHaveLength(0);
  const uses = ['types.ts', 'services.ts'].map((name) => readFileSync(join(generatorsDir, 'uses', name), 'utf8'));
  for (const { operationId } of calls) for (const use of uses) expect(use).toMatch(new RegExp(`\\b${operationId}\\b`));
});

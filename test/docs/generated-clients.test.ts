// Generators of the trade make good code of openapi/v1.json: each call is used with types that tell a success from a failure, and the
// mistakes that they should catch do not compile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { documentedOperations } from '../support/documented-operations.ts';
import { compile, generate, generatorsDir } from '../support/generated-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const slow = { timeout: 120_000 };

/** A call of each operation with the example of the document, by the types of openapi-typescript. */
const examplesByType = [
  "import { call } from './types.ts';",
  'export async function useExamples(): Promise<void> {',
  ...documentedOperations().map(({ operationId, example }) => `  await call('${operationId}', ${JSON.stringify(example)});`),
  '}\n',
].join('\n');

/** The same by the services of openapi-typescript-codegen; each is named after the tag of its calls. */
const serviceOf = ([tag = '']: string[]) =>
  `${tag.replace(/(\w)(\w*) ?/g, (_, first: string, rest: string) => first + rest.toLowerCase())}Service`;
const examplesByService = [
  `import { ${[...new Set(documentedOperations().map(({ tags }) => serviceOf(tags)))].join(', ')} } from './codegen';`,
  'export async function useExamples(): Promise<void> {',
  ...documentedOperations().map(
    ({ tags, operationId, example }) => `  await ${serviceOf(tags)}.${operationId}({ requestBody: ${JSON.stringify(example)} });`,
  ),
  '}\n',
].join('\n');

it('openapi-typescript: every call, typed', slow, async () => {
  const place = await generate('openapi-typescript/bin/cli.js', ['v1.json', '-o', 'api.ts'], 'types.ts', { 'examples.ts': examplesByType });
  expect(await compile(place, 'examples.ts')).toBe('');
  expect(readFileSync(join(place, 'api.ts'), 'utf8')).toContain(
    'ErrorCode: 0 | 1 | 2 | 3 | 10 | 11 | 20 | 21 | 22 | 30 | 31 | 40 | 41 | 50;',
  );
});

it('openapi-typescript-codegen: every call, typed', slow, async () => {
  const place = await generate(
    'openapi-typescript-codegen/bin/index.js',
    ['-i', 'v1.json', '-o', 'codegen', '--useOptions'],
    'services.ts',
    { 'examples.ts': examplesByService },
  );
  expect(await compile(place, 'services.ts')).toBe('');
  expect(await compile(place, 'examples.ts')).toBe('');
});

it('uses each call of the document', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'openapi/v1.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const calls = Object.entries(paths).flatMap(([path, methods]) => (/^\/(Device|Invoice)\//.test(path) ? Object.values(methods) : []));
  expect(calls).not.toHaveLength(0);
  const written = (name: string) => readFileSync(join(generatorsDir, 'uses', name), 'utf8');
  const uses = [written('types.ts') + examplesByType, written('services.ts') + examplesByService];
  for (const { operationId } of calls) for (const use of uses) expect(use).toMatch(new RegExp(`\\b${operationId}\\b`));
});

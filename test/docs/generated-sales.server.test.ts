// openapi-generator makes clients of openapi/v1.json for PHP, Java, TypeScript and C#. The first three run one sale against a sandbox (javac
// compiles every class; PHP's client needs Guzzle and mbstring); those in C#, for which there is no compiler here, are parsed.
import { execFile } from 'node:child_process';
import { copyFileSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { compile, generatorsDir } from '../support/generated-client.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const lookUp = createRequire(join(generatorsDir, 'package.json'));
const jar = join(lookUp.resolve('@openapitools/openapi-generator-cli/package.json'), '../bin/openapi-generator.jar');
const slow = { timeout: 4 * patienceMs };

/** What the test uses of @vscode/tree-sitter-wasm. */
interface TreeSitter {
  Parser: {
    new (): { setLanguage(language: object): void; parse(text: string): { rootNode: { hasError: boolean } } | null };
    init(): Promise<void>;
  };
  Language: { load(grammar: Uint8Array): Promise<object> };
}

/** Makes the client beside the program that uses it. */
async function generate(language: string, use?: string, options: string[] = []): Promise<string> {
  const place = temporaryDirectory();
  const input = ['-i', join(root, 'openapi/v1.json'), '-g', language, '-o', join(place, 'client'), ...options];
  await run('java', ['-jar', jar, 'generate', ...input], { maxBuffer: 16 * 1024 * 1024 });
  if (use !== undefined) copyFileSync(join(generatorsDir, 'sales', use), join(place, use));
  return place;
}

const filesOf = (place: string, ending: string) => globSync(`client/**/*.${ending}`, { cwd: place }).map((file) => join(place, file));

/** What a generator writes for a choice of types; no such class exists. */
function expectNoMissingTypes(files: readonly string[]): void {
  expect(files.length).toBeGreaterThan(50);
  const choices = files.filter((file) => /\b(?:OneOf|AnyOf|AnyType)/i.test(readFileSync(file, 'utf8')));
  expect(choices).toEqual([]);
}

describe('one sale by a client of openapi-generator', () => {
  let shop: SandboxShop;
  beforeAll(async () => {
    shop = await openSandboxShop({ TILLGATE_INVOICE_AUTH: 'all' });
  }, 2 * patienceMs);
  afterAll(async () => {
    await shop?.expectBooksAgree();
    await shop?.close();
  });

  async function expectSale(program: string, args: string[], cwd: string, terminal: number): Promise<void> {
    const { baseUrl, apiKey } = shop.sandbox.file;
    const given = [new URL(baseUrl).port, apiKey, shop.terminals[terminal] ?? '', shop.registers[0] ?? ''];
    const { stdout } = await run(program, [...args, ...given], { cwd });
    expect(stdout.trim().split('\n')).toEqual(['pay 0 Done 35.5', 'close 0', 'print 0', 'again 22 Closed']);
  }

  it('in PHP', slow, async () => {
    const place = await generate('php', 'sale.php');
    expectNoMissingTypes(filesOf(place, 'php'));
    await expectSale('php', ['sale.php'], place, 0);
  });

  it('in Java', slow, async () => {
    const place = await generate('java', 'Sale.java', ['--library', 'native', '-p', 'openApiNullable=false']);
    const sources = filesOf(place, 'java').filter((file) => file.includes('/src/main/'));
    expectNoMissingTypes(sources);
    // The generator itself contains the libraries of its clients.
    writeFileSync(join(place, 'sources'), [...sources, join(place, 'Sale.java')].join('\n'));
    await run('javac', ['-nowarn', '-cp', jar, '-d', join(place, 'classes'), `@${join(place, 'sources')}`]);
    await expectSale('java', ['-cp', `${jar}:${join(place, 'classes')}`, 'Sale'], place, 1);
  });

  it('in TypeScript', slow, async () => {
    const place = await generate('typescript-fetch', 'sale.ts');
    expectNoMissingTypes(filesOf(place, 'ts'));
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
    writeFileSync(join(place, 'package.json'), '{ "type": "module" }\n');
    expect(await compile(place, 'sale.ts')).toBe('');
    const build = await rolldown({ input: join(place, 'sale.ts'), platform: 'node', logLevel: 'silent' });
    await build.write({ file: join(place, 'sale.mjs'), format: 'esm' });
    await expectSale(process.execPath, ['sale.mjs'], place, 2);
  });
});

it('openapi-generator makes C# that can be parsed', slow, async () => {
  const files = filesOf(await generate('csharp-netcore'), 'cs');
  expectNoMissingTypes(files);
  const { Parser, Language } = lookUp('@vscode/tree-sitter-wasm') as TreeSitter;
  await Parser.init();
  const parser = new Parser();
  const grammar = join(lookUp.resolve('@vscode/tree-sitter-wasm'), '../tree-sitter-c-sharp.wasm');
  parser.setLanguage(await Language.load(readFileSync(grammar)));
  const broken = files.filter((file) => parser.parse(readFileSync(file, 'utf8'))?.rootNode.hasError !== false);
  expect(broken).toEqual([]);
});

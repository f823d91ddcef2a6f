// The npm package: its contents and its start on any Node version. `npm test` runs the end-to-end tests on it [D247].
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { SandboxFile } from '../../src/cli/sandbox-file.ts';
import { patienceMs, startProgram, temporaryDirectory } from '../support/gateway-process.ts';
import { packProgram } from '../support/packed-program.ts';

const run = promisify(execFile);
const slowTest = { timeout: 3 * patienceMs };
/** Makes Node report version 20. */
const olderNode = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})`;

const sourceDirectory = fileURLToPath(new URL('../../src/', import.meta.url));
const hasCode = (source: string) => /^\s*(export )?(async )?(const|let|function|class)\b/m.test(stripTypeScriptTypes(source));

const packed = await packProgram();

it('`npm ci --omit=dev` installs everything that the build of the cabinet needs', () => {
  const root = new URL('../../', import.meta.url);
  const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean } | undefined> };
  const text = ['scripts/check-node.mjs', 'scripts/web.ts', 'web/vite.config.ts'].map(read).join('\n');
  const named = [...text.matchAll(/(?:from |import\(|resolve\()['"`]((?:@[\w-]+\/)?[\w-]+)(?=['"`/])/g)].map(([, name = '']) => name);
  const outside = [...new Set(named)].filter((name) => name !== 'node');
  expect(outside).toEqual(expect.arrayContaining(['vite', 'swagger-ui-dist', '@vitejs/plugin-react']));
  expect(outside.filter((name) => packages[`node_modules/${name}`]?.dev !== undefined)).toEqual([]);
  expect(outside.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
});

describe('the package', () => {
  it('contains the program as JavaScript, its data files, the documents, and nothing else', () => {
    const parts = new Set(packed.files.map((file) => (file.includes('/') ? `${file.split('/')[0]}/` : file)));
    expect([...parts].sort()).toEqual([
      '.env.example',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'asyncapi/',
      'bin/',
      'deploy/',
      'dist/',
      'docs/',
      'migrations/',
      'openapi/',
      'package.json',
      'web/',
    ]);
    expect(packed.files.filter((file) => /\.(ts|tsx|png|map)$|\.test\.[jt]s$|^scripts|node_modules/.test(file))).toEqual([
      'web/reference/favicon-32x32.png',
    ]);
    expect(packed.files.filter((file) => file.startsWith('web/') && !/^web\/(dist|reference)\//.test(file))).toEqual([]);
    expect(packed.tarballBytes).toBeLessThan(3_000_000);
  });

  it('has the size given in docs/operating.md', () => {
    const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    const namedMb = Number(/makes `tillgate-x\.y\.z\.tgz`, about ([\d.]+) MB/.exec(page)?.[1]);
    expect(Math.abs(packed.tarballBytes / 1e6 - namedMb), `${packed.tarballBytes} bytes`).toBeLessThan(0.2);
  });

  it('has a few readable code files: a comment names the source of each part', () => {
    const code = packed.files.filter((file) => file.startsWith('dist/'));
    expect(code).toEqual(expect.arrayContaining(['dist/cli/main.js', 'dist/cli/sqlite-worker.js']));
    expect(code.length).toBeLessThan(40);
    const text = code.map((file) => readFileSync(join(packed.home, file), 'utf8')).join('\n');
    const sources = globSync('**/*.ts', { cwd: sourceDirectory });
    // Files with types only produce no code.
    const missing = sources.filter(
      (path) => !text.includes(`// src/${path}\n`) && hasCode(readFileSync(join(sourceDirectory, path), 'utf8')),
    );
    // Of the new core what only the tests ask for, until it is wired [D300].
    expect(missing.filter((path) => !path.startsWith('money/'))).toEqual([]);
    expect(text).toMatch(/^async function startGateway\(/m);
  });

  it('starts by its name, with its arguments and its exit code', slowTest, async () => {
    const { version } = JSON.parse(readFileSync(join(packed.home, 'package.json'), 'utf8')) as { version: string };
    const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    expect((await run(packed.program, ['--version'], { env })).stdout).toBe(`${version}\n`);
    for (const node of [[], ['--import', olderNode]]) {
      const wrong = await run(process.execPath, [...node, packed.program, 'sel'], { env }).catch((error: unknown) => error);
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no command "sel"') });
    }
  });

  it('starts from an older Node on the bundled one, and finds all its files', slowTest, async () => {
    const dataDir = temporaryDirectory();
    const settings = { TILLGATE_DATA_DIR: dataDir, TILLGATE_PORT: '0', TILLGATE_MQTT_PORT: '0' };
    const sandbox = startProgram(['sandbox'], settings, [process.execPath, ['--import', olderNode, packed.program, 'sandbox']]);
    await sandbox.prints(/\n {2}tillgate sink --port 9000\n/);
    const { baseUrl } = JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxFile;
    const get = async (path: string) => {
      const answer = await fetch(`${baseUrl}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    expect(JSON.parse((await get('/health/ready')).text)).toMatchObject({ errorCode: 0 });
    expect(await get('/cabinet')).toMatchObject({ status: 200, text: expect.stringContaining('<script') });
    expect(await get('/docs')).toMatchObject({ status: 200, text: expect.stringContaining('swagger') });
    expect(JSON.parse((await get('/openapi.json')).text)).toMatchObject({ paths: expect.any(Object) });
    // One signal only: the gateway treats a second one as "at once", and exits with 1.
    expect(await sandbox.terminate()).toEqual({ code: 0, signal: null });
    await expect(get('/health/live')).rejects.toThrow();
  });
});

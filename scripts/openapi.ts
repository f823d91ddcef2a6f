// Writes openapi/v1.json from the routes, or with --check compares it: `node scripts/openapi.ts [--check]`.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createMetrics } from '../src/http/metrics.ts';
import { describeApi } from '../src/http/openapi.ts';
import { createHttpServer } from '../src/http/server.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';

const file = fileURLToPath(new URL('../openapi/v1.json', import.meta.url));

/** The gateway's routes on a server that never listens and never asks anybody anything. */
export async function createApiDocument(): Promise<object> {
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    basePath: '/tillgate',
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    clock: systemClock,
    random: systemRandom,
    metrics: createMetrics(),
    rateLimitPerS: 1,
    findCaller: async () => undefined,
    findDevice: async () => undefined,
    isAdminToken: () => false,
    whyNotReady: async () => undefined,
  });
  // The slices' routes are added here by gateway.ts.
  return describeApi(server);
}

async function run(isCheck: boolean): Promise<void> {
  const text = `${JSON.stringify(await createApiDocument(), null, 2)}\n`;
  if (!isCheck) {
    await mkdir(new URL('../openapi/', import.meta.url), { recursive: true });
    await writeFile(file, text);
    return;
  }
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('openapi/v1.json does not match the routes: run node scripts/openapi.ts');
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(process.argv.includes('--check'));

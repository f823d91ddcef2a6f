// Writes openapi/v1.json and openapi/cabinet.json from the gateway's own routes, or with --check compares them: `node scripts/openapi.ts
// [--check]`. A running gateway serves both in one; with separate files, an ERP's developer generates only the ERP's calls.
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/open.ts';
import { assemble } from '../src/gateway.ts';
import { describeApi } from '../src/http/openapi.ts';
import { type ApiDocument, isForCabinet, isForErp, partOf } from '../src/http/openapi-parts.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import type { Config } from '../src/settings.ts';
import { runGenerator } from './generated-file.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** All rooms wired as in production and never started: no port is opened, and the database is in memory. */
async function wholeDocument(): Promise<ApiDocument> {
  const config = readConfig('serve', { TILLGATE_ADMIN_TOKEN: 'never used, because nothing is started' });
  const world = { clock: systemClock, random: systemRandom, logger: silent };
  const database = await openDatabase({ inMemory: true, role: 'gateway', clock: systemClock, logger: silent });
  try {
    const document = (await describeApi(assemble(config, world, database).server)) as ApiDocument;
    return { ...document, servers: serversOf(config) };
  } finally {
    await database.close();
  }
}

/** A running gateway names itself by its path; in a file that leads nowhere. The first is what a generated client calls by default. */
function serversOf({ host, port, basePath }: Pick<Config, 'host' | 'port' | 'basePath'>): object[] {
  const variables = { gateway: { default: 'gateway.example', description: 'Host of your gateway, with its port if that is not 443.' } };
  return [
    { url: `http://${host}:${port}${basePath}`, description: 'The sandbox on your machine (npm start).' },
    { url: `https://{gateway}${basePath}`, description: 'Your gateway.', variables },
  ];
}

const whole = wholeDocument();

export async function apiDocument(): Promise<object> {
  return partOf(await whole, isForErp);
}

export async function cabinetDocument(): Promise<object> {
  return partOf(await whole, isForCabinet);
}

await runGenerator(import.meta.url, 'openapi/v1.json', apiDocument);
await runGenerator(import.meta.url, 'openapi/cabinet.json', cabinetDocument);

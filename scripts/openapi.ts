// Writes openapi/v1.json from the gateway's own routes, or with --check compares it: `node scripts/openapi.ts [--check]`.
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/open.ts';
import { assemble } from '../src/gateway.ts';
import { describeApi } from '../src/http/openapi.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import { runGenerator } from './generated-file.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** All rooms wired as in production and never started: no port is opened, and the database is in memory. */
export async function apiDocument(): Promise<object> {
  const config = readConfig('serve', { TILLGATE_ADMIN_TOKEN: 'never used, because nothing is started' });
  const world = { clock: systemClock, random: systemRandom, logger: silent };
  const database = await openDatabase({ inMemory: true, role: 'gateway', clock: systemClock, logger: silent });
  try {
    return await describeApi(assemble(config, world, database).server);
  } finally {
    await database.close();
  }
}

await runGenerator(import.meta.url, 'openapi/v1.json', apiDocument);

// The gateway on a real PostgreSQL: it opens as many connections as it was told to, and no more.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { startGateway } from '../src/gateway.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import { emptyPlace } from './support/engines.ts';
import { quietLogger } from './support/quiet-logger.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-gateway-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('the gateway on PostgreSQL', () => {
  it.each([2, 5])('has %i connections in its pool when it was told so', async (connections) => {
    const place = await emptyPlace('postgres');
    const config = readConfig('sandbox', {
      TILLGATE_DATA_DIR: dataDir,
      TILLGATE_PORT: '0',
      TILLGATE_MQTT_PORT: '0',
      TILLGATE_DATABASE_URL: place.options.url,
      TILLGATE_DATABASE_CONNECTIONS: String(connections),
    });
    const gateway = await startGateway(config, { clock: systemClock, random: systemRandom, logger: quietLogger });
    const { database } = gateway;
    const sleeping = Array.from({ length: 12 }, () => sql`select pg_sleep(0.2)`.execute(database.queries));
    await Promise.race(sleeping);
    const { busy, idle } = database.load();
    expect(busy + idle).toBe(connections);
    await Promise.all(sleeping);
    await gateway.stop();
    await place.remove();
  });
});

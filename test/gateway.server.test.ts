// The gateway on a real PostgreSQL: what it refuses there, and how many connections it opens.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { startGateway } from '../src/gateway.ts';
import { StartRefused } from '../src/kernel/start-refused.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import { emptyPlace } from './support/engines.ts';
import { quietLogger } from './support/quiet-logger.ts';
import { startPostgres } from './support/servers/postgres.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-gateway-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('the gateway on PostgreSQL', () => {
  it('is not served by one that forgets what it acknowledged', async () => {
    const careless = await startPostgres({ settings: { fsync: 'off', synchronous_commit: 'off' } });
    const config = readConfig('serve', {
      TILLGATE_DATA_DIR: dataDir,
      TILLGATE_PORT: '0',
      TILLGATE_MQTT_PORT: '0',
      TILLGATE_DATABASE_URL: careless.url,
      TILLGATE_ADMIN_TOKEN: 'a-token-that-nobody-would-guess',
    });
    const refused: unknown = await startGateway(config, { clock: systemClock, random: systemRandom, logger: quietLogger }).catch(
      (error: unknown) => error,
    );
    await careless.stop();
    expect(refused).toBeInstanceOf(StartRefused);
    expect((refused as Error).message).toMatch(/fsync off[\s\S]*synchronous_commit off/);
  });

  it.each([2, 5])('has %i connections in its pool when it is configured so', async (connections) => {
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

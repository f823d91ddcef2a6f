// A real gateway has no playground: every one of its paths is as if it were not there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const adminToken = 'the-right-token-of-this-real-gateway';

it('answers 404 under serve', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-serve-'));
  const free = { TILLGATE_PORT: '0', TILLGATE_MQTT_PORT: '0', TILLGATE_MQTTS_PORT: '0' };
  const config = readConfig('serve', { ...free, TILLGATE_DATA_DIR: dataDir, TILLGATE_ADMIN_TOKEN: adminToken });
  const gateway = await startGateway(config, { clock: systemClock, random: systemRandom, logger: quietLogger });
  try {
    const ask = (method: string, path: string) =>
      fetch(`${gateway.addresses().baseUrl}/cabinet/api/playground${path}`, { method, headers: { authorization: `Bearer ${adminToken}` } });
    const statuses = await Promise.all([
      ask('GET', ''),
      ask('POST', '/till/again'),
      ask('POST', '/stories/lostAnswer'),
      ask('POST', '/books/empty'),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  } finally {
    await gateway.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

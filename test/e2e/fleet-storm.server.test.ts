// Devices that all log in again at once do not prevent sales: the short form of fleet.server.test.ts, which runs nightly.
import { expect, it } from 'vitest';
import { runStorm } from '../../scripts/load/fleet-scene.ts';
import { patienceMs } from '../support/gateway-process.ts';

it('a storm of logins fails no payment and charges no card twice', { timeout: 2 * patienceMs }, async () => {
  const { sales, ...rest } = await runStorm({
    devices: 60,
    gateways: 1,
    broker: 'mosquitto',
    postgresUrl: process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '',
    rabbitmqUrl: process.env['TILLGATE_TEST_RABBITMQ_URL'] ?? '',
    isShort: true,
    say() {},
  });
  expect(sales).toBeGreaterThan(0);
  expect(rest).toEqual({ failed: 0, connected: 60, twice: 0 });
});

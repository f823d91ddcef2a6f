// The short form of `npm run fleet`: a few hundred devices log in, stay idle and log in again at once, on each broker, during payments.
import { expect, it } from 'vitest';
import { runFleet } from '../../scripts/load/fleet-scene.ts';
import { isKept } from '../../scripts/load/measure.ts';
import { patienceMs } from '../support/gateway-process.ts';

it.each(['mosquitto', 'rabbitmq'] as const)(
  'a fleet on %s causes hardly any commits, and its login storm fails no payment',
  { timeout: 8 * patienceMs },
  async (broker) => {
    const { figures, checks } = await runFleet({
      devices: 200,
      gateways: 2,
      broker,
      postgresUrl: process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '',
      rabbitmqUrl: process.env['TILLGATE_TEST_RABBITMQ_URL'] ?? '',
      isShort: true,
      say() {},
    });
    expect(figures['payments in the storm']).toBeGreaterThan(0);
    expect(
      checks.filter((check) => !isKept(check)),
      JSON.stringify(figures),
    ).toEqual([]);
  },
);

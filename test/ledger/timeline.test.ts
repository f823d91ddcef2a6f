import { expect, it } from 'vitest';
import { addEvents, listEvents } from '../../src/ledger/timeline.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

it.each(engines)(
  'a storm of steps is written whole and in order on %s, though a statement takes only so many parameters',
  async (engine) => {
    const { queries, close } = await openTestDatabase(engine);
    try {
      const { id: merchantId } = await seedMerchant(queries);
      const { id: deviceId } = await seedDevice(queries, merchantId);
      const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
      const events = Array.from({ length: 10_000 }, (_, count) => ({ commandId, atMs: count, step: `step ${count}` }));
      await addEvents(queries, events);
      const written = await listEvents(queries, commandId);
      expect(written.map(({ step }) => step)).toEqual(events.map(({ step }) => step));
    } finally {
      await close();
    }
  },
);

import { expect, it } from 'vitest';
import { addEvents, listEvents } from '../../src/ledger/timeline.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

it.each(engines)(
  'a storm of steps is written whole and in order on %s, and one that is no text costs none of the others',
  async (engine) => {
    const database = await openTestDatabase(engine);
    const { queries, close } = database;
    try {
      const { id: merchantId } = await seedMerchant(queries);
      const { id: deviceId } = await seedDevice(queries, merchantId);
      const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
      const events = Array.from({ length: 10_000 }, (_, count) => ({ commandId, atMs: count, step: `step ${count}` }));
      await addEvents(database, [...events, { commandId, atMs: 10_000, step: 'cut', detail: 'half of a pair: \ud83d' }]);
      const written = await listEvents(queries, commandId);
      expect(written.map(({ step }) => step)).toEqual([...events.map(({ step }) => step), 'cut']);
      expect(written.at(-1)?.detail).toBe('half of a pair: \ufffd');
    } finally {
      await close();
    }
  },
);

it.each(engines)('long details on %s are written a mebibyte at a time, all of them', async (engine) => {
  const { queries, close } = await openTestDatabase(engine);
  let statements = 0;
  const counted = queries.withPlugin({
    transformQuery({ node }) {
      statements += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  try {
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
    const detail = 'x'.repeat(400_000);
    const events = Array.from({ length: 9 }, (_, atMs) => ({ commandId, atMs, step: `step ${atMs}`, detail }));
    await addEvents({ engine, queries: counted }, events);
    expect(statements).toBe(5);
    expect((await listEvents(queries, commandId)).map(({ atMs }) => atMs)).toEqual(events.map(({ atMs }) => atMs));
  } finally {
    await close();
  }
});

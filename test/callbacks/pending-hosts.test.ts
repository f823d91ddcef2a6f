// The look over all hosts: who has something pending, when the first of it is due, and whose that is.
import { expect, it } from 'vitest';
import { readHosts } from '../../src/callbacks/store.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';

it.each(engines)('names each host once, with the merchant whose callback is due first, on %s', async (engine) => {
  const database = await openTestDatabase(engine);
  try {
    const { queries } = database;
    const [{ id: one }, { id: other }] = [await seedMerchant(queries), await seedMerchant(queries)];
    await seedCallback(queries, one, { host: 'a.example', next_attempt_at: 5_000 });
    await seedCallback(queries, other, { host: 'a.example', next_attempt_at: 3_000 });
    await seedCallback(queries, one, { host: 'a.example', next_attempt_at: 9_000 });
    await seedCallback(queries, other, { host: 'b.example', next_attempt_at: 8_000 });
    await seedCallback(queries, one, { host: 'b.example', next_attempt_at: 4_000 });
    await seedCallback(queries, other, { host: 'a.example', state: 'delivered', next_attempt_at: null, ended_at: 1_000 });
    await seedCallback(queries, one, { host: 'ended.example', state: 'dead', next_attempt_at: null, ended_at: 1_000 });
    const hosts = await readHosts(queries);
    expect(hosts.map(({ host, merchantId }) => [host, merchantId])).toEqual([
      ['a.example', other],
      ['b.example', one],
    ]);
    const [first, second] = hosts;
    expect((second?.dueInMs ?? 0) - (first?.dueInMs ?? 0)).toBe(1_000);
    expect(first?.dueInMs).toBeLessThan(0);
  } finally {
    await database.close();
  }
});

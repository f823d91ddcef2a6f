import { expect, it } from 'vitest';
import { nowMs } from '../../src/database/dialect.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedKey, seedMerchant } from '../support/fixtures.ts';

it.each(['memory', ...engines])('%s', async (kind) => {
  const db = kind === 'memory' ? await memoryDatabase(systemClock) : await openTestDatabase(kind as 'sqlite');
  const m = await seedMerchant(db.queries);
  await seedKey(db.queries, m.id);
  const d = await seedDevice(db.queries, m.id);
  await seedInvoice(db.queries, m.id);
  await seedCallback(db.queries, m.id);
  await seedCommand(db.queries, m.id, d.id);
  const row = await db.transaction((tx) =>
    tx
      .selectFrom('merchants')
      .select(['id', nowMs.as('now')])
      .executeTakeFirstOrThrow(),
  );
  expect(typeof row.now).toBe('number');
  await expect(db.transaction(() => db.queries.selectFrom('merchants').select('id').execute())).rejects.toThrow(/handed in/);
  await db.close();
});

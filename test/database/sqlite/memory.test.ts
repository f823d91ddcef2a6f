// The engine of the simulation: only microtasks pass, and a crash keeps what was committed and nothing else.
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/database/open.ts';
import { createMemoryStorage } from '../../../src/database/sqlite/memory.ts';
import { memoryDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

describe('SQLite in memory', () => {
  it('needs no iteration of the event loop', async () => {
    const database = await memoryDatabase(createVirtualClock());
    let turns = 0;
    let isCounting = true;
    const countTurns = () => {
      turns += 1;
      if (isCounting) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    for (let n = 0; n < 50; n += 1) await database.transaction((tx) => seedMerchant(tx));
    await Promise.all(Array.from({ length: 50 }, () => seedMerchant(database.queries)));
    await database.checkWrite();
    isCounting = false;
    expect(turns).toBe(0);
    await database.close();
  });

  it('keeps committed rows through a crash, and leaves the crashed user without answers', async () => {
    const clock = createVirtualClock();
    const storage = createMemoryStorage();
    const open = () => openDatabase({ inMemory: true, storage, role: 'gateway', clock, logger: quietLogger });
    const before = await open();
    await seedMerchant(before.queries, { id: 'kept' });
    let wasAnswered = false;
    const crashed = new Promise<void>((resolve) => {
      void before.transaction(async (tx) => {
        await seedMerchant(tx, { id: 'lost' });
        resolve();
        await new Promise((next) => setImmediate(next));
        await seedMerchant(tx, { id: 'late' });
        wasAnswered = true;
      });
    });
    await crashed;
    const after = await open();
    await new Promise((next) => setTimeout(next, 5));
    expect(wasAnswered).toBe(false);
    expect(await after.queries.selectFrom('merchants').select('id').execute()).toEqual([{ id: 'kept' }]);
    await after.close();
    storage.close();
  });
});

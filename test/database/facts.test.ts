// Which of `sandbox` and `serve` created a database is written once, and the other one does not open it [D153].
import { describe, expect, it } from 'vitest';
import { requireCreatedBy } from '../../src/database/facts.ts';
import { StartRefused } from '../../src/kernel/start-refused.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

describe.each(engines)('a database on %s', (engine) => {
  it.each([
    ['sandbox', 'serve'],
    ['serve', 'sandbox'],
  ] as const)('created by %s is not opened by %s', async (creator, other) => {
    const database = await openTestDatabase(engine);
    await requireCreatedBy(database.queries, creator);
    await expect(requireCreatedBy(database.queries, other)).rejects.toThrow(StartRefused);
    await requireCreatedBy(database.queries, creator);
    await database.close();
  });

  it('has one creator when both start at once', async () => {
    const database = await openTestDatabase(engine);
    const modes = ['sandbox', 'serve', 'sandbox', 'serve'] as const;
    const outcomes = await Promise.allSettled(modes.map((mode) => requireCreatedBy(database.queries, mode)));
    const winners = new Set(modes.filter((_mode, at) => outcomes[at]?.status === 'fulfilled'));
    expect(winners.size).toBe(1);
    await database.close();
  });
});

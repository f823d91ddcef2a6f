// "Last used" of API keys: all keys in one statement, at most once a minute, and no request waits for it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKeyUses } from '../../src/access/key-uses.ts';
import { listKeys } from '../../src/access/keys.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedKey, seedMerchant } from '../support/fixtures.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe.each(engines)('the last use of keys on %s', (engine) => {
  const clock = createVirtualClock();
  let database: TestDatabase;
  let logger: RecordingLogger;
  let uses: ReturnType<typeof createKeyUses>;
  let merchantId: string;

  beforeEach(async () => {
    database = await openQuickDatabase(engine, clock);
    logger = recordingLogger();
    uses = createKeyUses({ database, clock, logger });
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const lastUse = async (id: string) =>
    (await listKeys(database.queries, merchantId)).find((key) => key.id === id)?.lastUsedAtMs ?? undefined;
  it('is written a second after the first one, together, with the time of the use', async () => {
    const one = await seedKey(database.queries, merchantId);
    const two = await seedKey(database.queries, merchantId);
    const unused = await seedKey(database.queries, merchantId);
    for (let time = 0; time < 1_000; time += 1) uses.note(one.id);
    uses.note(two.id);
    expect(await lastUse(one.id)).toBeUndefined();
    await clock.advance(1_000);
    await until(async () => (await lastUse(one.id)) !== undefined);
    expect(await lastUse(one.id)).toBe(clock.now() - 1_000);
    expect(await lastUse(two.id)).toBe(clock.now() - 1_000);
    expect(await lastUse(unused.id)).toBeUndefined();
  });

  it('is written once a minute, however often a key is used', async () => {
    const { id } = await seedKey(database.queries, merchantId);
    uses.note(id);
    await clock.advance(1_000);
    await until(async () => (await lastUse(id)) !== undefined);
    await database.queries.updateTable('api_keys').set({ last_used_at: 1 }).execute();
    for (let second = 0; second < 59; second += 1) {
      uses.note(id);
      await clock.advance(1_000);
    }
    expect(await lastUse(id)).toBe(1);
    await clock.advance(1_000);
    await until(async () => (await lastUse(id)) !== 1);
    expect(await lastUse(id)).toBe(clock.now() - 2_000);
  });

  it('never goes back: another gateway may have written a later one', async () => {
    const { id } = await seedKey(database.queries, merchantId);
    const later = clock.now() + 60_000;
    await database.queries.updateTable('api_keys').set({ last_used_at: later }).execute();
    uses.note(id);
    await uses.stop();
    expect(await lastUse(id)).toBe(later);
  });

  it('is written when the gateway stops, and forgotten for keys that are gone', async () => {
    const { id } = await seedKey(database.queries, merchantId);
    uses.note(id);
    uses.note('no such key');
    await uses.stop();
    expect(await lastUse(id)).toBeGreaterThan(0);
  });

  it('is retried when the database was away', async () => {
    const { id } = await seedKey(database.queries, merchantId);
    let isDown = true;
    const flaky = new Proxy(database, {
      get: (target, name) => (name === 'queries' && isDown ? undefined : Reflect.get(target, name)),
    });
    const patient = createKeyUses({ database: flaky, clock, logger });
    patient.note(id);
    await clock.advance(1_000);
    expect(logger.lines.map(({ message }) => message)).toEqual(['the last use of API keys could not be written; the gateway will retry']);
    isDown = false;
    await clock.advance(59_000);
    expect(await lastUse(id)).toBeUndefined();
    await clock.advance(1_000);
    await until(async () => (await lastUse(id)) !== undefined);
  });
});

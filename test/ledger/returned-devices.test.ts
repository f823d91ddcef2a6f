// After a broker's restart thousands of devices come back in one moment: looking for what they left open must not fill the connection pool.
import type { CompiledQuery } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import { Recovery } from '../../src/ledger/settling/recovery.ts';
import type { SeenListener } from '../../src/link/incoming.ts';
import { snapshot } from '../devices/fake-link.ts';
import { engines, openTestDatabase, untilIdle } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe.each(engines)('devices that are back, on %s', (engine) => {
  async function setUp() {
    const clock = createVirtualClock();
    const database = await openTestDatabase(engine, clock);
    onTestFinished(() => database.close());
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const { id: otherId } = await seedDevice(database.queries, merchantId);
    const asked: string[] = [];
    const rechecked: string[] = [];
    let seen: SeenListener = () => {};
    const recovery = new Recovery({
      database,
      clock,
      logger: recordingLogger(),
      instanceId: 'me',
      link: {
        presence: { isLiveAnywhere: () => false, journalOf: () => 'j' },
        onLateAnswer: () => () => {},
        onSeen(listener: SeenListener) {
          seen = listener;
          return () => {};
        },
      },
      settlements: { becomeUnknown: async (command: Command) => command },
      timeline: { add() {}, async addWithin() {}, addCounted() {}, async flush() {} },
      recall: {
        async ask(command: Command) {
          asked.push(command.id);
          return command;
        },
        async recheck(command: Command) {
          rechecked.push(command.id);
          return command;
        },
        confirm: async () => true,
      },
      lateAnswers: { settle: async () => {} },
      inFlight: { has: () => false, count: 0 },
    });
    recovery.start();
    onTestFinished(() => recovery.stop());
    await untilIdle(database);
    asked.length = 0;
    const back = (id: string) => seen(id, snapshot({ lastSeenAtMs: clock.now() }));
    return { clock, database, merchantId, deviceId, otherId, asked, rechecked, recovery, back };
  }

  it('are looked up many at a time, with one statement in progress', async () => {
    const { database, merchantId, deviceId, otherId, asked, back } = await setUp();
    const own = await seedCommand(database.queries, merchantId, deviceId, { instance_id: 'me' });
    await seedCommand(database.queries, merchantId, otherId, { instance_id: 'another' });
    let underWay = 0;
    const statements = vi.spyOn(database.queries, 'executeQuery').mockImplementation(async function (this: Queries, query) {
      underWay += 1;
      expect(underWay).toBe(1);
      const result = await this.getExecutor().executeQuery(query as CompiledQuery);
      underWay -= 1;
      return result;
    });
    for (let count = 0; count < 2_000; count += 1) back(`gone-${count}`);
    back(deviceId);
    back(otherId);
    await expect.poll(() => asked).toEqual([own.id]);
    await untilIdle(database);
    // The first one goes alone; then 500 at a time, two statements each.
    expect(statements.mock.calls.length).toBeLessThanOrEqual(12);
    statements.mockRestore();
  });

  it('are asked about what a person decided', async () => {
    const { clock, database, merchantId, deviceId, rechecked, back } = await setUp();
    const decided = { state: 'refused', settled_by: 'person', settled_at: clock.now(), instance_id: 'me', journal_id: 'j' } as const;
    const { id } = await seedCommand(database.queries, merchantId, deviceId, decided);
    back(deviceId);
    await expect.poll(() => rechecked).toEqual([id]);
  });

  it('are not looked up any more once the gateway stops', async () => {
    const { database, deviceId, otherId, recovery, back } = await setUp();
    const statements = vi.spyOn(database.queries, 'executeQuery');
    back(deviceId);
    back(otherId);
    recovery.stop();
    await untilIdle(database);
    // Those of the first device, whose search was under way.
    expect(statements.mock.calls.length).toBe(2);
    statements.mockRestore();
  });
});

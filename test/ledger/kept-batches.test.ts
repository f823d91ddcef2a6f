// Batches as they run outside of tests, on both engines: their statements are compiled once, which the clock of other tests prevents, and
// one batch after the other writes its own rows with them.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInsertGroup } from '../../src/ledger/insert-batch.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import * as store from '../../src/ledger/store.ts';
import { createTimeline, listEvents } from '../../src/ledger/timeline.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe.each(engines)('batches on %s, one after the other', (engine) => {
  let opened: TestDatabase;
  let database: TestDatabase;
  let merchantId: string;

  beforeEach(async () => {
    opened = await openTestDatabase(engine);
    database = { ...opened, queries: opened.queries.withoutPlugins() };
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => opened.close());

  const device = async () => (await seedDevice(database.queries, merchantId)).id;
  const read = async (id: string) => (await store.findCommand(database.queries, id)) ?? expect.unreachable();

  it('write each command with its own key, and those without', async () => {
    const inserts = createInsertGroup(database);
    const written = [];
    for (const key of ['one', undefined, 'two', undefined]) {
      const id = randomUUID();
      const idempotency = key === undefined ? undefined : { key, requestHash: `hash of ${key}` };
      const pay = { id, merchantId, deviceId: await device(), instanceId: 'i', name: 'Pay', args: {}, amountBani: 150 } as const;
      const command = await inserts.add({ ...pay, answerWithinMs: 1_000, journalId: 'j', documentNr: `document ${id}`, idempotency });
      expect(command).toMatchObject({ id, documentNr: `document ${id}`, state: 'sent' });
      expect(await read(id)).toEqual(command);
      if (key !== undefined) written.push({ key, subject_id: id, request_hash: `hash of ${key}` });
    }
    const keys = await database.queries
      .selectFrom('idempotency_keys')
      .select(['key', 'subject_id', 'request_hash'])
      .orderBy('key')
      .execute();
    expect(keys).toEqual(written);
  });

  it('settle each command with its own report, and close its own document', async () => {
    const settlements = createSettleGroup(database);
    for (const state of ['done', 'refused', 'done', 'refused'] as const) {
      const deviceId = await device();
      const paid = { document_nr: randomUUID(), settled_at: 1, settled_by: 'answer', state: 'done', document_state: 'open' } as const;
      const payment = await seedCommand(database.queries, merchantId, deviceId, paid);
      const row = { name: 'CloseDoc', target_id: payment.id, amount_bani: null } as const;
      const command = await read((await seedCommand(database.queries, merchantId, deviceId, row)).id);
      const report = `{"of":"${command.id}"}`;
      const settlement = { state: 'done', by: 'answer', outcome: 'done', report, reason: undefined } as const;
      const settled = await settlements.add({ command, settlement: { ...settlement, state } });
      expect(settled).toMatchObject({ id: command.id, state, report });
      expect(await read(command.id)).toEqual(settled);
      expect((await read(payment.id)).documentState).toBe(state === 'done' ? 'closed' : 'open');
    }
  });

  it('write each line of a timeline to its own command', async () => {
    const timeline = createTimeline({ database, clock: createVirtualClock(5), logger: quietLogger });
    for (const step of ['sent', 'accepted']) {
      const commandId = (await seedCommand(database.queries, merchantId, await device())).id;
      timeline.add({ commandId, step });
      await timeline.flush();
      expect(await listEvents(database.queries, commandId)).toMatchObject([{ commandId, step, atMs: 5 }]);
    }
  });
});

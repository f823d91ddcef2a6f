// The cursor of the event stream: each change once, in order, and none skipped because its transaction committed late.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ChangeReader, createChangeReader } from '../../../src/cabinet/views/changes.ts';
import { listCommands } from '../../../src/cabinet/views/lists/commands-list.ts';
import { nowMs } from '../../../src/database/dialect.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';

describe.each(engines)('changes on %s', (engine) => {
  let database: TestDatabase;
  let reader: ChangeReader;
  let merchantId: string;
  let commandId: string;
  let timeMs = 1_000_000;
  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    reader = createChangeReader();
    merchantId = (await seedMerchant(database.queries)).id;
    const device = await seedDevice(database.queries, merchantId);
    commandId = (await seedCommand(database.queries, merchantId, device.id)).id;
  });
  afterEach(() => database.close());

  const step = (name = 'sent', queries = database.queries) =>
    queries.insertInto('command_events').values({ command_id: commandId, at: nowMs, step: name, channel: null, detail: null }).execute();
  const read = async (laterMs = 100) => {
    timeMs += laterMs;
    return await reader.read(database.queries, timeMs);
  };
  const ids = async (laterMs?: number) => (await read(laterMs)).map(({ kind, id }) => [kind, id]);

  it('are reported once, from the moment of the first read', async () => {
    await step();
    expect(await ids()).toEqual([]);
    await step();
    await step('settled');
    const changes = await read();
    expect(changes).toMatchObject([
      { kind: 'command', id: commandId, merchantId, touchesAttention: false },
      { kind: 'command', id: commandId, touchesAttention: true },
    ]);
    expect(changes[1]?.version).toBeGreaterThan(changes[0]?.version ?? 0);
    expect(await ids()).toEqual([]);
    expect(await ids(60_000)).toEqual([]);
    await step();
    expect(await ids(60_000)).toEqual([['command', commandId]]);
  });

  it('include a newly created invoice, once, even among many of the same moment', async () => {
    await seedInvoice(database.queries, merchantId);
    expect(await ids()).toEqual([]);
    const made = [await seedInvoice(database.queries, merchantId), await seedInvoice(database.queries, merchantId)];
    expect(new Set((await ids()).map(String))).toEqual(new Set(made.map(({ oid }) => `invoice,${oid}`)));
    expect(await ids()).toEqual([]);
    expect(await ids(60_000)).toEqual([]);
  });

  it('include invoices and callback attempts, with their subjects', async () => {
    await read();
    const { oid } = await seedInvoice(database.queries, merchantId);
    await database.queries.insertInto('invoice_events').values({ oid, at: nowMs, event: 'Scanned', detail: '{}' }).execute();
    const callback = await seedCallback(database.queries, merchantId, { subject_kind: 'operation', subject_id: commandId });
    await database.queries
      .insertInto('callback_attempts')
      .values({ callback_id: callback.id, attempt: 1, at: nowMs, status: 200, error: null, duration_ms: 1, response_head: null })
      .execute();
    expect(await ids()).toEqual([
      ['invoice', oid],
      ['callback', callback.id],
      ['command', commandId],
      ['invoice', oid],
    ]);
  });

  it('are complete even if there are more than one read returns', async () => {
    await read();
    for (let count = 0; count < 2; count += 1) {
      const rows = Array.from({ length: 1_100 }, () => ({ command_id: commandId, at: 1, step: 'sent', channel: null, detail: null }));
      for (let start = 0; start < rows.length; start += 500) {
        await database.queries
          .insertInto('command_events')
          .values(rows.slice(start, start + 500))
          .execute();
      }
    }
    expect(await read()).toHaveLength(2_200);
    expect(await read()).toHaveLength(0);
  });

  // On SQLite one transaction waits for the other, so none of them commits late.
  const onlyWhereItCanHappen = engine === 'postgres' ? it : () => undefined;
  onlyWhereItCanHappen('of a transaction that commits late are reported after its commit', async () => {
    await read();
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const late = database.transaction(async (queries) => {
      await step('late', queries);
      started.resolve();
      await release.promise;
    });
    await started.promise;
    await step('early');
    expect(await read()).toHaveLength(1);
    expect(await read(5_000)).toHaveLength(0);
    release.resolve();
    await late;
    expect(await read(100), 'its id is lower than one that was told').toHaveLength(1);
    expect(await read(100)).toHaveLength(0);
  });

  onlyWhereItCanHappen('of a command that becomes visible after later ones are reported, and the page has it when read again', async () => {
    await read();
    const scope = { merchantId };
    const add = async (queries: typeof database.queries, issuedAtMs: number) => {
      const device = await seedDevice(queries, merchantId);
      const { id } = await seedCommand(queries, merchantId, device.id, { issued_at: issuedAtMs });
      await queries.insertInto('command_events').values({ command_id: id, at: nowMs, step: 'sent', channel: null, detail: null }).execute();
      return id;
    };
    const started = Promise.withResolvers<string>();
    const release = Promise.withResolvers<void>();
    const futureMs = Date.UTC(2100, 0, 1);
    const late = database.transaction(async (queries) => {
      started.resolve(await add(queries, futureMs));
      await release.promise;
    });
    const lateId = await started.promise;
    const laterId = await add(database.queries, futureMs + 1_000);
    const page = await listCommands(database.queries, scope, {}, { limit: 2 });
    expect(page.commands.map(({ id }) => id)).toEqual([laterId, commandId]);
    expect(await ids()).toEqual([['command', laterId]]);
    release.resolve();
    await late;
    expect(await ids()).toEqual([['command', lateId]]);
    const again = await listCommands(database.queries, scope, {}, { limit: 2 });
    expect(again.commands.map(({ id }) => id)).toEqual([laterId, lateId]);
    const rest = await listCommands(database.queries, scope, {}, { limit: 2, after: again.next });
    expect(rest.commands.map(({ id }) => id)).toEqual([commandId]);
  });
});

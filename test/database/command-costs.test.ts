// What every version of a command costs besides itself: money waits for it, so more of it is a decision.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createInsertGroup } from '../../src/ledger/insert-batch.ts';
import { addEvents } from '../../src/ledger/timeline.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

describe.each(engines)('a command on %s', (engine) => {
  it('is in no more indexes than the queries need', async () => {
    const database = await openTestDatabase(engine);
    const { rows } = await (engine === 'postgres'
      ? sql<{ name: string }>`select indexname as name from pg_indexes where tablename = 'commands'`
      : sql<{ name: string }>`select name from pragma_index_list('commands')`
    ).execute(database.queries);
    // Three more with the new core, of few rows: commands_to_confirm, commands_to_attend, commands_closes_in_order [D300].
    expect(rows.length).toBe(13);
    await database.close();
  });
});

describe.runIf(engines.includes('postgres'))('a command on postgres', () => {
  it('is not touched by the lines of its timeline', async () => {
    const database = await openTestDatabase('postgres');
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    await addEvents(database, [{ commandId: id, atMs: 1, step: 'sent' }]);
    // The transaction that last locked or changed the row.
    const { rows } = await sql`select cast(xmax as text) as locked from commands where id = ${id}`.execute(database.queries);
    expect(rows).toEqual([{ locked: '0' }]);
    await database.close();
  });

  it('that closes a document finds its payment without a scan of all commands of its terminal, while the table is new', async () => {
    const database = await openTestDatabase('postgres');
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const paid = (operation: number, document_state: 'open' | 'closed') =>
      seedCommand(database.queries, merchantId, deviceId, {
        ...({ name: 'Pay', state: 'done', settled_by: 'answer', settled_at: 1, amount_bani: 1 } as const),
        ...{ document_nr: `document ${operation}`, operation_id: String(operation), document_state },
      });
    for (let operation = 0; operation < 200; operation += 1) await paid(operation, 'closed');
    const { id: targetId } = await paid(200, 'open');
    const reads = await database.transaction(async (queries) => {
      const own = {
        id: 'close',
        merchantId,
        deviceId,
        instanceId: 'i',
        name: 'CloseDoc',
        args: {},
        answerWithinMs: 1,
        journalId: undefined,
      } as const;
      const closing = { ...own, beside: 'the document it names' as const, documentNr: 'document 200', operationId: '200' };
      const group = createInsertGroup({ ...database, queries, soon: (begin) => begin() });
      const text = sql<{ fetched: number }>`select idx_tup_fetch as fetched from pg_stat_xact_user_tables where relname = 'commands'`;
      const fetched = async () => (await text.execute(queries)).rows[0]?.fetched ?? 0;
      // What the connection did a moment ago may still be counted.
      const before = await fetched();
      expect(await group.add(closing)).toMatchObject({ targetId });
      return (await fetched()) - before;
    });
    expect(reads).toBeLessThan(20);
    await database.close();
  });

  it('reads the time without parsing and planning the query each time', async () => {
    const database = await openTestDatabase('postgres');
    // A function in SQL that is not written into its statement is prepared anew in each.
    const language = sql`select l.lanname as name from pg_proc p join pg_language l on l.oid = p.prolang where p.proname = 'now_ms'`;
    expect((await language.execute(database.queries)).rows).toEqual([{ name: 'plpgsql' }]);
    await database.close();
  });
});

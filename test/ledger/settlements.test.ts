// One record per settled command, in the order of settlement, on both engines: search, figures and removal read nothing else.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Command, SettledState } from '../../src/ledger/command.ts';
import { dispute, resolve } from '../../src/ledger/dispute-store.ts';
import { completeDecision, correctToDone, findCommand } from '../../src/ledger/store.ts';
import { removableCommands } from '../../src/removal/commands.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { insertSent, settle } from '../support/ledger-statements.ts';

describe.each(engines)('the record of settlements on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;
  beforeAll(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  beforeEach(async () => {
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });
  afterAll(() => database.close());

  const recordsOf = ({ id }: Pick<Command, 'id'>) =>
    database.queries.selectFrom('settlements').selectAll().where('command_id', '=', id).orderBy('settled_at').execute();
  const settledAs = async (state: SettledState, name: 'Pay' | 'CancelTransaction' = 'Pay') => {
    const id = crypto.randomUUID();
    const own = { id, merchantId, deviceId, instanceId: 'i', name, args: {}, answerWithinMs: 1_000, journalId: 'j' } as const;
    const sent = (await insertSent(database, { ...own, amountBani: 100 })) as Command;
    const settlement = { state, by: 'answer', outcome: undefined, report: undefined, reason: undefined } as const;
    return (await settle(database, sent, settlement)) as Command;
  };

  it('has one row per command, for a failed one with merchant and issue time', async () => {
    const done = await settledAs('done', 'CancelTransaction');
    expect(await recordsOf(done)).toMatchObject([{ settled_at: done.settledAtMs, failed_merchant_id: null, failed_issued_at: null }]);
    for (const state of ['refused', 'never'] as const) {
      const failed = await settledAs(state);
      expect(await recordsOf(failed)).toMatchObject([
        { settled_at: failed.settledAtMs, failed_merchant_id: merchantId, failed_issued_at: failed.issuedAtMs },
      ]);
    }
  });

  it('marks a void, and what is settled a quarter of an hour later: they change an hour that may have been summed', async () => {
    expect(await recordsOf(await settledAs('done', 'CancelTransaction'))).toMatchObject([{ changes_past: 1 }]);
    expect(await recordsOf(await settledAs('refused'))).toMatchObject([{ changes_past: null }]);
    const { id } = await seedCommand(database.queries, merchantId, deviceId, { state: 'unknown', issued_at: Date.now() - 16 * 60_000 });
    const open = (await findCommand(database.queries, id)) as Command;
    const late = { state: 'done', by: 'recall', outcome: 'done', report: undefined, reason: undefined } as const;
    await settle(database, open, late);
    expect(await recordsOf(open)).toMatchObject([{ changes_past: 1, failed_merchant_id: null }]);
  });

  it('moves with a command that is settled again, and is deleted with its removal', async () => {
    const longAgo = Date.now() - 500 * 24 * 3_600_000;
    const at = { issued_at: longAgo, settled_at: longAgo, settled_by: 'answer' } as const;
    const refused = { state: 'refused', ...at } as const;
    const { id: closeId } = await seedCommand(database.queries, merchantId, deviceId, { name: 'CloseDoc', amount_bani: null, ...refused });
    const close = (await findCommand(database.queries, closeId)) as Command;
    const corrected = await database.transaction((queries) =>
      correctToDone(queries, close, { state: 'done', by: 'recall', outcome: 'done', report: undefined, reason: undefined }),
    );
    expect(await recordsOf(close)).toMatchObject([{ settled_at: corrected?.settledAtMs, failed_merchant_id: null, changes_past: 1 }]);

    const { id } = await seedCommand(database.queries, merchantId, deviceId, { ...refused, document_nr: crypto.randomUUID() });
    const payment = (await findCommand(database.queries, id)) as Command;
    const found = { why: 'It says done.', contradiction: 'done 1', outcome: 'done', report: undefined, isFromOwnJournal: true } as const;
    const disputed = (await database.transaction((queries) => dispute(engine, queries, payment, found))) as Command;
    expect(await recordsOf(payment), 'the search reads the report of a dispute').toHaveLength(2);
    const as = { state: 'done', reason: 'So it is.', report: undefined, isPayment: true } as const;
    const resolved = await database.transaction((queries) => resolve(engine, queries, disputed, as));
    expect((await recordsOf(payment)).at(-1)).toMatchObject({ settled_at: resolved?.command.settledAtMs, failed_merchant_id: null });
    expect((await recordsOf(payment)).some(({ failed_merchant_id }) => failed_merchant_id !== null)).toBe(false);

    const byPerson = { ...at, state: 'done', settled_by: 'person', document_state: 'closed' } as const;
    const { id: decidedId } = await seedCommand(database.queries, merchantId, deviceId, byPerson);
    const decided = (await findCommand(database.queries, decidedId)) as Command;
    await database.transaction((queries) => completeDecision(queries, decided, 'done', { rrn: '812345678901', report: {} }));
    expect(await recordsOf(decided), 'the search reads its rrn').toHaveLength(2);
    await database.queries.deleteFrom('settlements').where('command_id', '=', decidedId).execute();

    const { id: oldId } = await seedCommand(database.queries, merchantId, deviceId, refused);
    expect((await removableCommands.page(database.queries, 400, undefined, 100)).map((row) => row.id)).toEqual([oldId]);
    expect(await removableCommands.remove(database, oldId)).toBe(true);
    expect(await recordsOf({ id: oldId })).toEqual([]);
  });
});

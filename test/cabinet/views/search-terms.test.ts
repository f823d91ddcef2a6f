// Search for a sale by the start of a number, an authorization code, or the last digits of a card.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillTerms } from '../../../src/cabinet/sales/search-keeper.ts';
import { listCommands } from '../../../src/cabinet/views/lists/commands-list.ts';
import { readSaleColumns } from '../../../src/cabinet/views/lists/sale-columns.ts';
import { search } from '../../../src/cabinet/views/lists/search.ts';
import { removableCommands } from '../../../src/removal/commands.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';
import { firstPlan } from './plans.ts';

const documentNr = '3f9f6a52-0c1d-4e8b-a7c6-1b2d3e4f5a6b';

describe.each(engines)('the search on %s', (engine) => {
  let database: TestDatabase;
  let merchantId = '';
  let otherId = '';
  let payId = '';
  let printId = '';
  let refundId = '';

  beforeAll(async () => {
    database = await openNewDatabase(engine);
    const { queries } = database;
    ({ id: merchantId } = await seedMerchant(queries));
    ({ id: otherId } = await seedMerchant(queries));
    const { id: terminal } = await seedDevice(queries, merchantId);
    const { id: register } = await seedDevice(queries, merchantId, { kind: 'register', bank: null });
    const settled = { state: 'done', settled_at: 1_700_000_000_000, settled_by: 'answer' } as const;
    ({ id: payId } = await seedCommand(queries, merchantId, terminal, {
      ...settled,
      name: 'Pay',
      amount_bani: 15_050,
      document_nr: documentNr,
      document_state: 'closed',
      operation_id: '000147',
      rrn: '631614008813',
      report: JSON.stringify({ authCode: '283749', maskedCard: '516793******4417' }),
    }));
    ({ id: printId } = await seedCommand(queries, merchantId, register, {
      ...settled,
      name: 'PrintReceipt',
      receipt_uid: documentNr.toUpperCase(),
      receipt_id: 'R-4127',
      args: JSON.stringify({ receipt: { Number: 'P-0009/26', Items: [] } }),
      report: JSON.stringify({ fiscalNumber: '0004127' }),
    }));
    // Its row has the numbers of the payment, its report its own.
    ({ id: refundId } = await seedCommand(queries, merchantId, terminal, {
      ...settled,
      name: 'Refund',
      amount_bani: 5_000,
      target_id: payId,
      operation_id: '000147',
      rrn: '631614008813',
      report: JSON.stringify({ rrn: '740912958234', operationId: '000151', amount: 50 }),
    }));
    await fillTerms(database, 'command');
    await fillTerms(database, 'invoice');
  }, 60_000);
  afterAll(() => database.close());

  const found = async (q: string, scope: { merchantId: string | undefined } = { merchantId }) =>
    (await search(database.queries, scope, q)).filter(({ kind }) => kind === 'command').map(({ id }) => id);

  it.each([
    ['the beginning of a document', '3f9f', 'pay'],
    ['the beginning of a document in capitals', '3F9F6A52-0C', 'pay'],
    ['the beginning of an rrn', '631614', 'pay'],
    ['the beginning of an operation', '0001', 'pay'],
    ['an authorization code', '283749', 'pay'],
    ['the beginning of an authorization code', '2837', 'pay'],
    ['the last digits of a card', '4417', 'pay'],
    ['a card as it is printed', '•••• 4417', 'pay'],
    ['a masked card number as it is printed', '516793******4417', 'pay'],
    ['a masked card number in groups', '5167 93** **** 4417', 'pay'],
    ['a masked card number without its bank', '************4417', 'pay'],
    ['an amount', '150,50 MDL', 'pay'],
    ['an rrn with its label', 'RRN 631614008813', 'pay'],
    ['an rrn with its label and a colon', 'rrn: 6316', 'pay'],
    ['the end of an rrn with its label', 'RRN 8813', 'pay'],
    ['an authorization code with its label', 'AUTH 283749', 'pay'],
    ['an authorization code as a slip names it', 'Auth. code: 283749', 'pay'],
    ['an authorization code as a Romanian slip names it', 'COD AUTORIZARE: 283749', 'pay'],
    ['an authorization code as a virtual terminal prints it', 'authCode   283749', 'pay'],
    ['an operation as a virtual terminal prints it', 'operationId 0001', 'pay'],
    ['a card as a virtual terminal prints it', 'maskedCard   516793******4417', 'pay'],
    ['a card with its label', 'Card 516793******4417', 'pay'],
    ['the end of a card with its label', 'CARD: ****4417', 'pay'],
    ['the own rrn of a refund', '740912958234', 'refund'],
    ['the beginning of the own rrn of a refund', '7409', 'refund'],
    ['the end of the own rrn of a refund', 'RRN 8234', 'refund'],
    ['the own operation of a refund', '000151', 'refund'],
    ['the beginning of a receipt', 'r-41', 'print'],
    ['the ERP’s own number of a receipt', 'p000', 'print'],
    ['a fiscal number', '0004127', 'print'],
    ['a fiscal number as a register prints it', 'Receipt       0004127', 'print'],
    ['the ERP’s own number as a register prints it', 'Invoice   p000', 'print'],
  ])('finds by %s', async (_name, q, which) => {
    const id = { pay: payId, print: printId, refund: refundId }[which] ?? '';
    expect(await found(q)).toContain(id);
    expect(await found(q, { merchantId: undefined })).toContain(id);
    expect(await found(q, { merchantId: otherId })).toEqual([]);
  });

  it('finds nothing by digits from inside a number', async () => {
    expect(await found('8374')).toEqual([]);
    expect(await found('5167')).toEqual([]);
    expect(await found('8234')).toEqual([]);
    expect(await found('402912******4417'), 'a card of another bank').toEqual([]);
  });

  it('writes each term once, and continues where it stopped', async () => {
    const count = async () => (await database.queries.selectFrom('search_terms').select('term').execute()).length;
    const before = await count();
    await fillTerms(database, 'command');
    await database.queries.deleteFrom('search_progress').execute();
    await fillTerms(database, 'command');
    expect([before, await count()]).toEqual([11, 11]);
  });

  it('finds the numbers of a report at once, before its terms are written', async () => {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const now = { settled_at: Date.now(), settled_by: 'answer', issued_at: Date.now() } as const;
    const report = JSON.stringify({ rrn: '112233445566', authCode: 'A1B2C3', maskedCard: '402912******7788' });
    const paid = { ...now, state: 'done', document_state: 'closed', rrn: '998877665544', report } as const;
    const { id } = await seedCommand(database.queries, merchantId, deviceId, paid);
    for (const q of ['998877665544', '99887766', '112233445566', 'RRN 5566', 'a1b2', '402912******7788', '7788'])
      expect(await found(q)).toEqual([id]);
    expect(await found('998877665544', { merchantId: otherId })).toEqual([]);
    await database.queries.deleteFrom('settlements').where('command_id', '=', id).execute();
    await database.queries.deleteFrom('commands').where('id', '=', id).execute();
  });

  it('uses indexes only', async () => {
    for (const scope of [{ merchantId }, { merchantId: undefined }]) {
      const plan = await firstPlan(database, (queries) => listCommands(queries, scope, { q: '2837' }, { limit: 10 }), { isSmall: true });
      expect(plan).not.toMatch(/Seq Scan on (commands|search_terms)|SCAN (c|s)\b(?! USING)/);
    }
  });

  it('returns the receipt of a payment and whether the ERP was notified', async () => {
    const { commands } = await listCommands(database.queries, { merchantId }, { name: 'Pay' }, { limit: 10 });
    expect((await readSaleColumns(database.queries, commands)).get(payId)).toEqual({
      receipt: 'printed',
      receiptNumber: 'R-4127',
      erp: 'notified',
    });
  });

  it('reports the ERP as waiting after it missed the outcome, until it repeats the call', async () => {
    const erp = async (row: { outcome_missed_at: number | null; outcome_received_at: number | null; request_hash?: string | null }) => {
      await database.queries.updateTable('commands').set(row).where('id', '=', payId).execute();
      const { commands } = await listCommands(database.queries, { merchantId }, { name: 'Pay' }, { limit: 10 });
      return (await readSaleColumns(database.queries, commands)).get(payId)?.erp;
    };
    expect(await erp({ outcome_missed_at: 5, outcome_received_at: null, request_hash: 'h' })).toBe('waiting');
    expect(
      await erp({ outcome_missed_at: 5, outcome_received_at: null, request_hash: null }),
      'a status query is not stored',
    ).toBeUndefined();
    expect(await erp({ outcome_missed_at: 5, outcome_received_at: 9 })).toBe('notified');
    expect(await erp({ outcome_missed_at: null, outcome_received_at: null })).toBe('notified');
  });

  it('reads few receipts at once, because each may have 256 KiB, and misses none', async () => {
    const { queries, transaction } = database;
    for (let n = 0; n < 25; n += 1)
      await seedInvoice(queries, otherId, {
        receipt: JSON.stringify({ Number: `many-${n}`, Items: [] }),
        created_at: 1_700_000_000_000 + n,
      });
    let most = 0;
    const counting = queries.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        most = Math.max(most, result.rows.length);
        return result;
      },
    });
    await fillTerms({ engine, queries: counting, transaction }, 'invoice');
    expect(most).toBe(10);
    const terms = await queries.selectFrom('search_terms').select('term').where('merchant_id', '=', otherId).execute();
    expect(terms).toHaveLength(25);
    await queries.deleteFrom('search_terms').where('merchant_id', '=', otherId).execute();
  });

  it.each(['command', 'invoice'] as const)('reads new rows of kind %s by an index, so that an idle run costs little', async (kind) => {
    const table = kind === 'command' ? 'commands' : 'invoices';
    const round = (queries: TestDatabase['queries']) => fillTerms({ engine, queries, transaction: database.transaction }, kind);
    const plan = await firstPlan(database, round, { table, isSmall: true });
    expect(plan).toMatch(/Index (Only )?Scan|USING (COVERING )?INDEX/);
    expect(plan).not.toMatch(new RegExp(`Seq Scan on ${table}|SCAN ${table}\\b(?! USING)`));
  });

  it('deletes the terms of removed operations', async () => {
    for (const id of [refundId, payId, printId]) expect(await removableCommands.remove(database, id)).toBe(true);
    expect(await database.queries.selectFrom('search_terms').select('term').execute()).toEqual([]);
    expect(await found('4417')).toEqual([]);
  });
});

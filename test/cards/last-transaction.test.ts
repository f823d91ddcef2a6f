// LastTransaction [D148]: what a caller gets from the terminal's answer, and from the ledger where the terminal is away or has nothing.
import { beforeEach, describe, expect, it } from 'vitest';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import { lastTransaction } from '../../src/cards/last-transaction.ts';
import type { Database } from '../../src/database/database.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
});

const settled = { state: 'done', settled_at: 1, settled_by: 'answer' } as const;
const seed = (row: Parameters<typeof seedCommand>[3]) => seedCommand(database.queries, merchantId, deviceId, { ...settled, ...row });

/** `answer` undefined: the terminal is away. */
function ask(answer?: object) {
  const link = { locate: async () => answer && 'mqtt', ask: async () => answer };
  return lastTransaction({ database, link } as unknown as CardsDeps, { merchantId, deviceId });
}
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('nothing was thrown'),
    (error: { report?: string }) => error,
  );
const reportOf = ({ report }: { report?: string | undefined }) => report && (JSON.parse(report) as object);

describe('a terminal that is offline', () => {
  it('gets its last transaction and its last command from the ledger', async () => {
    const pay = await seed({ amount_bani: 1_050, document_nr: 'doc', document_state: 'closed', report: '{"rrn":"r1"}', issued_at: 1 });
    const close = await seed({ name: 'CloseDay', amount_bani: null, issued_at: 2 });
    const away = await refusal(ask());
    expect(away).toMatchObject({ errorName: 'Device_Offline' });
    expect(reportOf(away)).toEqual({
      ...{ amount: 10.5, documentNr: 'doc', rrn: 'r1', commandId: pay.id, kind: 'Pay', state: 'approved', source: 'ledger' },
      lastCommand: { commandId: close.id, kind: 'CloseDay', state: 'approved' },
    });
  });

  it('without any command is offline, without a report', async () => {
    const away = await refusal(ask());
    expect([away, away.report]).toEqual([expect.objectContaining({ errorName: 'Device_Offline' }), undefined]);
  });
});

describe('an answer of the terminal', () => {
  it.each([
    ['refused', 'Refused_By_Device'],
    ['unsupported', 'Refused_By_Device'],
    ['busy', 'Timeout_or_no_response'],
  ])('%s keeps its report, and has none where the terminal sent none', async (outcome, errorName) => {
    const withReport = await refusal(ask({ outcome, report: { text: 'Out of paper', card: '4111111111111111' } }));
    expect(withReport).toMatchObject({ errorName });
    expect(reportOf(withReport)).toEqual({ text: 'Out of paper', card: expect.not.stringContaining('4111111111111111') as string });
    expect((await refusal(ask({ outcome }))).report).toBeUndefined();
  });

  it('without a report is filled from the ledger', async () => {
    const { id } = await seed({ document_state: 'closed' });
    const { report } = await ask({ outcome: 'done' });
    expect(reportOf({ report })).toEqual({ amount: 10, commandId: id, kind: 'Pay', state: 'approved', source: 'ledger', lastCommand: {} });
  });
});

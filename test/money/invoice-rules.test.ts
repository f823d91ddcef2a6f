// What transcripts do not show of invoices and receipts: the grace after a scan, bounds, what an answer carries, numbers of notices.
import { expect, it } from 'vitest';
import { load } from '../../exploration/memory-load.ts';
import { rowOf } from '../../exploration/memory-store.ts';
import { aroundOf, firstState, merchantId, now, runIn, type State } from '../../exploration/world.ts';
import { parseExactJson } from '../../src/kernel/exact-json.ts';
import type { Report } from '../../src/money/case.ts';
import type { Event } from '../../src/money/event.ts';
import { decide } from '../../src/money/rules/decide.ts';

const oid = 'abcdef00-0000-4000-8000-000000000001';
const content = { receipt: '{"Items":[]}', qrSecretId: 3, pointOfSalesCode: 'SHOP', preferredDeviceId: 't1' };
const create = (more: object = {}): Event => ({
  ...{ type: 'Create', newId: oid, merchantId, amountBani: 7_000, validTo: null, callbackUri: 'http://erp/#State#' },
  ...content,
  ...more,
});
const inShop = () => firstState({ terminals: ['t1'], registers: ['r1'] });
const after = (state: State, ...events: Event[]) => events.reduce((before, event) => runIn(before, event).state, state);
const invoiceIn = ({ ledger }: State) => rowOf('invoices', ledger['invoices']?.[oid] ?? {});
const orphansIn = ({ ledger }: State) => Object.values(ledger['orphan_payments'] ?? {}).map((row) => rowOf('orphans', row));
const payd = (receiptId: string): Event => ({ type: 'Payd', oid, receiptId, deviceId: 'r1' });

it('Create and Get answer with the invoice as it is stored', () => {
  const created = runIn(inShop(), create());
  expect(created.answer).toMatchObject({ code: 'NoError', fields: { OID: oid }, invoice: content });
  expect(runIn(created.state, { type: 'Get', oid }).answer).toMatchObject({ fields: { OID: oid, Status: 1 }, invoice: content });
  expect(created.state.ledger['callbacks']).toEqual({});
});

it.each([
  ['a new invoice expires at its limit', 'NewItem', 60_000, 'Expired'],
  ['a scanned one lives for the grace', 'Scanned', 60_000, 'Scanned'],
  ['and expires after it', 'Scanned', 59_999, 'Expired'],
])('%s [D22]', (_what, from, scanGraceMs, to) => {
  const limit = { validTo: now + 1 };
  const scan: Event[] = from === 'Scanned' ? [{ type: 'Get', oid }] : [];
  const state = after(inShop(), create(limit), ...scan);
  const event: Event = { type: 'Expire', oid };
  const facts = { ...load(state.ledger, event, aroundOf(state)), now: now + 60_000, scanGraceMs };
  expect((decide(facts, event).next ?? facts).invoices[oid]?.state).toBe(to);
});

it('keeps a hundred refused payments of an invoice, and logs the others', () => {
  let state = after(inShop(), create());
  for (let at = 0; at < 100; at += 1) state = after(state, payd(`F-${at}`));
  const full = runIn(state, payd('one too many'));
  expect(full.effects).toMatchObject([{ type: 'orphan', receiptId: 'one too many', isKept: false }]);
  expect(full.unit).toBeUndefined();
  expect(runIn(state, payd('F-7')).effects).toEqual([]);
  expect(orphansIn(state)).toHaveLength(100);
  // There is one such payment for each invoice, so a full board takes it, too.
  const paidTwice = after(
    state,
    { type: 'Get', oid },
    { type: 'Pay', merchantId, newId: 'p1', deviceId: 't1', documentNr: oid, amountBani: 7_000 },
    payd('F-200'),
    {
      ...{ type: 'Report', id: 'p1', outcome: 'done', source: 'answer', journalId: 't1-a' },
      report: { rrn: '1', operationId: '2', amount: 70 },
    },
  );
  expect(orphansIn(paidTwice).at(-1)).toMatchObject({ receiptId: 'F-200', reason: 'paid-by-card-too', isListed: true });
});

it('keeps a payment of an unknown invoice for a person [D295]', () => {
  const effects = [{ type: 'unmatched', oid, receiptId: 'F-1', deviceId: 'r1', merchantId: undefined }];
  expect(runIn(inShop(), payd('F-1'))).toMatchObject({ answer: { code: 'Record_not_exist' }, effects });
});

it('counts callbacks, and none of them has a receipt before the payment', () => {
  const state = after(inShop(), create(), { type: 'Get', oid }, payd('F-1'), payd('F-1'));
  expect(Object.values(state.ledger['callbacks'] ?? {})).toMatchObject([{ sequence: 1 }, { sequence: 2 }]);
  expect(invoiceIn(state)).toMatchObject({ notices: 2, receiptId: 'F-1', paidDeviceId: 'r1' });
});

it.each([
  ['a text', '{"receiptId":"F-17"}', 'F-17'],
  ['a number', '{"receiptId":17}', '17'],
  ['a number that JavaScript would round', '{"receiptId":90071992547409931234}', '90071992547409931234'],
  ['missing', '{}', null],
  ['one character too long', `{"receiptId":"${'7'.repeat(129)}"}`, null],
  ['a text that no database keeps', '{"receiptId":"a\\u0000b"}', null],
])('the number of a receipt is searched for as the register wrote it: %s', (_what, text, expected) => {
  const receipt = { Uid: 'u', Items: [{ Name: 'x', Quantity: 1, Price: 1 }], Payments: [{ PaymentCode: 0, Amount: 1 }] };
  const report = parseExactJson(text) as Report;
  const print: Event = { type: 'Print', merchantId, newId: 'print1', deviceId: 'r1', receipt, contentHashes: ['h'], requestHash: 'h' };
  const state = after(inShop(), print, {
    ...{ type: 'Report', id: 'print1', outcome: 'done', source: 'answer', journalId: 'r1-a' },
    report,
  });
  expect(rowOf('ops', state.ledger['commands']?.['print1'] ?? {})).toMatchObject({ receiptId: expected, requestHash: null });
});

// What lines of a transcript about registers and invoices do.
import { formatLei, parseAmount } from '../src/kernel/money.ts';
import type { Receipt } from '../src/kernel/receipt.ts';
import type { Id, Invoice } from '../src/money/case.ts';
import type { CallEvent, Event } from '../src/money/event.ts';
import { rowOf } from './memory-store.ts';
import { type Acted, merchantId, now, runIn, type State } from './world.ts';

type Words = Readonly<Record<string, string | undefined>>;
type Fields = Pick<CallEvent, 'merchantId' | 'newId'> & { deviceId: Id; callbackUri?: string; key?: CallEvent['key'] };
type Call = (call: Fields, words: readonly string[], requestHash: string) => Event;

const amount = (text = '') => parseAmount(text) ?? Number.NaN;

export const shopCalls: Readonly<Record<string, Call>> = {
  'Invoice/Pay': (call, [, uid = '', ...words], requestHash) => {
    const receipt = receiptOf(uid, words);
    return { type: 'Print', ...call, receipt, contentHashes: [JSON.stringify(receipt)], requestHash };
  },
  'Money/In': (call, words, requestHash) => cash('MoneyIn', call, words, requestHash),
  'Money/Out': (call, words, requestHash) => cash('MoneyOut', call, words, requestHash),
  'Report/Create': (call, [, letter], requestHash) => ({
    ...{ type: 'Plain', ...call, kind: 'Report', args: { fiscal: letter === 'Z' }, requestHash },
  }),
  'Invoice/Create': ({ callbackUri = null, key }, [oid = '', lei, , minutes], requestHash) => ({
    ...{ type: 'Create', merchantId, newId: oid, amountBani: amount(lei), callbackUri },
    ...{ validTo: minutes === undefined ? null : now + Number(minutes) * 60_000, receipt: '{}', qrSecretId: 1 },
    ...{
      pointOfSalesCode: null,
      preferredDeviceId: null,
      ...(key ? { key: { ...key, requestHash: requestHash.slice(requestHash.indexOf(oid) + oid.length) } } : {}),
    },
  }),
  'Invoice/Status': (_, [oid = '', ...asker]) => ({ type: 'InvoiceStatus', oid, ...askerOf(asker) }),
  'Invoice/Get': (_, [oid = '', ...asker]) => ({ type: 'Get', oid, ...askerOf(asker) }),
  'Invoice/Payd': (_, [oid = '', receiptId = '', deviceId = '', ...asker]) => ({
    ...{ type: 'Payd', oid, receiptId, deviceId, ...askerOf(asker) },
  }),
};

function cash(kind: 'MoneyIn' | 'MoneyOut', call: Fields, [, lei, reason]: readonly string[], requestHash: string): Event {
  const args = { amount: amount(lei) / 100, ...(reason === undefined ? {} : { reason }) };
  return { type: 'Plain', ...call, kind, args, amountBani: amount(lei), requestHash };
}

/** `as t1`: with the credential of that device; `by the ERP`: with its key; otherwise any holder of the QR. */
function askerOf([how, who = '']: readonly string[]): { merchantId?: Id; asDevice?: Id; hasKey?: true } {
  if (how === 'as') return { merchantId, asDevice: who };
  return how === 'by' ? { merchantId, hasKey: true } : {};
}

const codes: Readonly<Record<string, number>> = { cash: 0, card: 1, voucher: 3 };

/** `cash 10.00 card 20.00 card of n card of m 5.00 total 40.00 Number 2`; `-` is no Uid. */
function receiptOf(uid: string, words: readonly string[]): Receipt {
  const payments: Record<string, unknown>[] = [];
  let total: string | undefined;
  let further = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const isOther = word === 'total' || word === 'Number';
    const number = words[at + 1] === 'of' ? words[at + 2] : undefined;
    if (number !== undefined) at += 2;
    const lei = /^\d/.test(words[at + 1] ?? '') ? words[(at += 1)] : undefined;
    if (word === 'total') total = lei;
    if (word === 'Number') further = { Number: lei };
    if (isOther) continue;
    payments.push({
      PaymentCode: codes[word],
      ...(lei === undefined ? {} : { Amount: Number(lei) }),
      ...(number === undefined ? {} : { documentNr: number }),
    });
  }
  const sum = payments.reduce((before, { Amount }) => before + ((Amount as number | undefined) ?? 0), 0);
  const Items = [{ Name: 'Goods', Quantity: 1, Price: total === undefined ? sum : Number(total) }];
  return { ...(uid === '-' ? {} : { Uid: uid }), ...further, Items, Payments: payments };
}

/** The payments of a receipt as its register gets them. */
export function paymentsSent(receipt: Receipt): string {
  const payments = receipt['Payments'] as { PaymentCode: number; Amount?: number; paid?: { operationId: string } }[];
  const shown = payments.map(({ PaymentCode, Amount, paid }) => {
    const kind = Object.keys(codes).find((name) => codes[name] === PaymentCode);
    return `${kind}${Amount === undefined ? '' : ` ${formatLei(Math.round(Amount * 100))}`}${paid ? ` paid by ${paid.operationId}` : ''}`;
  });
  return shown.join(', ');
}

type Act = (state: State, words: Words) => Acted;
const line = (pattern: string, act: Act): readonly [RegExp, Act] => [new RegExp(`^${pattern}$`), act];
const announces = (state: State, device: Id, features: readonly string[] | undefined): Acted => {
  const { [device]: _, ...others } = state.features;
  return { state: { ...state, features: features ? { ...others, [device]: features } : others } };
};

export const shopLines: readonly (readonly [RegExp, Act])[] = [
  line('(?<device>\\S+) cannot print what was paid elsewhere', (state, { device = '' }) => announces(state, device, ['other'])),
  line('(?<device>\\S+) has not announced what it can do', (state, { device = '' }) => announces(state, device, undefined)),
  line('(?<device>\\S+) can print what was paid elsewhere', (state, { device = '' }) => announces(state, device, ['paid'])),
  line('the sweep meets (?<oid>\\S+)', (state, { oid = '' }) => runIn(state, { type: 'Expire', oid })),
  line('the shop cancels (?<oid>\\S+) in the cabinet', (state, { oid = '' }) => runIn(state, { type: 'CancelInvoice', merchantId, oid })),
  line('the retention time of the invoice (?<oid>\\S+) passes', (state, { oid = '' }) => runIn(state, { type: 'RemoveInvoice', oid })),
];

const rows = ({ ledger }: State, table: string) => ledger[table] ?? {};

/** What people see of invoices after a line. */
export function invoicesShown(before: State, after: State): string[] {
  return [
    ...Object.entries(rows(after, 'invoices')).flatMap(([oid, row]) => {
      const old = rows(before, 'invoices')[oid];
      return invoiceShown(old && rowOf('invoices', old), rowOf('invoices', row), reasonIn(before, after, oid));
    }),
    ...Object.entries(rows(after, 'orphan_payments')).flatMap(([key, row]) => {
      const { oid, receiptId, deviceId, reason, isListed } = rowOf('orphans', row);
      const old = rows(before, 'orphan_payments')[key];
      const was = old && rowOf('orphans', old);
      if (was?.isListed === isListed && was.reason === reason) return [];
      return [`orphan of ${oid}: ${receiptId} at ${deviceId}, ${isListed ? reason : 'listed no longer'}`];
    }),
  ];
}

function invoiceShown(before: Invoice | undefined, { oid, state, isPaidByCard, removedAt }: Invoice, reason: string): string[] {
  return [
    ...(before?.state === state ? [] : [`invoice ${oid}: ${state}${reason}`]),
    ...(isPaidByCard && !before?.isPaidByCard ? [`invoice ${oid}: paid by card, awaits Payd`] : []),
    ...(removedAt !== null && before?.removedAt === null ? [`invoice ${oid} is removed`] : []),
  ];
}

function reasonIn(before: State, after: State, oid: Id): string {
  const added = Object.values(rows(after, 'invoice_events')).slice(Object.keys(rows(before, 'invoice_events')).length);
  const { reason } = JSON.parse(String(added.find((row) => row['oid'] === oid)?.['detail'] ?? '{}')) as { reason?: string };
  return reason === undefined ? '' : `, ${reason}`;
}

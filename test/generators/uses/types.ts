// Uses of the types that openapi-typescript makes of openapi/v1.json; test/docs/generated-clients.test.ts compiles them, and a call of each
// operation with the example of the document.
import type { components, operations } from './api.ts';

type Schemas = components['schemas'];
type AnswerOf<Name extends keyof operations> = operations[Name] extends {
  responses: { 200: { content: { 'application/json': infer Answer } } };
}
  ? Answer
  : never;
type QueryOf<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Query } } ? NonNullable<Query> : never;
type BodyOf<Name extends keyof operations> = operations[Name] extends { requestBody: { content: { 'application/json': infer Body } } }
  ? Body
  : never;

export declare function call<Name extends keyof operations>(name: Name, given: BodyOf<Name> | QueryOf<Name>): Promise<AnswerOf<Name>>;

const DeviceID = '0b1c2d3e-4f50-4617-a283-94a5b6c7d8e9';
const names = { DeviceID, documentNr: 'n', operationId: 'OP1' };
const items: Schemas['Item'][] = [{ Name: 'Coffee', Quantity: 2, Price: 35 }];
const payments: Schemas['Payment'][] = [{ PaymentCode: 0, Amount: 70 }];

export async function useCalls(): Promise<string[]> {
  const said: string[] = [];
  const paid = await call('pay', { DeviceID, amount: '150.50', documentNr: 'n' });
  if (paid.errorCode === 0) {
    const report = JSON.parse(paid.report ?? '') as Schemas['PayReport'];
    const rrn: string = report.rrn;
    said.push(paid.OID ?? '', rrn, report.operationId);
  } else {
    if (paid.errorCode === 3 && paid.OID !== undefined) said.push(paid.OID);
    if (paid.errorCode === 22 && paid.State === 'Closed') said.push('paid before');
    // @ts-expect-error there is no such errorCode
    if (paid.errorCode === 4) said.push('');
    // @ts-expect-error there is no such State
    if (paid.State === 'Payed') said.push('');
  }
  // @ts-expect-error an answer has no certain report, because it may be a failure
  said.push(paid.report);
  // @ts-expect-error the amount is missing
  await call('pay', { DeviceID });

  const status = await call('deviceStatus', { DeviceID });
  if (status.errorCode === 0) said.push(String((JSON.parse(status.report ?? '{}') as Schemas['DeviceStatusReport']).online));
  const last = await call('lastTransaction', { DeviceID });
  if (last.errorCode === 0) said.push((JSON.parse(last.report ?? '{}') as Schemas['LastTransactionReport']).state ?? '');
  const day = await call('closeDay', { DeviceID });
  if (day.errorCode === 0) said.push(String((JSON.parse(day.report ?? '{}') as Schemas['CloseDayReport']).count));
  const refunded = await call('refund', { ...names, rrn: 'r', amount: 50 });
  if (refunded.errorCode === 0) said.push((JSON.parse(refunded.report ?? '{}') as Schemas['RefundReport']).rrn ?? '');

  const created = await call('createInvoice', { Receipt: { Items: items, Number: null } });
  if (created.errorCode === 0) said.push(created.QR ?? '', created.OID ?? '', created.QRImage ?? '');
  const state = await call('invoiceStatus', { QR: 'q' });
  if (state.errorCode === 0) {
    const isPaid = state.Status === 2;
    said.push(String(isPaid), state.ReceiptID ?? '');
    // @ts-expect-error there is no such state
    if (state.Status === 5) said.push('');
  }
  const scanned = await call('getInvoice', { QR: 'q' });
  if (scanned.errorCode === 0) said.push(...(scanned.Receipt?.Items ?? []).map(({ Name }) => Name));
  said.push((await call('payInvoice', { QR: 'q', ReceiptID: 'R', DeviceID })).errorMessage);

  for (const name of ['cashIn', 'cashOut'] as const) {
    const moved = await call(name, { DeviceID, Amount: 500, Reason: 'change' });
    if (moved.errorCode === 0) said.push(String((JSON.parse(moved.report ?? '{}') as Schemas['CashReport']).cashInDrawer));
  }
  const reported = await call('createReport', { DeviceID, Fiscal: true });
  if (reported.errorCode === 0) said.push(String((JSON.parse(reported.report ?? '{}') as Schemas['FiscalReport']).number));
  const printed = await call('printReceipt', { DeviceID, Receipt: { Uid: 'u', Items: items, Payments: payments } });
  if (printed.errorCode === 0) said.push(String((JSON.parse(printed.report ?? '{}') as Schemas['ReceiptReport']).receiptId));
  // @ts-expect-error a register must know how it is paid
  await call('printReceipt', { DeviceID, Receipt: { Items: items } });
  // @ts-expect-error a payment has a code
  await call('printReceipt', { DeviceID, Receipt: { Items: items, Payments: [{ Amount: 1 }] } });
  const asked = await call('operationStatus', { IdempotencyKey: 'k' });
  if (asked.errorCode === 0) said.push(asked.State ?? '', asked.Operation ?? '');
  return said;
}

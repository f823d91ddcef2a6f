// Sequences of ERP calls in POS Mode and Fiscal Mode, for the sandbox and for production servers.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { reportOf, type Till } from '../support/till.ts';

export const receipt = { Number: 'A-7', Items: [{ Name: 'Bread', Quantity: 2, Price: 12.5, VatLetter: 'B' }], Extra: { kept: true } };

/** All six calls of POS Mode, on a terminal with a new bank day. */
export async function playBankDay(till: Till, DeviceID: string): Promise<void> {
  const documentNr = randomUUID();
  const pay = { DeviceID, amount: 100, documentNr };
  const [first, joined] = await Promise.all([till.post('/Device/payment/Pay', pay), till.post('/Device/payment/Pay', pay)]);
  expect(first).toMatchObject({ status: 200, errorCode: 0, errorMessage: '' });
  expect(joined).toEqual(first);
  const { operationId, rrn, ...paid } = reportOf(first);
  expect(paid).toMatchObject({ amount: 100, authCode: expect.any(String), token: expect.any(String) });
  expect(await till.post('/Device/payment/Pay', pay)).toEqual(first);
  expect(await till.post('/Device/payment/Pay', { ...pay, amount: 101 })).toMatchObject({ errorCode: 22 });
  expect(await till.post('/Device/payment/Pay', { DeviceID, amount: 5 })).toMatchObject({ errorCode: 31 });
  const last = reportOf(await till.get('/Device/payment/LastTransaction', { DeviceID }));
  expect(last).toMatchObject({ kind: 'Pay', state: 'approved', rrn, operationId, amount: 100 });

  const operation = { DeviceID, documentNr, operationId };
  expect(await till.post('/Device/payment/CloseDoc', { ...operation, operationId: '999' })).toMatchObject({ errorCode: 20 });
  expect(await till.post('/Device/payment/CloseDoc', operation)).toMatchObject({ errorCode: 0 });
  expect(await till.post('/Device/payment/CloseDoc', operation)).toMatchObject({ errorCode: 0 });
  expect(await till.post('/Device/payment/Pay', pay)).toMatchObject({ errorCode: 22 });

  const refund = { ...operation, rrn, amount: '60.00' };
  expect(reportOf(await till.post('/Device/payment/Refund', refund))).toMatchObject({ amount: 60 });
  expect(await till.post('/Device/payment/Refund', { ...refund, amount: 40.01 })).toMatchObject({ errorCode: 40 });
  expect(await till.post('/Device/payment/Refund', { ...refund, rrn: '1' })).toMatchObject({ errorCode: 20 });
  expect(await till.post('/Device/payment/Refund', { ...refund, currency: 'EUR' })).toMatchObject({ errorCode: 40 });

  const second = { DeviceID, amount: 30, documentNr: randomUUID() };
  const voided = reportOf(await till.post('/Device/payment/Pay', second));
  const cancel = { DeviceID, documentNr: second.documentNr, operationId: voided['operationId'], token: voided['token'], amount: 30 };
  expect(await till.post('/Device/payment/CancelTransaction', { ...cancel, amount: 29 })).toMatchObject({ errorCode: 40 });
  expect(await till.post('/Device/payment/CancelTransaction', cancel)).toMatchObject({ errorCode: 0 });
  expect(await till.post('/Device/payment/CancelTransaction', cancel)).toMatchObject({ errorCode: 22 });

  expect(reportOf(await till.post('/Device/payment/closeDay', { DeviceID }))).toMatchObject({ count: 1, amount: 40 });
  expect(await till.post('/Device/payment/Refund', { ...refund, amount: 1 })).toMatchObject({ errorCode: 22 });
}

/** All four calls of Fiscal Mode, on a new register. */
export async function playShift(till: Till, DeviceID: string): Promise<void> {
  expect(reportOf(await till.post('/Device/Money/In', { DeviceID, Amount: 200, Reason: 'opening' }))).toMatchObject({
    cashInDrawer: 200,
  });
  const cash = { DeviceID, Receipt: { ...receipt, Uid: randomUUID(), Payments: [{ PaymentCode: 0 }] } };
  const printed = await till.post('/Device/Invoice/Pay', cash);
  expect(reportOf(printed)).toMatchObject({ total: 25, receiptId: expect.any(String), fiscalNumber: expect.any(String) });
  expect(await till.post('/Device/Invoice/Pay', cash)).toEqual(printed);
  const other = { ...cash, Receipt: { ...cash.Receipt, Number: 'B-1' } };
  expect(await till.post('/Device/Invoice/Pay', other)).toMatchObject({ errorCode: 22 });
  expect(await till.post('/Device/Invoice/Pay', { DeviceID, Receipt: receipt })).toMatchObject({ errorCode: 40 });
  const card = { DeviceID, Receipt: { ...receipt, Uid: randomUUID(), Payments: [{ PaymentCode: 7 }] } };
  expect(reportOf(await till.post('/Device/Invoice/Pay', card))).toMatchObject({ total: 25, cards: [{ amount: 25 }] });
  expect(await till.post('/Device/Money/Out', { DeviceID, Amount: 225.01 })).toMatchObject({ errorCode: 50 });
  const key = { 'idempotency-key': randomUUID() };
  const out = await till.post('/Device/Money/Out', { DeviceID, Amount: 100 }, key);
  expect(reportOf(out)).toMatchObject({ cashInDrawer: 125 });
  expect(await till.post('/Device/Money/Out', { DeviceID, Amount: 100 }, key)).toEqual(out);
  expect(await till.post('/Device/Money/Out', { DeviceID, Amount: 101 }, key)).toMatchObject({ errorCode: 22 });

  const totals = { receipts: 2, total: 50, byPayment: { cash: 25, card: 25 }, moneyIn: 200, moneyOut: 100, cashInDrawer: 125 };
  expect(reportOf(await till.post('/Device/Report/Create', { DeviceID, Fiscal: false }))).toMatchObject({ type: 'X', number: 1, totals });
  expect(reportOf(await till.post('/Device/Report/Create', { DeviceID, Fiscal: true }))).toMatchObject({ type: 'Z', number: 1, totals });
  const empty = { receipts: 0, total: 0, cashInDrawer: 125 };
  expect(reportOf(await till.post('/Device/Report/Create', { DeviceID, Fiscal: false }))).toMatchObject({ number: 2, totals: empty });
  expect(await till.post('/Device/Report/Create', { DeviceID, Fiscal: 'yes' })).toMatchObject({ errorCode: 40 });
}

// Every call by openapi-fetch with the types that openapi-typescript makes of openapi/v1.json; test/docs/running-clients.test.ts compiles it and runs it.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

type Schemas = components['schemas'];

export function connect({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const { GET, POST } = createClient<paths>({ baseUrl, headers: { 'X-API-Key': apiKey } });
  const newName = () => ({ 'Idempotency-Key': crypto.randomUUID() });
  return {
    deviceStatus: (query: { DeviceID: string }) => GET('/Device/Device/Status', { params: { query } }),
    pay: (body: Schemas['PayRequest']) => POST('/Device/payment/Pay', { body, params: { header: newName() } }),
    lastTransaction: (query: { DeviceID: string }) => GET('/Device/payment/LastTransaction', { params: { query } }),
    closeDoc: (body: Schemas['CloseDocRequest']) => POST('/Device/payment/CloseDoc', { body }),
    closeDay: (body: Schemas['CloseDayRequest']) => POST('/Device/payment/closeDay', { body }),
    refund: (body: Schemas['RefundRequest']) => POST('/Device/payment/Refund', { body }),
    cancelTransaction: (body: Schemas['CancelRequest']) => POST('/Device/payment/CancelTransaction', { body }),
    createInvoice: (body: Schemas['InvoiceRequest']) => POST('/Invoice/Create', { body }),
    invoiceStatus: (query: { QR: string }) => GET('/Invoice/Status', { params: { query } }),
    getInvoice: (query: { QR: string }) => GET('/Invoice/Get', { params: { query } }),
    payInvoice: (query: { QR: string; ReceiptID: string; DeviceID: string }) => GET('/Invoice/Payd', { params: { query } }),
    cashIn: (body: Schemas['CashRequest']) => POST('/Device/Money/In', { body }),
    cashOut: (body: Schemas['CashRequest']) => POST('/Device/Money/Out', { body }),
    createReport: (body: Schemas['ReportRequest']) => POST('/Device/Report/Create', { body }),
    printReceipt: (body: Schemas['ReceiptRequest']) => POST('/Device/Invoice/Pay', { body }),
    operationStatus: (query: { OID: string }) => GET('/Device/Operation/Status', { params: { query } }),
  };
}

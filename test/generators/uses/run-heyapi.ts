// Every call by the client that @hey-api/openapi-ts makes of openapi/v1.json; test/docs/running-clients.test.ts compiles it and runs it.
import * as sdk from './heyapi';
import { client } from './heyapi/client.gen';
import type * as Types from './heyapi/types.gen';

export function connect({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  // The client adds the key as the document says for each call.
  client.setConfig({ baseUrl, auth: apiKey });
  const newName = () => ({ 'Idempotency-Key': crypto.randomUUID() });
  return {
    deviceStatus: (query: { DeviceID: string }) => sdk.deviceStatus({ query }),
    pay: (body: Types.PayRequest) => sdk.pay({ body, headers: newName() }),
    lastTransaction: (query: { DeviceID: string }) => sdk.lastTransaction({ query }),
    closeDoc: (body: Types.CloseDocRequest) => sdk.closeDoc({ body }),
    closeDay: (body: Types.CloseDayRequest) => sdk.closeDay({ body }),
    refund: (body: Types.RefundRequest) => sdk.refund({ body }),
    cancelTransaction: (body: Types.CancelRequest) => sdk.cancelTransaction({ body }),
    createInvoice: (body: Types.InvoiceRequest) => sdk.createInvoice({ body }),
    invoiceStatus: (query: { QR: string }) => sdk.invoiceStatus({ query }),
    getInvoice: (query: { QR: string }) => sdk.getInvoice({ query }),
    payInvoice: (query: { QR: string; ReceiptID: string; DeviceID: string }) => sdk.payInvoice({ query }),
    cashIn: (body: Types.CashRequest) => sdk.cashIn({ body }),
    cashOut: (body: Types.CashRequest) => sdk.cashOut({ body }),
    createReport: (body: Types.ReportRequest) => sdk.createReport({ body }),
    printReceipt: (body: Types.ReceiptRequest) => sdk.printReceipt({ body }),
    operationStatus: (query: { OID: string }) => sdk.operationStatus({ query }),
  };
}

// Every call by the client that orval makes of openapi/v1.json; test/docs/running-clients.test.ts compiles it and runs it.
import * as api from './orval.ts';

/** The address is in the generated code, as orval has it; the key goes with each call. */
export function connect({ apiKey }: { baseUrl: string; apiKey: string }) {
  const key = { headers: { 'X-API-Key': apiKey } };
  const named = () => ({ headers: { ...key.headers, 'Idempotency-Key': crypto.randomUUID() } });
  return {
    deviceStatus: (query: api.DeviceStatusParams) => api.deviceStatus(query, key),
    pay: (body: api.PayRequest) => api.pay(body, named()),
    lastTransaction: (query: api.LastTransactionParams) => api.lastTransaction(query, key),
    closeDoc: (body: api.CloseDocRequest) => api.closeDoc(body, key),
    closeDay: (body: api.CloseDayRequest) => api.closeDay(body, key),
    refund: (body: api.RefundRequest) => api.refund(body, key),
    cancelTransaction: (body: api.CancelRequest) => api.cancelTransaction(body, key),
    createInvoice: (body: api.InvoiceRequest) => api.createInvoice(body, key),
    invoiceStatus: (query: api.InvoiceStatusParams) => api.invoiceStatus(query, key),
    getInvoice: (query: api.GetInvoiceParams) => api.getInvoice(query, key),
    payInvoice: (query: api.PayInvoiceParams) => api.payInvoice(query, key),
    cashIn: (body: api.CashRequest) => api.cashIn(body, key),
    cashOut: (body: api.CashRequest) => api.cashOut(body, key),
    createReport: (body: api.ReportRequest) => api.createReport(body, key),
    printReceipt: (body: api.ReceiptRequest) => api.printReceipt(body, key),
    operationStatus: (query: api.OperationStatusParams) => api.operationStatus(query, key),
  };
}

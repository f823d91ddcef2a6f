// One sale by the client that openapi-generator makes for TypeScript: test/docs/generated-sales.server.test.ts compiles and runs it.
import { randomUUID } from 'node:crypto';
import { Configuration, ErrorCode, FiscalModeApi, type PayReport, POSModeApi } from './client';

declare global {
  /** A type of older versions of TypeScript, which the client names. */
  interface GlobalFetch {
    fetch(url: string, init: RequestInit): Promise<Response>;
  }
}

const [, , port, apiKey, deviceID = '', registerID = ''] = process.argv;
const configuration = new Configuration({ basePath: `http://127.0.0.1:${port}/tillgate`, apiKey, fetchApi: fetch });
const documentNr = randomUUID();
const pos = new POSModeApi(configuration);

const paid = await pos.pay({ payRequest: { deviceID, amount: '35.50', documentNr }, idempotencyKey: `pay-${documentNr}` });
const report = JSON.parse(paid.report ?? '{}') as PayReport;
console.log(`pay ${paid.errorCode} ${paid.state} ${report.amount}`);

const { operationId } = report;
const closed = await pos.closeDoc({ closeDocRequest: { deviceID, documentNr, operationId }, idempotencyKey: `close-${documentNr}` });
console.log(`close ${closed.errorCode}`);

const items = [{ name: 'Coffee', quantity: 1, price: 35.5 }];
const receipt = { uid: documentNr, items, payments: [{ paymentCode: 1, documentNr }] };
const fiscal = new FiscalModeApi(configuration);
const printed = await fiscal.printReceipt({ receiptRequest: { deviceID: registerID, receipt }, idempotencyKey: `print-${documentNr}` });
console.log(`print ${printed.errorCode}`);

const again = await pos.pay({ payRequest: { deviceID, amount: 35.5, documentNr }, idempotencyKey: `again-${documentNr}` });
console.log(`again ${again.errorCode === ErrorCode.The_status_cannot_be_applied ? 22 : again.errorCode} ${again.state}`);

// Uses of the client that openapi-typescript-codegen makes of openapi/v1.json; test/docs/generated-clients.test.ts compiles them, and a call of
// each operation with the example of the document.
import {
  ErrorCode,
  FiscalModeService,
  InvoiceStatus,
  OperationState,
  OperationsService,
  type PayAnswer,
  PosModeService,
  QrModeService,
  type Receipt,
  TerminalStatusService,
} from './codegen';

const device = '0b1c2d3e-4f50-4617-a283-94a5b6c7d8e9';
const names = { DeviceID: device, documentNr: 'n', operationId: 'OP1' };
const idempotencyKey = 'k';
const receipt: Receipt = { Number: 'A-1', Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }] };

export async function useCalls(): Promise<(string | undefined)[]> {
  const paid: PayAnswer = await PosModeService.pay({ requestBody: { DeviceID: device, amount: 150.5 }, idempotencyKey });
  const said = [paid.errorCode === ErrorCode.NoError ? paid.report : String(paid.State === OperationState.CLOSED)];
  // @ts-expect-error the terminal is missing
  await PosModeService.pay({ requestBody: { amount: 1 } });
  const created = await QrModeService.createInvoice({ requestBody: { Receipt: receipt }, idempotencyKey });
  if ('QR' in created) said.push(created.QR);
  const state = await QrModeService.invoiceStatus({ qr: 'q' });
  if ('Status' in state) said.push(String(state.Status === InvoiceStatus.Payed));
  const scanned = await QrModeService.getInvoice({ qr: 'q' });
  if ('Receipt' in scanned && scanned.Receipt) said.push(...scanned.Receipt.Items.map(({ Name }) => Name));
  const others = await Promise.all([
    TerminalStatusService.deviceStatus({ deviceId: device }),
    PosModeService.lastTransaction({ deviceId: device }),
    PosModeService.refund({ requestBody: { ...names, rrn: 'r', amount: '50.00' }, idempotencyKey }),
    QrModeService.payInvoice({ qr: 'q', receiptId: 'R', deviceId: device }),
    FiscalModeService.cashOut({ requestBody: { DeviceID: device, Amount: 500, Reason: 'bank' }, idempotencyKey }),
    FiscalModeService.printReceipt({
      requestBody: { DeviceID: device, Receipt: { ...receipt, Payments: [{ PaymentCode: 1, Amount: 70 }] } },
      idempotencyKey,
    }),
    OperationsService.operationStatus({ oid: 'o' }),
  ]);
  return [...said, ...others.map(({ errorMessage }) => errorMessage)];
}

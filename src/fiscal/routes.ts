// The four endpoints of Fiscal Mode: the specification's spellings, schemas and examples; no logic.

import { Type } from 'typebox';
import { keyFor } from '../http/authentication.ts';
import { operationCallbacks } from '../http/callback-schemas.ts';
import { exampleApiKey, exampleErp, exampleRegister } from '../http/examples.ts';
import { fiscalReceiptSchema } from '../http/receipt-schemas.ts';
import {
  amountField,
  answers,
  deviceErrors,
  deviceOperation,
  idempotencyHeaders,
  keyField,
  named,
  operationFields,
  operationReport,
  optionalField,
  readAmount,
  textField,
  uuidField,
} from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { operations } from '../kernel/operations.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import { deviceCallOf } from '../ledger/calls/device-call.ts';
import type { CashRequest } from './cash.ts';
import type { Fiscal } from './fiscal.ts';
import { cashReceiptTimeoutMs } from './rules.ts';

const register = {
  APIKey: keyField,
  DeviceID: uuidField('Register id.', exampleRegister),
  CallbackURI: optionalField(
    Type.String({ maxLength: 2048, description: 'URL template of the completion notice, called when the operation has ended.' }),
  ),
};
const example = { APIKey: exampleApiKey, DeviceID: exampleRegister };
const tag = { tags: ['Fiscal Mode'] };
const access = { config: { access: keyFor('Fiscal') } };
const exampleOid = 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55';
const callbackExample = { CallbackURI: `${exampleErp}/notice?id=#OID#&state=#State#&receipt=#ReceiptID#` };

export function registerFiscalRoutes(app: RouteApp, fiscal: Fiscal): void {
  cashRoute(
    app,
    'MoneyIn',
    '/Device/Money/In',
    'cashIn',
    'Cash deposit',
    'Cash into the drawer: opening of the day, shift change.',
    fiscal.cashIn,
  );
  cashRoute(
    app,
    'MoneyOut',
    '/Device/Money/Out',
    'cashOut',
    'Cash withdrawal',
    'Cash out of the drawer: to the bank, or back to a customer.',
    fiscal.cashOut,
  );

  app.post(
    '/Device/Report/Create',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Fiscal report Z or X',
        operationId: 'createReport',
        ...deviceOperation('Report'),
        ...operationCallbacks('createReport'),
        headers: idempotencyHeaders,
        description: 'Z closes the fiscal day and resets the daily counters; X reports the totals so far.',
        body: named(
          'ReportRequest',
          Type.Object(
            { ...register, Fiscal: Type.Boolean({ description: 'true: report Z; false: report X.' }) },
            { examples: [{ ...example, Fiscal: true, ...callbackExample }] },
          ),
        ),
        response: answers(
          {
            name: 'ReportAnswer',
            description: 'Number and totals are in `report`.',
            fields: { ...operationFields, report: Type.Optional(operationReport('FiscalReport', operations.Report)) },
            example: { OID: exampleOid, report: '{"number":17,"totals":{"sales":5230.4,"cash":1830.4,"card":3400}}' },
          },
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      fiscal.createReport({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        callbackUri: request.body.CallbackURI,
        isFiscal: request.body.Fiscal,
      }),
  );

  app.post(
    '/Device/Invoice/Pay',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Print a fiscal receipt',
        operationId: 'printReceipt',
        ...deviceOperation('PrintReceipt'),
        'x-device-timeout-without-card-s': cashReceiptTimeoutMs / 1000,
        ...operationCallbacks('printReceipt'),
        headers: idempotencyHeaders,
        description:
          'Prints once per Receipt.Uid: a repeat joins the print in flight or gets its answer again. Payments with PaymentCode 1, 2, 7 or 1000 are made by card, and the register prints only after the bank has approved; it has five minutes for such a receipt, otherwise one. If Pay charged the card before, name that payment by documentNr in the element of Payments (or by the Uid of the receipt): it is printed as card and not charged again. In that case, 20: no such payment; 22: it was voided, refunded or printed before, or this register would charge it again; 31: it has not ended yet; 40: Amount is not its remaining amount. Under the OID of an invoice a register charges no card (22).',
        body: named(
          'ReceiptRequest',
          Type.Object(
            {
              ...register,
              // Checked by the rules of the kernel, whose messages name the field.
              Receipt: Type.Unsafe<unknown>({ type: 'object', 'x-document': fiscalReceiptSchema }),
            },
            {
              examples: [
                {
                  ...example,
                  ...callbackExample,
                  Receipt: {
                    Number: 'A-1001',
                    Uid: '9d1e6b0c-3f2a-4c7b-8d5e-1a2b3c4d5e6f',
                    Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }],
                    Payments: [{ PaymentCode: 0, Amount: 70 }],
                  },
                },
              ],
            },
          ),
        ),
        response: answers(
          {
            name: 'ReceiptAnswer',
            description: 'The printed receipt is in `report`.',
            fields: { ...operationFields, report: Type.Optional(operationReport('ReceiptReport', operations.PrintReceipt)) },
            example: { OID: exampleOid, report: '{"receiptId":"R-000123","fiscalNumber":"F0000456","total":70}' },
          },
          'Record_not_exist',
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      fiscal.printReceipt({
        ...deviceCallOf(request, reply, request.body.DeviceID, 'Receipt'),
        callbackUri: request.body.CallbackURI,
        receipt: request.body.Receipt,
      }),
  );
}

function cashRoute(
  app: RouteApp,
  operation: 'MoneyIn' | 'MoneyOut',
  path: string,
  operationId: string,
  summary: string,
  description: string,
  move: (request: CashRequest) => Promise<DeviceAnswer>,
): void {
  app.post(
    path,
    {
      ...access,
      schema: {
        ...tag,
        summary,
        operationId,
        ...deviceOperation(operation),
        ...operationCallbacks(operationId),
        headers: idempotencyHeaders,
        description,
        body: named(
          'CashRequest',
          Type.Object(
            {
              ...register,
              Amount: amountField('Amount in MDL.'),
              Reason: optionalField(textField('Reason of the deposit or withdrawal.')),
            },
            { examples: [{ ...example, Amount: 500, Reason: 'Change for the day', ...callbackExample }] },
          ),
        ),
        response: answers(
          {
            name: 'CashAnswer',
            description: 'Document number and cash in the drawer are in `report`.',
            fields: { ...operationFields, report: Type.Optional(operationReport('CashReport', operations[operation])) },
            example: { OID: exampleOid, report: '{"documentNumber":12,"cashInDrawer":500}' },
          },
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      move({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        callbackUri: request.body.CallbackURI,
        amountBani: readAmount('Amount', request.body.Amount),
        reason: request.body.Reason,
      }),
  );
}

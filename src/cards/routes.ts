// The six endpoints of POS Mode: the specification's spellings, schemas and examples; no logic.

import { Type } from 'typebox';
import { callerOf, keyFor } from '../http/authentication.ts';
import { exampleApiKey, exampleTerminal } from '../http/examples.ts';
import {
  amountField,
  answers,
  deviceErrors,
  deviceOperation,
  deviceTimeout,
  idempotencyHeaders,
  keyField,
  named,
  operationFields,
  operationReport,
  optionalField,
  readAmount,
  readUuid,
  textField,
  uuidField,
} from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { operations } from '../kernel/operations.ts';
import { deviceCallOf } from '../ledger/calls/device-call.ts';
import type { Cards } from './cards.ts';
import { lastTransactionReport } from './report-schemas.ts';
import { lastTransactionTimeoutMs, maxLength } from './rules.ts';

const device = { APIKey: keyField, DeviceID: uuidField('Terminal id.', exampleTerminal) };
const operation = {
  documentNr: textField('Document number of the payment; if its Pay had none, any text that no payment has as its documentNr.', 128),
  operationId: textField('Operation id, returned by Pay.', maxLength.operationId),
};
const example = { APIKey: exampleApiKey, DeviceID: exampleTerminal };
const operationExample = { ...example, documentNr: '3b241101-e2bb-4255-8caf-4136c566a962', operationId: 'OP000123' };
const tag = { tags: ['POS Mode'] };
const access = { config: { access: keyFor('POS') } };
const exampleOid = 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55';
/** A payment without them is settled by an operator. */
const payReport = operationReport('PayReport', operations.Pay, ['rrn', 'operationId', 'amount']);
const examplePayReport = '{"rrn":"012345678901","authCode":"A1B2C3","operationId":"OP000123","amount":150.5}';

export function registerCardRoutes(app: RouteApp, cards: Cards): void {
  app.post(
    '/Device/payment/Pay',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Card payment with the exact amount',
        operationId: 'pay',
        ...deviceOperation('Pay'),
        headers: idempotencyHeaders,
        description:
          'Charges once per documentNr: a repeat joins the payment in flight or gets its answer again. The terminal has five minutes. If documentNr is the OID of an invoice, the invoice is paid by card: 22 and no charge if it is Payed, Expired or Cancelled; after the approval, complete it with Invoice/Get and Invoice/Payd.',
        body: named(
          'PayRequest',
          Type.Object(
            {
              ...device,
              amount: amountField('Amount in MDL.'),
              documentNr: optionalField(uuidField('Internal document number; makes the payment safe to repeat.')),
            },
            { examples: [{ ...example, amount: 150.5, documentNr: operationExample.documentNr }] },
          ),
        ),
        response: answers(
          {
            name: 'PayAnswer',
            description: 'The card payment report is in `report`.',
            fields: { ...operationFields, report: payReport },
            example: { OID: exampleOid, report: examplePayReport },
          },
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      cards.pay({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        amountBani: readAmount('amount', request.body.amount),
        documentNr: request.body.documentNr,
      }),
  );

  app.get(
    '/Device/payment/LastTransaction',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Last payment, refund or void on the terminal',
        operationId: 'lastTransaction',
        ...deviceTimeout(lastTransactionTimeoutMs),
        description:
          'From the terminal (`source` is device) or, if it reports none, from the gateway’s ledger (`source` is ledger). `lastCommand` is the last command of any kind. No payment, refund or void yet: errorCode 20. The terminal is offline: errorCode 30 with the ledger’s record.',
        querystring: Type.Object(device),
        response: answers(
          {
            name: 'LastTransactionAnswer',
            description: 'The last transaction is in `report`.',
            fields: { report: lastTransactionReport },
            example: {
              report:
                '{"commandId":"5d0c6a4e-9b1f-4c0e-8a53-2f7f0d8e6b11","kind":"Pay","state":"approved","rrn":"012345678901","operationId":"OP000123","amount":150.5,"documentNr":"3b241101-e2bb-4255-8caf-4136c566a962","source":"device","lastCommand":{"commandId":"0c1a8f4e-2b7d-4b63-9a0e-7c5d3e1f2a90","kind":"CloseDoc","state":"approved"}}',
            },
          },
          'Record_not_exist',
          'Timeout_or_no_response',
          'Device_Offline',
          'Refused_By_Device',
        ),
      },
    },
    (request) =>
      cards.lastTransaction({ merchantId: callerOf(request).merchantId, deviceId: readUuid('DeviceID', request.query.DeviceID) }),
  );

  app.post(
    '/Device/payment/CloseDoc',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Close the document of an approved payment',
        operationId: 'closeDoc',
        ...deviceOperation('CloseDoc'),
        headers: idempotencyHeaders,
        description:
          'Mandatory after each approved payment: until then, the terminal accepts no other operation. After a Pay without documentNr, operationId names the payment.',
        body: named('CloseDocRequest', Type.Object({ ...device, ...operation }, { examples: [operationExample] })),
        response: answers(
          {
            name: 'CloseDocAnswer',
            description: 'The document is closed. If an operator has closed it by hand, OID is that of the payment.',
            fields: { ...operationFields, report: Type.Optional(Type.String()) },
            example: { OID: exampleOid },
          },
          'Record_not_exist',
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      cards.closeDoc({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        documentNr: request.body.documentNr,
        operationId: request.body.operationId,
      }),
  );

  app.post(
    '/Device/payment/closeDay',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Bank settlement',
        operationId: 'closeDay',
        ...deviceOperation('CloseDay'),
        headers: idempotencyHeaders,
        description: 'Sends all authorized transactions of the terminal to the bank. Payments of that day can no longer be refunded.',
        body: named('CloseDayRequest', Type.Object(device, { examples: [example] })),
        response: answers(
          {
            name: 'CloseDayAnswer',
            description: 'Count and amount are in `report`.',
            fields: { ...operationFields, report: Type.Optional(operationReport('CloseDayReport', operations.CloseDay)) },
            example: { OID: exampleOid, report: '{"count":12,"amount":3150.75}' },
          },
          ...deviceErrors,
        ),
      },
    },
    (request, reply) => cards.closeDay(deviceCallOf(request, reply, request.body.DeviceID)),
  );

  app.post(
    '/Device/payment/Refund',
    {
      ...access,
      schema: {
        ...tag,
        summary: 'Partial or full refund',
        operationId: 'refund',
        ...deviceOperation('Refund'),
        headers: idempotencyHeaders,
        description: 'While the bank day is open. Refunds of one payment add up and never exceed it.',
        body: named(
          'RefundRequest',
          Type.Object(
            {
              ...device,
              ...operation,
              rrn: textField('Reference Retrieval Number of the payment.', maxLength.rrn),
              amount: amountField('At most the part of the original amount that is not refunded yet.'),
              currency: optionalField(textField('Only MDL.', 8)),
            },
            { examples: [{ ...operationExample, rrn: '012345678901', amount: 50, currency: 'MDL' }] },
          ),
        ),
        response: answers(
          {
            name: 'RefundAnswer',
            description: 'The refund is in `report`.',
            fields: { ...operationFields, report: Type.Optional(operationReport('RefundReport', operations.Refund)) },
            example: { OID: exampleOid, report: '{"rrn":"012345678902","operationId":"OP000124","amount":50}' },
          },
          'Record_not_exist',
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      cards.refund({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        documentNr: request.body.documentNr,
        operationId: request.body.operationId,
        rrn: request.body.rrn,
        amountBani: readAmount('amount', request.body.amount),
        currency: request.body.currency,
      }),
  );

  app.post(
    '/Device/payment/CancelTransaction',
    {
      config: { access: keyFor('POS', 'QR') },
      schema: {
        ...tag,
        summary: 'Void a payment, stop one that is still on the terminal, or withdraw a QR',
        operationId: 'cancelTransaction',
        ...deviceOperation('CancelTransaction'),
        headers: idempotencyHeaders,
        description: [
          'Voids the payment with this operationId. If there is none, aborts the payment in flight under documentNr: 0 if it was stopped, 22 if it was too late.',
          'If there is no such payment either and documentNr is the OID of an unpaid invoice, cancels the invoice: its QR is invalid at once, the ERP gets a callback, and the answer has the earlier status in `PreviousStatus`; a repeat gets the same answer. 22 if the invoice is Payed or Expired. DeviceID, operationId, token and amount are then ignored (for example any UUID, `none`, an empty text and the total), and a key that opens QR is enough.',
        ].join('\n\n'),
        body: named(
          'CancelRequest',
          Type.Object(
            {
              ...device,
              ...operation,
              token: textField('Bank authorization token; forwarded to the terminal.', 1024, 0),
              amount: amountField('Amount of the original payment.'),
            },
            { examples: [{ ...operationExample, token: 'TK-55-0123', amount: 150.5 }] },
          ),
        ),
        response: answers(
          {
            name: 'CancelAnswer',
            description: 'The payment is voided or stopped, or the invoice is cancelled. Without OID for an invoice.',
            fields: {
              ...operationFields,
              OID: Type.Optional(operationFields.OID),
              report: Type.Optional(operationReport('CancelReport', operations.CancelTransaction)),
              PreviousStatus: Type.Optional(
                Type.Unsafe<number>({
                  type: 'integer',
                  enum: [0, 1],
                  description: 'Of a cancelled invoice: its earlier Status, 0 NewItem or 1 Scanned.',
                }),
              ),
            },
            example: { OID: exampleOid, report: '{"operationId":"OP000123","amount":150.5}' },
          },
          'Record_not_exist',
          ...deviceErrors,
        ),
      },
    },
    (request, reply) =>
      cards.cancelTransaction({
        ...deviceCallOf(request, reply, request.body.DeviceID),
        documentNr: request.body.documentNr,
        operationId: request.body.operationId,
        token: request.body.token,
        amountBani: readAmount('amount', request.body.amount),
        isForInvoices: !callerOf(request).modules.has('POS'),
      }),
  );
}

// A terminal's reports as the API document describes them. The gateway forwards reports unchecked, except a payment's.

import { Type } from 'typebox';
import { reportField } from '../http/schemas.ts';

const amount = Type.Number({ description: 'Lei.' });
const optionalText = Type.Optional(Type.String());

export const payReport = reportField('PayReport', {
  rrn: Type.String({ description: 'Reference Retrieval Number; Refund asks for it.' }),
  authCode: optionalText,
  operationId: Type.String({ description: 'CloseDoc, Refund and CancelTransaction take it.' }),
  amount,
  token: Type.Optional(Type.String({ description: 'CancelTransaction takes it.' })),
});

export const refundReport = reportField('RefundReport', {
  rrn: optionalText,
  operationId: optionalText,
  amount: Type.Optional(amount),
});

export const closeDayReport = reportField('CloseDayReport', {
  count: Type.Optional(Type.Integer({ description: 'Transactions that were sent to the bank.' })),
  amount: Type.Optional(Type.Number({ description: 'Lei, net of refunds.' })),
});

const commandWords = {
  commandId: optionalText,
  state: Type.Optional(Type.String({ description: 'running, approved, refused, unknown, or none.' })),
};

export const lastTransactionReport = reportField('LastTransactionReport', {
  ...commandWords,
  kind: Type.Optional(Type.String({ description: 'Pay, Refund or CancelTransaction.' })),
  source: Type.Optional(Type.String({ description: 'device: the terminal reported it. ledger: the gateway’s own record.' })),
  rrn: optionalText,
  authCode: optionalText,
  operationId: optionalText,
  documentNr: optionalText,
  amount: Type.Optional(amount),
  lastCommand: Type.Optional(
    Type.Object(
      { ...commandWords, kind: optionalText },
      { description: 'The last command of any kind, also CloseDoc and CloseDay, with its report.' },
    ),
  ),
});

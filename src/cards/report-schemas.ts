// What a terminal's answers hold, as the API document describes them. The gateway passes on what came; a payment's report it has looked at.

import { reportField } from '../http/schemas.ts';
import { Type } from '../kernel/schema-type.ts';

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

export const lastTransactionReport = reportField('LastTransactionReport', {
  commandId: optionalText,
  kind: Type.Optional(Type.String({ description: 'The command: Pay, Refund and so on.' })),
  state: Type.Optional(Type.String({ description: 'running, approved, refused, unknown, or none.' })),
  rrn: optionalText,
  operationId: optionalText,
  amount: Type.Optional(amount),
});

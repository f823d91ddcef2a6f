// The report of LastTransaction as the API document describes it; those of the operations are in the catalogue.

import { Type } from 'typebox';
import { reportField } from '../http/schemas.ts';

const optionalText = Type.Optional(Type.String());

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
  amount: Type.Optional(Type.Number({ description: 'Lei.' })),
  lastCommand: Type.Optional(
    Type.Object(
      { ...commandWords, kind: optionalText },
      { description: 'The last command of any kind, also CloseDoc and CloseDay, with its report.' },
    ),
  ),
});

// A register's reports as the API document describes them. The gateway forwards reports unchecked.

import { Type } from 'typebox';
import { reportField } from '../http/schemas.ts';

const numberOrText = Type.Optional(Type.Unsafe<number | string>({ anyOf: [{ type: 'integer' }, { type: 'string' }] }));

export const cashReport = reportField('CashReport', {
  documentNumber: numberOrText,
  cashInDrawer: Type.Optional(Type.Number({ description: 'Lei in the drawer afterwards.' })),
});

export const fiscalReport = reportField('FiscalReport', {
  number: numberOrText,
  totals: Type.Optional(Type.Object({}, { additionalProperties: true })),
});

export const receiptReport = reportField('ReceiptReport', {
  receiptId: Type.Optional(Type.String({ description: 'Fiscal receipt id; Payd takes it.' })),
  fiscalNumber: Type.Optional(Type.String()),
  total: Type.Optional(Type.Number({ description: 'Lei.' })),
});

// The form of a command in every list of the cabinet: payments, fiscal operations, commands of a device, an invoice or a day.

import { Type } from 'typebox';
import { named } from '../http/schemas.ts';
import { isoTime } from '../kernel/moments.ts';
import { exampleIds, exampleTime, moment } from './shared-schemas.ts';
import { shownFields } from './shown-row.ts';
import type { ListedCommand } from './views/lists/commands-list.ts';
import { erpStates, receiptStates } from './views/lists/sale-columns.ts';
import { shownStates } from './views/shown-state.ts';

const listedCommandFields = {
  id: Type.String(),
  name: Type.String(),
  state: Type.Enum(['sent', 'unknown', 'done', 'refused', 'never', 'disputed']),
  shownState: Type.Enum([...shownStates]),
  at: moment,
  amount: Type.Optional(Type.Number()),
  refunded: Type.Optional(Type.Number()),
  documentNr: Type.Optional(Type.String()),
  operationId: Type.Optional(Type.String()),
  rrn: Type.Optional(Type.String()),
  receiptUid: Type.Optional(Type.String()),
  receiptNumber: Type.Optional(Type.String()),
  targetId: Type.Optional(Type.String()),
  deviceId: Type.String(),
  deviceName: Type.String(),
  shop: Type.Optional(Type.String()),
  bank: Type.Optional(Type.String()),
  merchantId: Type.String(),
  merchantName: Type.String(),
  durationMs: Type.Optional(Type.Integer()),
  receipt: Type.Optional(Type.Enum([...receiptStates], { description: 'Of a payment in a list: state of its receipt.' })),
  erp: Type.Optional(Type.Enum([...erpStates], { description: 'Of a payment in a list: whether the ERP has the outcome.' })),
  documentState: Type.Optional(Type.Enum(['open', 'closed', 'voided'])),
  settledBy: Type.Optional(Type.String()),
  review: Type.Optional(Type.Object({ since: moment, reason: Type.String() })),
};

export const listedCommand = named('CommandRow', Type.Object(listedCommandFields));

export const exampleListed = {
  id: 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55',
  name: 'Pay',
  state: 'done',
  shownState: 'paid',
  at: exampleTime,
  amount: 150.5,
  documentNr: exampleIds.invoice,
  operationId: '000147',
  rrn: '631614008813',
  deviceId: exampleIds.device,
  deviceName: 'Till 1',
  bank: 'maib',
  merchantId: exampleIds.merchant,
  merchantName: 'Corner shop',
  durationMs: 11_800,
  documentState: 'closed',
  settledBy: 'answer',
};

export function shownCommand(command: ListedCommand) {
  const { issuedAtMs, settledAtMs, refundedBani, receiptId, reviewSinceMs, reviewReason } = command;
  const row = {
    ...command,
    atMs: issuedAtMs,
    refundedBani: refundedBani > 0 ? refundedBani : undefined,
    receiptNumber: receiptId,
    durationMs: settledAtMs === null ? undefined : settledAtMs - issuedAtMs,
    review: reviewSinceMs === null ? undefined : { since: isoTime(reviewSinceMs), reason: reviewReason ?? '' },
  };
  return shownFields(row, listedCommandFields);
}

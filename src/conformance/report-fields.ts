// What the report of a `done` must hold, and in which form; the page's table, held to asyncapi/v1.json by a test.
import type { JsonObject } from '../link/protocol.ts';

type Form = 'text' | 'number' | 'numberOrText' | 'yesNo' | 'object';

export const reportFields: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  Pay: { rrn: 'text', authCode: 'text', operationId: 'text', amount: 'number' },
  CloseDoc: {},
  CloseDay: { count: 'number', amount: 'number' },
  Refund: { rrn: 'text', operationId: 'text', amount: 'number' },
  CancelTransaction: { operationId: 'text', amount: 'number' },
  MoneyIn: { documentNumber: 'numberOrText', cashInDrawer: 'number' },
  MoneyOut: { documentNumber: 'numberOrText', cashInDrawer: 'number' },
  Report: { number: 'numberOrText', totals: 'object' },
  PrintReceipt: { receiptId: 'numberOrText', fiscalNumber: 'numberOrText', total: 'number' },
  Status: { online: 'yesNo', battery: 'number', paper: 'text', signal: 'number' },
  LastTransaction: { state: 'text' },
};

const fits: Record<Form, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string' && value !== '',
  number: (value) => typeof value === 'number',
  numberOrText: (value) => typeof value === 'number' || (typeof value === 'string' && value !== ''),
  yesNo: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null,
};

/** The fields that are absent or of another form. */
export function missingFields(name: string, report: JsonObject | undefined): string[] {
  return Object.entries(reportFields[name] ?? {})
    .filter(([field, form]) => !fits[form](report?.[field]))
    .map(([field]) => field);
}

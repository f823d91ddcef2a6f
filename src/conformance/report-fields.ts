// Required fields of the report of a `done`, and their forms: the table of the protocol page. A test compares it with asyncapi/v1.json.
import { operations, type ReportForm } from '../kernel/operations.ts';
import type { JsonObject } from '../link/protocol.ts';

export const reportFields: Readonly<Record<string, Readonly<Record<string, ReportForm>>>> = {
  ...Object.fromEntries(Object.entries(operations).map(([name, { report }]) => [name, report])),
  Status: { online: 'yesNo', battery: 'number', paper: 'text', signal: 'number' },
  LastTransaction: { state: 'text' },
};

const fits: Record<ReportForm, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string' && value !== '',
  number: (value) => typeof value === 'number',
  numberOrText: (value) => typeof value === 'number' || (typeof value === 'string' && value !== ''),
  yesNo: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null,
};

/** The fields that are absent or malformed. */
export function missingFields(name: string, report: JsonObject | undefined): string[] {
  return Object.entries(reportFields[name] ?? {})
    .filter(([field, form]) => !fits[form](report?.[field]))
    .map(([field]) => field);
}

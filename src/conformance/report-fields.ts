// What the report of a `done` must hold, and in which form; the page's table, held to asyncapi/v1.json by a test.
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

/** The fields that are absent or of another form. */
export function missingFields(name: string, report: JsonObject | undefined): string[] {
  return Object.entries(reportFields[name] ?? {})
    .filter(([field, form]) => !fits[form](report?.[field]))
    .map(([field]) => field);
}

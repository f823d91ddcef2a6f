// The required fields of the report of a `done`, and their types, as asyncapi/v1.json has them.
import type { FieldSchema } from '../kernel/operation-fields.ts';
import { operations } from '../kernel/operations.ts';
import type { JsonObject } from '../link/protocol.ts';
import { lastTransactionReportSchema, statusReportSchema } from '../link/wire-schemas.ts';

const reports: Readonly<Record<string, object>> = {
  ...Object.fromEntries(Object.entries(operations).map(([name, { report }]) => [name, report])),
  ...{ Status: statusReportSchema, LastTransaction: lastTransactionReportSchema },
};

/** A text must not be empty. */
function fits({ type = 'string', anyOf }: FieldSchema, value: unknown): boolean {
  if (anyOf) return (anyOf as FieldSchema[]).some((schema) => fits(schema, value));
  if (type === 'object') return typeof value === 'object' && value !== null;
  return type === 'integer' ? typeof value === 'number' : typeof value === type && value !== '';
}

/** The fields that are absent or malformed. */
export function missingFields(name: string, report: JsonObject | undefined): string[] {
  const { required = [], properties } = (reports[name] ?? {}) as { required?: string[]; properties?: Record<string, FieldSchema> };
  return required.filter((field) => !fits(properties?.[field] ?? {}, report?.[field]));
}

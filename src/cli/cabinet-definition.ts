// The definition of a command that calls the cabinet, the parsing of its arguments, and the form of its output.
import { visibleLine } from '../kernel/visible-text.ts';
import { UsageError } from './usage-error.ts';

export type Body = Record<string, unknown>;
type Row = Record<string, unknown>;
export type Values = Record<string, string | undefined>;

export interface Call {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  query?: Values;
  body?: Body;
}

export interface Definition {
  name: string;
  help: string;
  /** The argument after the name, if any: 'KEY_ID'. */
  subject?: string;
  subjectIsOptional?: boolean;
  /** Option name to its meaning; required ones end with an exclamation mark. */
  options?: Record<string, string>;
  call(values: Values, subject: string): Call;
  show(body: Body): string;
  /** With --follow the call is repeated, and only new rows are shown. */
  follow?: { fresh(body: Body, before: Body): Body[]; line(row: Body): string };
}

export const merchantOption = { merchant: 'only rows of the merchant with this id' };
export const part = encodeURIComponent;

export const get = (path: string, query?: Values): Call => ({ method: 'GET', path, ...(query && { query }) });
export const post = (path: string, body?: Body): Call => ({ method: 'POST', path, ...(body && { body }) });

export function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${option} takes a whole number.`);
  return Number(text);
}

export function plain(value: unknown): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return visibleLine(value.join(',')) || '-';
  return visibleLine(typeof value === 'string' ? value : JSON.stringify(value));
}

export function fields(...names: string[]): (body: Body) => string {
  const width = Math.max(...names.map((name) => name.length));
  return (body) =>
    names
      .filter((name) => body[name] !== undefined)
      .map((name) => `${name.padEnd(width)}  ${plain(body[name])}`)
      .join('\n');
}

export function table(list: string, ...columns: string[]): (body: Body) => string {
  return (body) => {
    const rows = [columns, ...(body[list] as Row[]).map((row) => columns.map((column) => plain(row[column])))];
    const widths = columns.map((_column, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)));
    return rows
      .map((row) =>
        row
          .map((cell, place) => cell.padEnd(widths[place] ?? 0))
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
  };
}

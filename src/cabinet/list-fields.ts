// Common parts of the cabinet's lists: cursor, limit, merchant, period, and the form of a row.
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { adminAnswers, dateTimeField, named, textField, uuidField } from '../http/schemas.ts';
import { type ErrorName, invalidRequest } from '../kernel/error-codes.ts';
import { parseMoment } from '../kernel/moments.ts';
import { type Bani, parseAmount } from '../kernel/money.ts';
import { scopeOf } from './own-rows.ts';
import { mapOf } from './shared-schemas.ts';
import { csvType } from './views/lists/csv.ts';
import { type Place, readCursor } from './views/lists/cursor.ts';
import type { Scope } from './views/scope.ts';

export const merchantField = {
  merchantId: Type.Optional(uuidField('Only of this merchant; a user of one merchant always sees that one.')),
};

export const listFields = {
  ...merchantField,
  cursor: Type.Optional(textField('`next` of the previous page.', 200)),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'How many at most (50).' })),
};

export const spanFields = {
  from: Type.Optional(dateTimeField('From this moment on,')),
  to: Type.Optional(dateTimeField('and before this one.')),
};

export const nextField = { next: Type.Optional(Type.String({ description: 'Cursor of the next page; absent: this is the last page.' })) };

export const textShown = named(
  'Said',
  Type.Object({
    key: Type.String({ description: 'Key of a sentence in the catalogue.' }),
    params: mapOf<string | number>('string', 'number'),
  }),
);

/** `schema.response` of a route that answers CSV. */
export function csvAnswers(description: string, ...names: ErrorName[]) {
  const answers = adminAnswers({ description, example: {} }, ...names);
  return { ...answers, 200: { description, content: { 'text/csv': { schema: Type.String() } } } };
}

export function sendCsv(reply: FastifyReply, fileName: string, csv: Readable | string): FastifyReply {
  return reply.type(csvType).header('content-disposition', `attachment; filename="${fileName}"`).send(csv);
}

/** The only way to get a Scope: from the viewer. */
export function scopeOfView(request: FastifyRequest, asked?: string): Scope {
  return { merchantId: scopeOf(request, asked) };
}

export function pageOfQuery(query: { cursor?: string; limit?: number }): { limit: number; after: Place | undefined } {
  return { limit: query.limit ?? 50, after: query.cursor === undefined ? undefined : readCursor(query.cursor) };
}

export function spanOf(query: { from?: string; to?: string }): { fromMs: number | undefined; toMs: number | undefined } {
  return {
    fromMs: query.from === undefined ? undefined : parseMoment('from', query.from),
    toMs: query.to === undefined ? undefined : parseMoment('to', query.to),
  };
}

export function amountOf(field: string, value: string | undefined): Bani | undefined {
  if (value === undefined) return undefined;
  const bani = parseAmount(value);
  if (bani === undefined) throw invalidRequest(`${field} must be an amount such as 150.50.`);
  return bani;
}

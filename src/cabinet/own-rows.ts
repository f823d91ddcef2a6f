// A viewer never sees a row of another merchant: before a handler runs, the id in the path and the merchantId in query or body are checked.
// The row of another merchant is answered like a missing one. A row never changes its merchant, so the check before the handler leaves no
// race. Lists are restricted by `scopeOf`. Nor does a viewer of one merchant see the address of an operator, in whatever text it stands.
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { hideOperators } from '../access/audit.ts';
import type { Database, Queries } from '../database/database.ts';
import type { RouteApp } from '../http/server.ts';
import { optionalViewerOf, viewerOf } from '../http/viewer.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { type RowKind, ruleOf } from './roles.ts';

const places: Record<RowKind, { table: string; id: string; owner: string; absent: string }> = {
  merchant: { table: 'merchants', id: 'id', owner: 'id', absent: 'There is no merchant by that id.' },
  key: { table: 'api_keys', id: 'id', owner: 'merchant_id', absent: 'There is no key by that id.' },
  device: { table: 'devices', id: 'id', owner: 'merchant_id', absent: 'There is no device by that id.' },
  callback: { table: 'callbacks', id: 'id', owner: 'merchant_id', absent: 'There is no such callback.' },
  invoice: { table: 'invoices', id: 'oid', owner: 'merchant_id', absent: 'There is no invoice by that OID.' },
  command: { table: 'commands', id: 'id', owner: 'merchant_id', absent: 'There is no such command.' },
  user: { table: 'users', id: 'id', owner: 'merchant_id', absent: 'There is no user by that id.' },
};

async function isOwn(queries: Queries, kind: RowKind, id: string, merchantId: string): Promise<boolean> {
  const { table, id: idColumn, owner } = places[kind];
  const { rows } = await sql<{ owner: string | null }>`
    select ${sql.ref(owner)} as owner from ${sql.table(table)} where ${sql.ref(idColumn)} = ${id.toLowerCase()}`.execute(queries);
  return rows[0]?.owner === merchantId;
}

function merchantNamedIn(source: unknown): string | undefined {
  const named = source !== null && typeof source === 'object' ? (source as Record<string, unknown>)['merchantId'] : undefined;
  return typeof named === 'string' ? named.toLowerCase() : undefined;
}

/** Applies to every route of the Fastify scope; call it before they are added. */
export function guardRows(app: RouteApp, { database }: { database: Database }): void {
  app.addHook('preValidation', async (request) => {
    const merchantId = optionalViewerOf(request)?.merchantId;
    const { access } = request.routeOptions.config;
    if (merchantId === undefined || access?.kind !== 'cabinet') return;
    const absent = (sentence: string) => new GatewayError('Record_not_exist', sentence);
    for (const source of [request.query, request.body]) {
      if ((merchantNamedIn(source) ?? merchantId) !== merchantId) throw absent('There is no merchant by that merchantId.');
    }
    const kind = ruleOf(access.call)?.row;
    if (kind === undefined) return;
    const { id, oid } = request.params as { id?: string; oid?: string };
    if (!(await isOwn(database.queries, kind, id ?? oid ?? '', merchantId))) throw absent(places[kind].absent);
  });
  app.addHook('onSend', async (request, _reply, payload) =>
    typeof payload === 'string' && optionalViewerOf(request)?.merchantId !== undefined ? hideOperators(payload) : payload,
  );
}

/** The merchant whose rows a list shows: the viewer's own, or the requested one for a viewer of all merchants. */
export function scopeOf(request: FastifyRequest, asked?: string): string | undefined {
  return viewerOf(request).merchantId ?? asked?.toLowerCase();
}

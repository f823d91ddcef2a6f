// Callbacks in the cabinet's API: the list, one callback with all attempts, and resending, each resend in one transaction with its audit entry.

import { Type } from 'typebox';
import { writeAudit } from '../../access/audit.ts';
import { findCallback, type ListedCallback, listAttemptsOf, resendCallback, resendDeadCallbacks } from '../../callbacks/delivery-log.ts';
import { dateTimeField, readUuid, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import { isoTime, parseMoment } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { nextField, scopeOfView } from '../list-fields.ts';
import { defaultPage, exampleIds, exampleTime, listOf, moment, pageFields } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import { listCallbackPage } from '../views/lists/callbacks-list.ts';
import { readCursor, writeCursor } from '../views/lists/cursor.ts';
import { hideLogin } from '../views/sale/hidden-login.ts';

const stateField = Type.Enum(['pending', 'delivered', 'dead']);

const listQuery = Type.Object({
  ...pageFields,
  state: Type.Optional(stateField),
  merchantId: Type.Optional(uuidField('Only callbacks of this merchant.')),
  subjectId: Type.Optional(uuidField('Only callbacks about this invoice or operation.')),
  before: Type.Optional(uuidField('The last callback of the previous page.')),
  q: Type.Optional(textField('An id or its beginning, an OID, or a host.', 128)),
  cursor: Type.Optional(textField('`next` of the previous page.', 200)),
});

const rangeBody = Type.Object({
  merchantId: uuidField('Merchant of the callbacks.'),
  from: dateTimeField('Callbacks created from this time on,'),
  to: dateTimeField('and before this one.'),
});

const callbackFields = {
  id: Type.String({ description: 'The webhook-id of every attempt.' }),
  merchantId: Type.String(),
  subjectKind: Type.Enum(['invoice', 'operation']),
  subjectId: Type.String(),
  sequence: Type.Integer(),
  url: Type.String({ description: 'User and password in it are masked with stars.' }),
  state: stateField,
  attempts: Type.Integer({ description: 'Attempts of the current round.' }),
  createdAt: moment,
  nextAttemptAt: Type.Optional(moment),
  endedAt: Type.Optional(moment),
};

const attemptFields = {
  attempt: Type.Integer(),
  at: moment,
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.String()),
  durationMs: Type.Integer(),
  responseHead: Type.Optional(Type.String()),
};

/** Per page of the list: a callback has a few attempts, and more when it is resent. */
const maxAttempts = 5_000;
const lastFields = { status: Type.Optional(Type.Integer()), error: Type.Optional(Type.String()), durationMs: Type.Integer() };

const exampleCallback = {
  id: exampleIds.callback,
  merchantId: exampleIds.merchant,
  subjectKind: 'invoice',
  subjectId: exampleIds.invoice,
  sequence: 1,
  url: `https://erp.example.md/paid?oid=${exampleIds.invoice}&state=Scanned`,
  state: 'dead',
  attempts: 6,
  createdAt: exampleTime,
  endedAt: exampleTime,
};

const shown = (callback: ListedCallback) => ({ ...shownRow(callback), url: hideLogin(callback.url) });

export function registerCallbackRoutes(app: RouteApp, { database, callbacks }: CabinetDeps): void {
  addRoute(app, 'GET /callbacks', 'listCallbacks', {
    summary: 'List callbacks',
    querystring: listQuery,
    answer: {
      description: 'Callbacks, newest first.',
      fields: { callbacks: listOf({ ...callbackFields, last: Type.Optional(Type.Object(lastFields)) }), ...nextField },
      example: { callbacks: [exampleCallback] },
    },
    handle: async (request) => {
      const { limit = defaultPage, state, merchantId, subjectId, before, q, cursor } = request.query;
      const last = before === undefined ? undefined : await findCallback(database.pages, before.toLowerCase());
      const after = cursor === undefined ? last && { atMs: last.createdAtMs, id: last.id } : readCursor(cursor);
      const filter = { state, subjectId: subjectId?.toLowerCase(), q: q?.trim() || undefined };
      const page = await listCallbackPage(database.pages, scopeOfView(request, merchantId), filter, { limit, after });
      const attempts = await listAttemptsOf(
        database.pages,
        page.callbacks.map(({ id }) => id),
        maxAttempts,
      );
      const lastOf = new Map(
        attempts.map(({ callbackId, status, error, durationMs }) => [callbackId, shownRow({ status, error, durationMs })]),
      );
      return {
        callbacks: page.callbacks.map((callback) => ({ ...shown(callback), last: lastOf.get(callback.id) })),
        next: page.next && writeCursor(page.next),
      };
    },
  });

  addRoute(app, 'GET /callbacks/:id', 'readCallback', {
    summary: 'One callback with every attempt',
    answer: {
      description: 'The callback, and all attempts of all its rounds in order.',
      fields: { callback: Type.Object(callbackFields), attempts: listOf(attemptFields) },
      example: {
        callback: exampleCallback,
        attempts: [{ attempt: 1, at: exampleTime, status: 500, durationMs: 41, responseHead: 'out of order' }],
      },
    },
    errors: ['Record_not_exist'],
    handle: async ({ params }) => {
      const callback = await findCallback(database.pages, params.id);
      if (!callback) throw new GatewayError('Record_not_exist', 'There is no such callback.');
      const attempts = await callbacks.attempts(callback.id);
      return { callback: shown(callback), attempts: attempts.map(shownRow) };
    },
  });

  addRoute(app, 'POST /callbacks/:id/resend', 'resendCallback', {
    summary: 'Send one callback again',
    description: 'Starts a new round of attempts at once; a callback in flight is not changed.',
    answer: 'The callback is sent again.',
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { id } = request.params;
      await database.transaction(async (queries) => {
        await resendCallback(queries, id);
        const merchantId = (await findCallback(queries, id))?.merchantId;
        await writeAudit(queries, { actor: actorOf(request), action: 'callback.resend', subject: id, merchantId });
      });
      callbacks.wake();
    },
  });

  addRoute(app, 'POST /callbacks/resend', 'resendCallbacks', {
    summary: "Send a merchant's dead callbacks of a period again",
    body: rangeBody,
    answer: {
      description: 'The number of callbacks that are sent again.',
      fields: { count: Type.Integer() },
      example: { count: 12 },
    },
    handle: async (request) => {
      const merchantId = readUuid('merchantId', request.body.merchantId);
      const { from, to } = request.body;
      const range = { merchantId, fromMs: parseMoment('from', from), toMs: parseMoment('to', to) };
      if (range.fromMs >= range.toMs) throw invalidRequest('from must be before to.');
      const count = await database.transaction(async (queries) => {
        const sentAgain = await resendDeadCallbacks(queries, range);
        const detail = { from: isoTime(range.fromMs), to: isoTime(range.toMs), count: sentAgain };
        await writeAudit(queries, { actor: actorOf(request), action: 'callback.resend-range', subject: merchantId, merchantId, detail });
        return sentAgain;
      });
      callbacks.wake();
      return { count };
    },
  });
}

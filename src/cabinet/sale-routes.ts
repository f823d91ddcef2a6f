// Sales in the admin API: an invoice with its whole story, cancelling an unpaid one [D19], the orphan board [D22], a new secret for coming QRs.
import Type from 'typebox';
import { writeAudit } from '../access/audit.ts';
import type { Database, Queries } from '../database/database.ts';
import { adminAnswers, textField, uuidField } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { actorOf } from '../http/viewer.ts';
import { refusal, type State, stateNames, states } from '../invoices/rules.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { isoTime } from './moments.ts';
import { scopeOf } from './own-rows.ts';
import { configOf } from './roles.ts';
import { listOrphans, readInvoice, type StoredInvoice, tellStory } from './sale-timeline.ts';
import { apiPath, defaultPage, exampleIds, exampleTime, listOf, moment, pageFields, tags } from './shared-schemas.ts';
import { hideLogin } from './views/hidden-login.ts';

export interface SaleRoutesDeps {
  database: Database;
  callbacks: { wake(): void };
  /** Within the transaction; false if it can no longer be cancelled. */
  cancelUnpaidInvoice: (queries: Queries, oid: string, merchantId: string, reason: string) => Promise<boolean>;
  rotateQrSecret: (actor: string) => Promise<number>;
}

const oidParams = Type.Object({ oid: uuidField('OID of the invoice.') });
const cancelBody = Type.Union([Type.Object({ reason: Type.Optional(textField('Why, for the history.', 500)) }), Type.Null()]);
const orphanQuery = Type.Object({ ...pageFields, merchantId: Type.Optional(uuidField('Only of this merchant.')) });

const invoiceFields = {
  oid: Type.String(),
  merchantId: Type.String(),
  state: Type.Enum(Object.values(stateNames)),
  createdAt: moment,
  validTo: Type.Optional(moment),
  receiptId: Type.Optional(Type.String()),
  paidDeviceId: Type.Optional(Type.String()),
  preferredDeviceId: Type.Optional(Type.String()),
  pointOfSalesCode: Type.Optional(Type.String()),
  callbackUri: Type.Optional(Type.String()),
  receipt: Type.Object({}, { additionalProperties: true }),
  removedAt: Type.Optional(moment),
};

function shown({ createdAtMs, validToMs, removedAtMs, state, receipt, callbackUri, ...invoice }: StoredInvoice) {
  return {
    ...invoice,
    callbackUri: callbackUri === undefined ? undefined : hideLogin(callbackUri),
    state: stateNames[state],
    createdAt: isoTime(createdAtMs),
    validTo: isoTime(validToMs),
    removedAt: isoTime(removedAtMs),
    receipt: JSON.parse(receipt) as unknown,
  };
}

/** The state that keeps an invoice from being cancelled: one that is still open is overdue, and the sweep has not come by yet. */
function whyNot({ state }: StoredInvoice): State {
  return state === states.newItem || state === states.scanned ? states.expired : state;
}

const noSuchInvoice = () => new GatewayError('Record_not_exist', 'There is no invoice by that OID.');

export function registerSaleRoutes(app: RouteApp, { database, callbacks, cancelUnpaidInvoice, rotateQrSecret }: SaleRoutesDeps): void {
  app.get(
    `${apiPath}/invoices/:oid`,
    {
      config: configOf('readInvoiceStory'),
      schema: {
        tags,
        operationId: 'readInvoiceStory',
        summary: 'An invoice with its whole story',
        params: oidParams,
        response: adminAnswers(
          {
            description:
              'The invoice as it stands, and everything that happened to it, in order: states, card payments, callbacks and their attempts.',
            fields: {
              invoice: Type.Object(invoiceFields),
              timeline: listOf({
                at: moment,
                about: Type.Enum(['invoice', 'command', 'callback']),
                id: Type.String(),
                event: Type.String(),
                detail: Type.Object({}, { additionalProperties: true }),
              }),
            },
            example: {
              invoice: {
                oid: exampleIds.invoice,
                merchantId: exampleIds.merchant,
                state: 'Scanned',
                createdAt: exampleTime,
                receipt: { Number: '1024', Items: [{ Name: 'Bread', Quantity: 1, Price: 12.5 }] },
              },
              timeline: [{ at: exampleTime, about: 'invoice', id: exampleIds.invoice, event: 'Scanned', detail: {} }],
            },
          },
          'Record_not_exist',
        ),
      },
    },
    async ({ params }) => {
      const invoice = await readInvoice(database.queries, params.oid.toLowerCase());
      if (!invoice) throw noSuchInvoice();
      const lines = await tellStory(database.queries, invoice);
      return { invoice: shown(invoice), timeline: lines.map(({ atMs, ...line }) => ({ at: isoTime(atMs), ...line })) };
    },
  );

  app.post(
    `${apiPath}/invoices/:oid/cancel`,
    {
      config: configOf('cancelInvoice'),
      schema: {
        tags,
        operationId: 'cancelInvoice',
        summary: 'Cancel an unpaid invoice',
        description: 'Its QR is invalid at once, and the ERP is called back. A paid invoice stays paid.',
        params: oidParams,
        body: cancelBody,
        response: adminAnswers({ description: 'It is cancelled.', example: {} }, 'Record_not_exist', 'The_status_cannot_be_applied'),
      },
    },
    async (request) => {
      const oid = request.params.oid.toLowerCase();
      const actor = actorOf(request);
      const reason = request.body?.reason ?? 'cancelled in the cabinet';
      await database.transaction(async (queries) => {
        const before = await readInvoice(queries, oid);
        if (!before) throw noSuchInvoice();
        if (!(await cancelUnpaidInvoice(queries, oid, before.merchantId, `${reason} (${actor})`))) {
          throw refusal(whyNot((await readInvoice(queries, oid)) ?? before), 'cancel');
        }
        await writeAudit(queries, { actor, action: 'invoice.cancel', subject: oid, merchantId: before.merchantId, detail: { reason } });
      });
      callbacks.wake();
      return {};
    },
  );

  app.get(
    `${apiPath}/orphans`,
    {
      config: configOf('listOrphans'),
      schema: {
        tags,
        operationId: 'listOrphans',
        summary: 'Payments that no invoice could take',
        description: 'Money was taken, and the invoice could not be marked paid: too late, paid already, or by a foreign device.',
        querystring: orphanQuery,
        response: adminAnswers({
          description: 'Newest first.',
          fields: {
            orphans: listOf({
              id: Type.Integer(),
              merchantId: Type.String(),
              oid: Type.String(),
              receiptId: Type.String(),
              deviceId: Type.String(),
              reason: Type.String(),
              at: moment,
            }),
          },
          example: {
            orphans: [
              {
                id: 3,
                merchantId: exampleIds.merchant,
                oid: exampleIds.invoice,
                receiptId: 'R-1024',
                deviceId: exampleIds.device,
                reason: 'expired',
                at: exampleTime,
              },
            ],
          },
        }),
      },
    },
    async (request) => {
      const { query } = request;
      const orphans = await listOrphans(database.queries, query.limit ?? defaultPage, scopeOf(request, query.merchantId));
      return { orphans: orphans.map(({ atMs, ...orphan }) => ({ ...orphan, at: isoTime(atMs) })) };
    },
  );

  app.post(
    `${apiPath}/qr-secrets`,
    {
      config: configOf('rotateQrSecret'),
      schema: {
        tags,
        operationId: 'rotateQrSecret',
        summary: 'Make a new secret for coming QRs',
        description: 'It signs from a minute on. QRs that were given out before stay good.',
        response: adminAnswers({
          description: 'The secret is made; it is never shown.',
          fields: { id: Type.Integer({ description: 'Its number.' }) },
          example: { id: 2 },
        }),
      },
    },
    async (request) => ({ id: await rotateQrSecret(actorOf(request)) }),
  );
}

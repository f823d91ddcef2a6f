// Sales in the cabinet's API: cancelling an unpaid invoice [D19], the orphan board [D22], a new secret for coming QRs.

import { writeAudit } from '../../access/audit.ts';
import type { Database } from '../../database/database.ts';
import { adminAnswers, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import type { Invoices } from '../../invoices/invoices.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { Type } from '../../kernel/schema-type.ts';
import { scopeOf } from '../own-rows.ts';
import { configOf } from '../roles.ts';
import { apiPath, defaultPage, exampleIds, exampleTime, listOf, moment, pageFields, tags } from '../shared-schemas.ts';
import { listOrphans, readInvoice } from './stored-invoice.ts';

export interface SaleRoutesDeps {
  database: Database;
  callbacks: { wake(): void };
  /** Within the transaction. */
  cancelUnpaidInvoice: Invoices['cancelUnpaidInvoice'];
  rotateQrSecret: (actor: string) => Promise<number>;
}

const oidParams = Type.Object({ oid: uuidField('OID of the invoice.') });
const cancelBody = Type.Union([Type.Object({ reason: Type.Optional(textField('Why, for the history.', 500)) }), Type.Null()]);
const orphanQuery = Type.Object({ ...pageFields, merchantId: Type.Optional(uuidField('Only of this merchant.')) });

const noSuchInvoice = () => new GatewayError('Record_not_exist', 'There is no invoice by that OID.');

export function registerSaleRoutes(app: RouteApp, { database, callbacks, cancelUnpaidInvoice, rotateQrSecret }: SaleRoutesDeps): void {
  app.post(
    `${apiPath}/invoices/:oid/cancel`,
    {
      config: configOf('cancelInvoice'),
      schema: {
        tags,
        operationId: 'cancelInvoice',
        summary: 'Cancel an unpaid invoice',
        description:
          'Its QR is invalid at once, and the ERP is called back. A paid invoice stays paid, and one with a card payment that is open, disputed or made is not cancelled: stop or void the payment.',
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
        const { refusal } = await cancelUnpaidInvoice(queries, oid, before.merchantId, `${reason} (${actor})`);
        if (refusal) throw refusal;
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
        description:
          'Money was taken, and the invoice could not be marked paid: too late, paid already, or by a foreign device. Without those that their invoice took later.',
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

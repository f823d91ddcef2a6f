// Sales in the cabinet's API: cancelling an unpaid invoice [D19], the orphan board [D22], a new signing secret for QRs.

import { Type } from 'typebox';
import { textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOf } from '../own-rows.ts';
import { defaultPage, exampleIds, exampleTime, listOf, moment, pageFields } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import { listOrphans } from './orphans.ts';

const cancelBody = Type.Union([Type.Object({ reason: Type.Optional(textField('Why, for the history.', 500)) }), Type.Null()]);
const orphanQuery = Type.Object({ ...pageFields, merchantId: Type.Optional(uuidField('Only of this merchant.')) });

export function registerSaleRoutes(app: RouteApp, { database, callbacks, cancelInvoice, rotateQrSecret }: CabinetDeps): void {
  addRoute(app, 'POST /invoices/:oid/cancel', 'cancelInvoice', {
    summary: 'Cancel an unpaid invoice',
    description:
      'Its QR becomes invalid at once, and the ERP gets a callback. A paid invoice stays paid. An invoice with an open, disputed or completed card payment cannot be cancelled: stop or void the payment.',
    body: cancelBody,
    answer: 'The invoice is cancelled.',
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { oid } = request.params;
      const actor = actorOf(request);
      const reason = request.body?.reason ?? 'cancelled in the cabinet';
      const { queries } = database;
      const found = await queries.selectFrom('invoices').select('merchant_id').where('oid', '=', oid).executeTakeFirst();
      if (!found) throw new GatewayError('Record_not_exist', 'There is no invoice by that OID.');
      await cancelInvoice({ oid, merchantId: found.merchant_id, reason, actor });
      callbacks.wake();
    },
  });

  addRoute(app, 'GET /orphans', 'listOrphans', {
    summary: 'Payments that no invoice could accept',
    description:
      'Money was taken, but the invoice could not be marked paid: too late, already paid, by a foreign device, or with a genuine QR of an invoice that the merchant does not have. Without payments that their invoice accepted later, unless it was paid by card, too.',
    querystring: orphanQuery,
    answer: {
      description: 'Newest first.',
      fields: {
        orphans: listOf({
          kind: Type.Enum(['paydRefused', 'unmatched'], { description: 'With the id, as text, the item of Attention.' }),
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
            kind: 'paydRefused',
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
    },
    handle: async (request) => {
      const { query } = request;
      const orphans = await listOrphans(database.pages, query.limit ?? defaultPage, scopeOf(request, query.merchantId));
      return { orphans: orphans.map(shownRow) };
    },
  });

  addRoute(app, 'POST /qr-secrets', 'rotateQrSecret', {
    summary: 'Create a new signing secret for QRs',
    description: 'It signs new QRs after one minute. Earlier QRs stay valid.',
    answer: {
      description: 'The secret is created; it is never shown.',
      fields: { id: Type.Integer({ description: 'Its number.' }) },
      example: { id: 2 },
    },
    handle: async (request) => ({ id: await rotateQrSecret(actorOf(request)) }),
  });
}

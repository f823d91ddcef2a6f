// Invoices as a list, as CSV and one by one. The logic is in the views.

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { textField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { viewerOf } from '../../http/viewer.ts';
import { type State, stateNames } from '../../invoices/rules.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { formatLei } from '../../kernel/money.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { csvAnswers, listFields, nextField, pageOfQuery, scopeOfView, sendCsv, spanFields, spanOf } from '../list-fields.ts';
import { exampleIds, exampleTime, listOf, moment } from '../shared-schemas.ts';
import { listedCommand, shownCommand } from '../shown-command.ts';
import { shownRow } from '../shown-row.ts';
import { writeCursor } from '../views/lists/cursor.ts';
import type { CsvExports, CsvList } from '../views/lists/export.ts';
import { type InvoiceFilter, type ListedInvoice, listInvoices } from '../views/lists/invoices-list.ts';
import type { CoreView } from '../views/sale/core-view.ts';
import { hideLogin } from '../views/sale/hidden-login.ts';
import { type InvoicePage, readInvoicePage } from '../views/sale/invoice-page.ts';
import { resendSteps } from '../views/sale/next-steps.ts';
import { text } from '../views/texts.ts';
import { callbackFields, pageParts, shownCallback, shownSteps } from './sale-page-routes.ts';

const optional = Type.Optional;
const stateField = Type.Enum(Object.values(stateNames));

const listQuery = Type.Object({
  ...listFields,
  state: optional(stateField),
  q: optional(textField('An OID or its beginning, a receipt number, an amount.', 128)),
  ...spanFields,
});

const invoiceFields = {
  oid: Type.String(),
  merchantId: Type.String(),
  merchantName: Type.String(),
  state: stateField,
  amount: optional(Type.Number()),
  at: moment,
  validTo: optional(moment),
  scannedAt: optional(moment),
  endedAt: optional(moment),
  receiptId: optional(Type.String()),
  paidDeviceId: optional(Type.String()),
  paidDeviceName: optional(Type.String()),
  shop: optional(Type.String()),
};

const exampleInvoice = {
  oid: exampleIds.invoice,
  merchantId: exampleIds.merchant,
  merchantName: 'Corner shop',
  state: 'Payed',
  amount: 150.5,
  at: exampleTime,
  endedAt: exampleTime,
  receiptId: 'R-4127',
};

function shown({ state, createdAtMs, validToMs, ...invoice }: ListedInvoice) {
  return { ...shownRow({ ...invoice, atMs: createdAtMs }), state: stateNames[state as State], validTo: isoTime(validToMs) };
}

function filterOf(query: Static<typeof listQuery>): InvoiceFilter {
  const state = Object.entries(stateNames).find(([, name]) => name === query.state)?.[0];
  const q = query.q?.trim();
  return { state: state === undefined ? undefined : Number(state), q: q === '' ? undefined : q, ...spanOf(query) };
}

function shownPage(page: InvoicePage, qr: string | undefined) {
  const { invoice, payments, callbacks, timeline, whyNotCancelled: whyNot } = page;
  return {
    invoice: {
      ...shown(invoice),
      preferredDeviceId: page.preferredDeviceId,
      callbackUri: page.callbackUri === undefined ? undefined : hideLogin(page.callbackUri),
    },
    ...(qr === undefined ? {} : { qr, qrImage: `/qr/${qr}.svg` }),
    outcome: page.outcome,
    advice: page.advice,
    marks: page.marks,
    facts: {},
    receipt: shownRow(page.receipt),
    related: {
      payments: payments.map(shownCommand),
      orphans: page.orphans.map(shownRow),
      callbacks: callbacks.map(shownCallback),
    },
    timeline: shownSteps(timeline, invoice.createdAtMs),
    unclear: [],
    raw: { request: { Receipt: page.rawReceipt } },
    steps: [
      ...resendSteps(callbacks),
      {
        action: 'cancel',
        isAllowed: whyNot === undefined,
        whyNot,
        consequence: text('consequence.cancel'),
      },
    ],
  };
}

const rowsPerRead = 500;
const csvColumns: CsvList<ListedInvoice>['columns'] = {
  time: ({ createdAtMs }) => isoTime(createdAtMs),
  oid: ({ oid }) => oid,
  state: ({ state }) => stateNames[state as State],
  amount: ({ amountBani }) => (amountBani === null ? undefined : formatLei(amountBani)),
  receipt: ({ receiptId }) => receiptId,
  device: ({ paidDeviceName }) => paidDeviceName,
  shop: ({ shop }) => shop,
  ended: ({ endedAtMs }) => isoTime(endedAtMs),
  merchant: ({ merchantName }) => merchantName,
};

export function registerInvoiceViewRoutes(
  app: RouteApp,
  { database, clock, qrOf, csvExports, core }: CabinetDeps & { csvExports: CsvExports; core: CoreView },
): void {
  addRoute(app, 'GET /invoices', 'listInvoices', {
    summary: 'Invoices',
    description: 'Newest first. If few rows match, a page may be shorter than its limit and still have a next one.',
    querystring: listQuery,
    answer: {
      description: 'One page.',
      fields: { invoices: listOf(invoiceFields), ...nextField },
      example: { invoices: [exampleInvoice] },
    },
    handle: async (request) => {
      const { query } = request;
      const scope = scopeOfView(request, query.merchantId);
      const { invoices, next } = await listInvoices(database.pages, scope, filterOf(query), pageOfQuery(query));
      return { invoices: invoices.map(shown), next: next && writeCursor(next) };
    },
  });

  addRoute(app, 'GET /invoices.csv', 'exportInvoices', {
    summary: 'Invoices as CSV',
    querystring: listQuery,
    response: csvAnswers('The list.'),
    handle: async (request, reply) => {
      const scope = scopeOfView(request, request.query.merchantId);
      const filter = filterOf(request.query);
      const stream = csvExports.start(viewerOf(request), {
        columns: csvColumns,
        readPage: async (after) => {
          const { invoices, next } = await listInvoices(database.pages, scope, filter, { limit: rowsPerRead, after });
          return { rows: invoices, next };
        },
      });
      return sendCsv(reply, 'invoices.csv', stream);
    },
  });

  addRoute(app, 'GET /invoices/:oid', 'readInvoice', {
    summary: 'An invoice with its timeline',
    description:
      'Like the page of a sale. `qrImage` is the path of the QR picture, relative to the base path. The QR can be scanned, so it is absent for the role viewer.',
    answer: {
      description: 'The page.',
      fields: {
        invoice: Type.Object({
          ...invoiceFields,
          preferredDeviceId: optional(Type.String()),
          callbackUri: optional(Type.String()),
        }),
        qr: optional(Type.String()),
        qrImage: optional(Type.String()),
        ...pageParts,
        related: Type.Object({
          payments: Type.Array(listedCommand),
          orphans: listOf({ receiptId: Type.String(), deviceId: Type.String(), reason: Type.String(), at: moment }),
          callbacks: listOf(callbackFields),
        }),
      },
      example: {
        invoice: exampleInvoice,
        qr: 'AeehwNQrOE9sjZ4fKjtMXUQ',
        qrImage: '/qr/AeehwNQrOE9sjZ4fKjtMXUQ.svg',
        outcome: { key: 'outcome.invoice.Payed', params: { amount: 150.5 } },
        related: { payments: [], orphans: [], callbacks: [] },
      },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const page = await readInvoicePage(database.pages, scopeOfView(request), request.params.oid, clock.now(), core);
      if (!page) throw new GatewayError('Record_not_exist', 'There is no invoice by that OID.');
      const maySell = viewerOf(request).role !== 'viewer';
      return shownPage(page, maySell ? await qrOf(page.invoice.oid, page.qrSecretId) : undefined);
    },
  });
}

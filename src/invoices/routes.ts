// The four endpoints of QR Mode: the specification's spellings, schemas and examples; no logic.
// Get and Payd change the invoice by GET, as the specification requires, so HEAD is not answered and nothing may be cached.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { callerOf, deviceCallerOf, keyFor, optionalCallerOf, optionalKey } from '../http/authentication.ts';
import { invoiceCallbacks } from '../http/callback-schemas.ts';
import { exampleApiKey, exampleErp, exampleTerminal } from '../http/examples.ts';
import { idempotencyOf } from '../http/idempotency-key.ts';
import { receiptSchema } from '../http/receipt-schemas.ts';
import { answers, dateTimeField, idempotencyHeaders, keyField, named, optionalField, textField, uuidField } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import type { Invoices } from './invoices.ts';
import type { Asker } from './move.ts';
import { registerPictureRoutes } from './picture-routes.ts';
import { qrPng } from './qr-picture.ts';
import { noSuchInvoice } from './rules.ts';

export interface InvoiceRoutesDeps {
  invoices: Pick<Invoices, 'create' | 'status' | 'scan' | 'pay' | 'checkQr'>;
  /** Which of Status, Get and Payd need a key or a device credential [D10]. */
  invoiceAuth: 'open' | 'payd' | 'all';
}

const tag = { tags: ['QR Mode'] };
const exampleOid = '0f626737-14ee-4681-b349-4dab6b434305';
const exampleQr = 'AQ9iZzcU7kaBs0lNq2tDQwWex87g9SwhwyqTJddp1P5X';
const exampleReceipt = { Number: 'A-1001', Uid: 'erp-2026-1001', Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }] };

// Checked by the rules of the kernel, whose messages name the field.
const receiptField = Type.Unsafe<unknown>({ type: 'object', 'x-document': receiptSchema });

// A QR of any length or alphabet passes here: an invalid one is errorCode 21, not 40.
const qrQuery = { APIKey: keyField, QR: Type.String({ description: 'The text of the QR.', examples: [exampleQr] }) };
const statusField = named(
  'InvoiceStatus',
  Type.Unsafe<number>({
    type: 'integer',
    enum: [0, 1, 2, 3, 4],
    'x-enum-varnames': ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'],
    description: '0 NewItem, 1 Scanned, 2 Payed, 3 Expired, 4 Cancelled.',
  }),
);

export function registerInvoiceRoutes(app: RouteApp, deps: InvoiceRoutesDeps): void {
  const { invoices, invoiceAuth } = deps;

  app.post(
    '/Invoice/Create',
    {
      config: { access: keyFor('QR') },
      schema: {
        ...tag,
        operationId: 'createInvoice',
        summary: 'Store a receipt, get its OID and QR',
        description: 'The QR is valid until ValidTo or until the invoice is paid. The ERP gets a callback at each later change of state.',
        ...invoiceCallbacks,
        headers: idempotencyHeaders,
        body: named(
          'InvoiceRequest',
          Type.Object(
            {
              APIKey: keyField,
              DeviceID: optionalField(uuidField('Preferred terminal.')),
              CallbackURI: optionalField(textField('URL with the placeholders #OID#, #State#, #ReceiptID#, #DeviceID#.', 2048)),
              ValidTo: optionalField(
                dateTimeField(
                  'Absent: unlimited. Without an offset it is in the time zone of the gateway (TILLGATE_TIME_ZONE, Europe/Chisinau).',
                ),
              ),
              PointOfSalesCode: optionalField(textField('Point of sale.', 64)),
              Receipt: receiptField,
            },
            {
              examples: [
                {
                  APIKey: exampleApiKey,
                  CallbackURI: `${exampleErp}/notified?invoice=#OID#&state=#State#&receipt=#ReceiptID#&device=#DeviceID#`,
                  ValidTo: '2030-12-31T23:59:59Z',
                  PointOfSalesCode: 'SHOP-1',
                  Receipt: exampleReceipt,
                },
              ],
            },
          ),
        ),
        response: answers(
          {
            name: 'CreatedInvoice',
            description: 'The invoice is stored.',
            fields: {
              QR: Type.String({ description: 'Base64, 44 letters and digits; identifies the invoice in later calls.' }),
              OID: Type.String({ format: 'uuid', description: 'Id of the invoice, also in callbacks.' }),
              QRImage: Type.String({ description: 'The picture of the QR: PNG in Base64.' }),
              ValidTo: Type.Unsafe<string | null>({
                type: 'string',
                format: 'date-time',
                nullable: true,
                description:
                  'ValidTo as it was given; one without offset, or in a shorter notation, as the gateway read it, with the offset of TILLGATE_TIME_ZONE. Null: unlimited.',
              }),
            },
            example: { QR: exampleQr, OID: exampleOid, QRImage: 'iVBORw0KGgo...', ValidTo: '2030-12-31T23:59:59Z' },
          },
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { body } = request;
      const { oid, qr, validTo } = await invoices.create({
        merchantId: callerOf(request).merchantId,
        receipt: body.Receipt,
        callbackUri: body.CallbackURI,
        validTo: body.ValidTo,
        pointOfSalesCode: body.PointOfSalesCode,
        deviceId: body.DeviceID,
        idempotency: idempotencyOf(request),
      });
      return { QR: qr, OID: oid, QRImage: qrPng(qr).toString('base64'), ValidTo: validTo };
    },
  );

  app.get(
    '/Invoice/Status',
    {
      config: { access: optionalKey('QR', invoiceAuth === 'all') },
      schema: {
        ...tag,
        operationId: 'invoiceStatus',
        summary: 'The state of an invoice, without scanning it',
        description: 'An invoice whose ValidTo has passed becomes Expired with this call, if it is not Expired yet.',
        querystring: Type.Object(qrQuery),
        response: answers(
          {
            name: 'InvoiceState',
            description: 'The state.',
            fields: { Status: statusField, ReceiptID: Type.String({ description: 'Fiscal receipt id; empty before payment.' }) },
            example: { Status: 2, ReceiptID: 'F-000123' },
          },
          'Record_not_exist',
          'Invalid_QR',
        ),
      },
    },
    async (request) => {
      const { state, receiptId } = await invoices.status(scannedQr(request.query.QR), askerOf(request));
      return { Status: state, ReceiptID: receiptId };
    },
  );

  app.get(
    '/Invoice/Get',
    {
      config: { access: optionalKey('QR', invoiceAuth === 'all') },
      schema: {
        ...tag,
        operationId: 'getInvoice',
        summary: 'The receipt, at scan time',
        description: 'Called by the register or terminal. A new invoice becomes Scanned; a repeat gets the same answer.',
        querystring: Type.Object(qrQuery),
        response: answers(
          {
            name: 'Invoice',
            description: 'The receipt as stored.',
            fields: {
              OID: Type.String({ format: 'uuid' }),
              Status: statusField,
              Receipt: receiptField,
              ValidTo: Type.Unsafe<string | null>({
                type: 'string',
                format: 'date-time',
                nullable: true,
                description: 'In UTC. Null: unlimited.',
              }),
              PointOfSalesCode: Type.Unsafe<string | null>({ type: 'string', nullable: true }),
              DeviceID: Type.Optional(
                Type.Unsafe<string | null>({
                  type: 'string',
                  nullable: true,
                  description: 'Preferred terminal; omitted for callers without a key or a device credential.',
                }),
              ),
            },
            example: {
              OID: exampleOid,
              Status: 1,
              Receipt: exampleReceipt,
              ValidTo: '2030-12-31T23:59:59.000Z',
              PointOfSalesCode: 'SHOP-1',
              DeviceID: exampleTerminal,
            },
          },
          'Record_not_exist',
          'Invalid_QR',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const asker = askerOf(request);
      const invoice = await invoices.scan(scannedQr(request.query.QR), asker);
      return {
        OID: invoice.oid,
        Status: invoice.state,
        Receipt: JSON.parse(invoice.receipt) as unknown,
        ValidTo: invoice.validToMs === null ? null : new Date(invoice.validToMs).toISOString(),
        PointOfSalesCode: invoice.pointOfSalesCode,
        ...(asker.merchantId === undefined ? {} : { DeviceID: invoice.preferredDeviceId }),
      };
    },
  );

  app.get(
    '/Invoice/Payd',
    {
      config: { access: optionalKey('QR', invoiceAuth !== 'open') },
      schema: {
        ...tag,
        operationId: 'payInvoice',
        summary: 'Mark an invoice paid',
        description:
          'Called by the register or terminal after the bank has approved the payment. A repeat with the same ReceiptID and DeviceID is answered 0. With the credential of a device, DeviceID must be that device. A payment that cannot be applied is refused and listed for the merchant, because money was taken.',
        querystring: Type.Object({
          ...qrQuery,
          ReceiptID: Type.String({
            minLength: 1,
            maxLength: 128,
            description: 'Fiscal receipt id from the register.',
            examples: ['F-000123'],
          }),
          DeviceID: Type.String({
            minLength: 1,
            maxLength: 64,
            description: 'The device that took the payment.',
            examples: [exampleTerminal],
          }),
        }),
        response: answers(
          { name: 'Success', description: 'The invoice is Payed.', example: {} },
          'Record_not_exist',
          'Invalid_QR',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { QR, ReceiptID, DeviceID } = request.query;
      await invoices.pay(scannedQr(QR), { receiptId: ReceiptID, deviceId: DeviceID }, askerOf(request));
      return {};
    },
  );

  registerPictureRoutes(app, invoices);
}

/** Scanners add a line break or a blank. */
function scannedQr(text: string): string {
  return text.trim();
}

/** The caller: limits the search to its merchant, and is named in the invoice's history. */
function askerOf(request: FastifyRequest): Asker {
  const caller = optionalCallerOf(request);
  const device = deviceCallerOf(request);
  if (caller && device && caller.merchantId !== device.merchantId) throw noSuchInvoice();
  const hasKey = caller !== undefined;
  if (device) return { merchantId: device.merchantId, name: `device ${device.deviceId}`, deviceId: device.deviceId, hasKey };
  if (caller) return { merchantId: caller.merchantId, name: `key ${caller.keyId}`, hasKey };
  return { merchantId: undefined, name: 'caller without a key' };
}

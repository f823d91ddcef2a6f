import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeApi } from '../../src/http/openapi.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { registerInvoiceRoutes } from '../../src/invoices/routes.ts';
import type { Caller } from '../../src/kernel/callers.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { createTestServer } from '../support/test-server.ts';
import { callbackRows, eventRows, openShop, orphanRows, receipt, type Shop, template, toldUrl } from './shop.ts';

const decode = ((jsQR as unknown as { default?: unknown }).default ?? jsQR) as (
  data: Uint8ClampedArray,
  width: number,
  height: number,
) => { data: string } | null;

const qrKey = '11111111-1111-4111-8111-111111111111';
const posKey = '22222222-2222-4222-8222-222222222222';
const foreignKey = '33333333-3333-4333-8333-333333333333';
const base = '/tillgate';

interface Answer {
  errorCode: number;
  errorMessage: string;
  [field: string]: unknown;
}

describe.each(engines)('QR Mode over HTTP on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;
  const servers: HttpServer[] = [];

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    shop = await openShop(database);
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop(100)));
    await database.close();
  });

  function serve(invoiceAuth: 'open' | 'payd' | 'all' = 'open') {
    const callers: Record<string, Caller> = {
      [qrKey]: { merchantId: shop.merchantId, keyId: 'k1', modules: new Set(['QR']) },
      [posKey]: { merchantId: shop.merchantId, keyId: 'k2', modules: new Set(['POS']) },
      [foreignKey]: { merchantId: shop.otherMerchantId, keyId: 'k3', modules: new Set(['QR']) },
    };
    const devices: Record<string, string> = { [shop.deviceId]: shop.merchantId, [shop.foreignDeviceId]: shop.otherMerchantId };
    const server = createTestServer({
      basePath: base,
      findCaller: async (key) => callers[key],
      findDevice: async (deviceId, secret) => {
        const merchantId = devices[deviceId];
        return merchantId !== undefined && secret === 'secret' ? { deviceId, merchantId } : undefined;
      },
      isAdminToken: (token) => token === 'admin',
    });
    server.routes((app) => registerInvoiceRoutes(app, { invoices: shop.invoices, invoiceAuth }));
    servers.push(server);

    const create = async (more: object = {}, headers: Record<string, string> = {}) => {
      const payload = { APIKey: qrKey, CallbackURI: template, Receipt: receipt, ...more };
      const response = await server.app.inject({ method: 'POST', url: `${base}/Invoice/Create`, payload, headers });
      return { status: response.statusCode, body: response.json<Answer>() };
    };
    const get = async (name: string, query: Record<string, string>, headers: Record<string, string> = {}) => {
      const response = await server.app.inject({ method: 'GET', url: `${base}/Invoice/${name}`, query, headers });
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.statusCode).toBe(response.json<Answer>().errorCode === 40 ? 400 : 200);
      return response.json<Answer>();
    };
    return { server, create, get };
  }

  const basic = (deviceId: string, secret = 'secret') => ({
    authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}`,
  });

  it('takes an invoice from Create to Payed with the specification’s spellings', async () => {
    const { create, get } = serve();
    const made = await create({ ValidTo: '2090-01-01T00:00:00Z', PointOfSalesCode: 'POS 1', DeviceID: shop.secondDeviceId });
    expect(made.status).toBe(200);
    const { QR, OID, QRImage } = made.body as unknown as { QR: string; OID: string; QRImage: string };
    expect(Object.keys(made.body)).toEqual(['errorCode', 'errorMessage', 'QR', 'OID', 'QRImage', 'ValidTo']);
    expect(made.body).toMatchObject({ errorCode: 0, errorMessage: '' });
    const png = PNG.sync.read(Buffer.from(QRImage, 'base64'));
    expect(decode(new Uint8ClampedArray(png.data), png.width, png.height)?.data).toBe(QR);

    expect(await get('Status', { QR })).toEqual({ errorCode: 0, errorMessage: '', Status: 0, ReceiptID: '' });
    // Scanners add a line break.
    expect(await get('Status', { QR: ` ${QR}\r\n` })).toMatchObject({ errorCode: 0, Status: 0 });
    expect(await get('Get', { QR, APIKey: qrKey })).toEqual({
      errorCode: 0,
      errorMessage: '',
      OID,
      Status: 1,
      Receipt: receipt,
      ValidTo: '2090-01-01T00:00:00.000Z',
      PointOfSalesCode: 'POS 1',
      DeviceID: shop.secondDeviceId,
    });
    expect(await get('Payd', { QR, ReceiptID: 'F&1', DeviceID: shop.deviceId })).toEqual({ errorCode: 0, errorMessage: '' });
    expect(await get('Status', { QR })).toEqual({ errorCode: 0, errorMessage: '', Status: 2, ReceiptID: 'F&1' });
    expect((await callbackRows(database, OID)).map(({ url }) => url)).toEqual([
      toldUrl(OID, 'Scanned'),
      toldUrl(OID, 'Payed', 'F&1', shop.deviceId),
    ]);
  });

  it('returns the receipt with its fields in their order', async () => {
    const { server, create } = serve();
    const { body } = await create({ Receipt: { Z: 1, Items: receipt.Items, A: 2 } });
    const response = await server.app.inject({ url: `${base}/invoice/GET`, query: { QR: String(body['QR']) } });
    expect(response.body).toContain(JSON.stringify({ Z: 1, Items: receipt.Items, A: 2 }));
    expect(response.json()).toMatchObject({ ValidTo: null, PointOfSalesCode: null });
  });

  it('Create returns ValidTo as it was given, and reads one without offset in the time zone of the gateway [D150]', async () => {
    const { create } = serve();
    const validTo = async (text: string | null, headers = {}) => (await create({ ValidTo: text }, headers)).body['ValidTo'];
    expect(await validTo('2090-07-01T18:00:00')).toBe('2090-07-01T18:00:00+03:00');
    const given = ['2090-01-01T00:00:00Z', '2090-01-01T00:00:00.000Z', '2090-07-01T18:00:00+03:00', '2090-07-01T18:00:00.0000000-05:30'];
    for (const text of given) {
      for (let time = 0; time < 2; time += 1) expect(await validTo(text, { 'idempotency-key': text })).toBe(text);
      expect(await validTo(text)).toBe(text);
    }
    expect(await validTo('2090-01-01 00:00Z')).toBe('2090-01-01T02:00:00+02:00');
    expect(await validTo(null)).toBeNull();
    for (let time = 0; time < 2; time += 1)
      expect(await validTo('2090-07-01 18:00', { 'idempotency-key': 'zone' })).toBe('2090-07-01T18:00:00+03:00');
  });

  it('names the errors 20, 21, 22 and 40', async () => {
    const { create, get } = serve();
    const QR = String((await create()).body['QR']);
    await get('Get', { QR });
    const payd = (more: object) => get('Payd', { QR, ReceiptID: 'F-1', DeviceID: shop.deviceId, ...more });
    expect(await payd({ DeviceID: shop.foreignDeviceId })).toMatchObject({ errorCode: 20 });
    expect(await payd({ QR: `${QR}A` })).toMatchObject({ errorCode: 21 });
    expect(await payd({ QR: '' })).toMatchObject({ errorCode: 21 });
    expect(await payd({ ReceiptID: '' })).toMatchObject({ errorCode: 40 });
    expect(await payd({ ReceiptID: 'x'.repeat(129) })).toMatchObject({ errorCode: 40 });
    expect(await payd({ ReceiptID: 'a\u0000' })).toMatchObject({ errorCode: 40 });
    expect(await payd({})).toMatchObject({ errorCode: 0 });
    expect(await payd({ ReceiptID: 'F-2' })).toMatchObject({ errorCode: 22 });
    expect(await get('Get', { QR })).toMatchObject({ errorCode: 22 });
    for (const name of ['Status', 'Get', 'Payd']) {
      expect((await get(name, {})).errorMessage).toMatch(/^Invalid_Request: QR /);
    }
  });

  it.each([
    [{ Receipt: undefined }, 'Receipt'],
    [{ Receipt: { Items: [] } }, 'Receipt.Items'],
    [{ Receipt: { Items: [{ Name: 'x', Quantity: 1, Price: 'free' }] } }, 'Receipt.Items[0].Price'],
    [{ Receipt: { Items: [{ Name: 'x', Quantity: 0, Price: 1 }] } }, 'Receipt.Items[0].Quantity'],
    [{ Receipt: { ...receipt, Payments: [{ PaymentCode: 'card' }] } }, 'Receipt.Payments[0].PaymentCode'],
    [{ ValidTo: '2020-01-01T00:00:00Z' }, 'ValidTo'],
    [{ ValidTo: 'soon' }, 'ValidTo'],
    [{ ValidTo: 5 }, 'ValidTo'],
    [{ CallbackURI: 'erp.example/x' }, 'CallbackURI'],
    [{ DeviceID: 'x' }, 'DeviceID'],
    [{ PointOfSalesCode: 7 }, 'PointOfSalesCode'],
  ])('answers Create with %j with 40 and the field', async (more, field) => {
    const { status, body } = await serve().create(more);
    expect([status, body.errorCode]).toEqual([400, 40]);
    expect(body.errorMessage).toContain(`Invalid_Request: ${field} `);
  });

  it('accepts null for missing values', async () => {
    const more = { DeviceID: null, CallbackURI: null, ValidTo: null, PointOfSalesCode: null };
    expect((await serve().create({ ...more, Receipt: { ...receipt, Number: null, Payments: null } })).body.errorCode).toBe(0);
  });

  it('judges the key first: 10 and 11 before 40', async () => {
    const { create } = serve();
    expect((await create({ APIKey: undefined, Receipt: undefined })).body.errorCode).toBe(10);
    expect((await create({ APIKey: posKey, Receipt: undefined })).body.errorCode).toBe(11);
  });

  it('takes an Idempotency-Key: the same answer for the same body, 22 for another', async () => {
    const { create } = serve();
    const key = { 'idempotency-key': 'order-1' };
    const first = await create({}, key);
    expect(await create({}, key)).toEqual(first);
    expect((await create({ PointOfSalesCode: 'other' }, key)).body.errorCode).toBe(22);
    expect((await create({}, { 'idempotency-key': 'a b' })).body.errorCode).toBe(40);
    expect(await database.queries.selectFrom('invoices').select('oid').execute()).toHaveLength(1);
  });

  it('never changes anything for HEAD, POST or OPTIONS', async () => {
    const { server, create } = serve();
    const { QR, OID } = (await create()).body as unknown as { QR: string; OID: string };
    for (const method of ['HEAD', 'POST', 'OPTIONS', 'PUT'] as const) {
      for (const name of ['Get', 'Payd']) {
        const query = { QR, ReceiptID: 'F-1', DeviceID: shop.deviceId };
        const response = await server.app.inject({ method, url: `${base}/Invoice/${name}`, query });
        expect(response.statusCode).toBe(405);
      }
    }
    expect([await eventRows(database, OID), await callbackRows(database, OID), await orphanRows(database, OID)]).toEqual([[], [], []]);
  });

  it('Payd accepts every ReceiptID that the API document allows, because the money has been taken', async () => {
    const { create, get } = serve();
    const { QR, OID } = (await create()).body as unknown as { QR: string; OID: string };
    const ReceiptID = '😀'.repeat(128);
    await get('Get', { QR });
    expect(await get('Payd', { QR, ReceiptID: `${ReceiptID}!`, DeviceID: shop.deviceId })).toMatchObject({ errorCode: 40 });
    expect(await get('Payd', { QR, ReceiptID, DeviceID: shop.deviceId })).toMatchObject({ errorCode: 0 });
    expect((await callbackRows(database, OID)).at(-1)?.url).toBe(toldUrl(OID, 'Payed', ReceiptID, shop.deviceId));
  });

  describe('access', () => {
    const payd = { ReceiptID: 'F-1' };

    it('a key of another merchant sees nothing, a wrong one is 10, one without QR is 11', async () => {
      const { create, get } = serve();
      const { QR, OID } = (await create()).body as unknown as { QR: string; OID: string };
      for (const name of ['Status', 'Get', 'Payd']) {
        const query = { QR, ...payd, DeviceID: shop.foreignDeviceId };
        expect(await get(name, { ...query, APIKey: foreignKey })).toMatchObject({ errorCode: 20 });
        expect(await get(name, query, basic(shop.foreignDeviceId))).toMatchObject({ errorCode: 20 });
        expect(await get(name, query, { 'x-api-key': foreignKey })).toMatchObject({ errorCode: 20 });
        expect(await get(name, { ...query, APIKey: qrKey }, basic(shop.foreignDeviceId))).toMatchObject({ errorCode: 20 });
        expect(await get(name, { ...query, APIKey: foreignKey }, basic(shop.deviceId))).toMatchObject({ errorCode: 20 });
        expect(await get(name, { ...query, APIKey: posKey })).toMatchObject({ errorCode: 11 });
        expect(await get(name, { ...query, APIKey: 'nonsense' })).toMatchObject({ errorCode: 10 });
        expect(await get(name, query, basic(shop.deviceId, 'wrong'))).toMatchObject({ errorCode: 10 });
      }
      expect([await eventRows(database, OID), await orphanRows(database, OID)]).toEqual([[], []]);
    });

    it('Get returns the preferred terminal only to a key or a device', async () => {
      const { create, get } = serve();
      const QR = String((await create({ DeviceID: shop.deviceId })).body['QR']);
      expect(await get('Get', { QR })).not.toHaveProperty('DeviceID');
      expect(await get('Get', { QR, APIKey: qrKey })).toHaveProperty('DeviceID', shop.deviceId);
      expect(await get('Get', { QR }, basic(shop.deviceId))).toHaveProperty('DeviceID', shop.deviceId);
    });

    it.each([
      ['open', { Status: 0, Get: 0, Payd: 0 }],
      ['payd', { Status: 0, Get: 0, Payd: 10 }],
      ['all', { Status: 10, Get: 10, Payd: 10 }],
    ] as const)('mode %s decides which calls need no key', async (mode, withoutKey) => {
      const { create, get } = serve(mode);
      const { QR, OID } = (await create()).body as unknown as { QR: string; OID: string };
      await get('Get', { QR, APIKey: qrKey });
      const named = { ...payd, DeviceID: shop.deviceId };
      expect(await get('Status', { QR })).toMatchObject({ errorCode: withoutKey.Status });
      expect(await get('Get', { QR })).toMatchObject({ errorCode: withoutKey.Get });
      expect(await get('Payd', { QR, ...named })).toMatchObject({ errorCode: withoutKey.Payd });
      expect(await get('Payd', { QR, ...named }, basic(shop.deviceId))).toMatchObject({ errorCode: 0 });
      expect(await get('Payd', { QR, ...named, APIKey: qrKey })).toMatchObject({ errorCode: 0 });
      const by = (await eventRows(database, OID)).map(({ detail }) => detail['by']);
      expect(by).toEqual(['key k1', mode === 'open' ? 'caller without a key' : `device ${shop.deviceId}`]);
    });

    it('the credential of a device pays for that device only; a payment under another name is listed', async () => {
      const { create, get } = serve('all');
      const { QR, OID } = (await create()).body as unknown as { QR: string; OID: string };
      await get('Get', { QR }, basic(shop.deviceId));
      const forAnother = { QR, ...payd, DeviceID: shop.secondDeviceId };
      for (let times = 0; times < 2; times += 1) {
        expect(await get('Payd', forAnother, basic(shop.deviceId))).toMatchObject({
          errorCode: 40,
          errorMessage: expect.stringContaining('DeviceID must be the device of the credential'),
        });
      }
      expect(await get('Status', { QR, APIKey: qrKey })).toMatchObject({ Status: 1 });
      expect(await orphanRows(database, OID)).toMatchObject([{ device_id: shop.secondDeviceId, reason: 'other-device' }]);
      // The ERP's key may name each device of the merchant, also beside a credential.
      expect(await get('Payd', { ...forAnother, APIKey: qrKey }, basic(shop.deviceId))).toMatchObject({ errorCode: 0 });
    });
  });

  it('serves the picture as PNG and SVG, only for QRs of its own', async () => {
    const { server, create } = serve('all');
    const QR = String((await create()).body['QR']);
    const png = await server.app.inject({ url: `${base}/qr/${QR}.png` });
    expect([png.statusCode, png.headers['content-type']]).toEqual([200, 'image/png']);
    const { data, width, height } = PNG.sync.read(png.rawPayload);
    expect(decode(new Uint8ClampedArray(data), width, height)?.data).toBe(QR);
    const svg = await server.app.inject({ url: `${base}/qr/${QR}.svg` });
    expect(svg.headers['content-type']).toContain('image/svg+xml');
    expect(svg.body).toMatch(/^<svg .*<\/svg>$/);
    expect((await server.app.inject({ url: `${base}/qr/${QR}x.png` })).json()).toMatchObject({ errorCode: 21 });
    expect((await server.app.inject({ url: `${base}/qr/${QR.toLowerCase()}.png` })).json()).toMatchObject({ errorCode: 21 });
    // Only the caller's own cache keeps it: whoever has the text may ask for the receipt.
    for (const { headers } of [png, svg]) expect(headers['cache-control']).toBe('private, max-age=31536000, immutable');
    for (const file of [`${QR}.gif`, `${QR}.png.html`, `x%0A${QR}.png`]) {
      const other = await server.app.inject({ url: `${base}/qr/${file}` });
      expect([other.statusCode, other.json<Answer>().errorCode]).toEqual([404, 40]);
    }
  });

  it('describes each call with an example for each error', async () => {
    const { server } = serve();
    type Response = { $ref?: string; content?: Record<string, { examples?: object }> };
    type Document = {
      components: { responses: Record<string, Response> };
      paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
    };
    const { components, paths } = (await describeApi(server)) as Document;
    const examples = (path: string, method: string) => {
      const all = Object.values(paths[path]?.[method]?.responses ?? {}).flatMap(({ $ref, content }) => {
        const { content: shared } = components.responses[$ref?.split('/').at(-1) ?? ''] ?? {};
        return Object.keys((content ?? shared)?.['application/json']?.examples ?? {});
      });
      return all;
    };
    expect(examples('/Invoice/Create', 'post')).toEqual(
      expect.arrayContaining(['Success', 'Invalid_API_Key', 'API_Key_Wrong_Product', 'The_status_cannot_be_applied', 'Invalid_Request']),
    );
    expect(examples('/Invoice/Status', 'get')).toEqual(expect.arrayContaining(['Success', 'Record_not_exist', 'Invalid_QR']));
    for (const name of ['Get', 'Payd']) {
      expect(examples(`/Invoice/${name}`, 'get')).toEqual(
        expect.arrayContaining(['Success', 'Record_not_exist', 'Invalid_QR', 'The_status_cannot_be_applied']),
      );
    }
    expect(examples('/qr/{file}', 'get')).toContain('Invalid_QR');
  });
});

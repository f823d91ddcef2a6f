// Traces of a whole gateway with its devices, as a collector gets them: everything that a call caused is under the caller's trace, and
// nothing that is secret is in it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../../src/cli/sandbox.ts';
import { readConfig } from '../../../src/config.ts';
import { systemClock, systemRandom } from '../../../src/kernel/system.ts';
import { readTraceparent } from '../../../src/wiring/traces/traceparent.ts';
import { emptyPlace, engines } from '../../support/engines.ts';
import { patienceMs, temporaryDirectory } from '../../support/gateway-process.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createTill, reportOf, type Till } from '../../support/till.ts';
import { until } from '../../support/until.ts';
import { type ReceivedSpan, type Receiver, startReceiver } from './receiver.ts';

const slowTest = { timeout: 2 * patienceMs };
const traceId = (digit: string) => digit.repeat(32);
const callersSpan = 'c'.repeat(16);
const traceOf = (digit: string, flags = '01') => ({ traceparent: `00-${traceId(digit)}-${callersSpan}-${flags}` });

/** Stands for the ERP, and keeps which trace it was called under. */
async function startErp() {
  const traces: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    traces.push(request.headers['traceparent'] as string | undefined);
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { traces, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe.each(engines)('traces on %s', (engine) => {
  let receiver: Receiver;
  let erp: Awaited<ReturnType<typeof startErp>>;
  let place: Awaited<ReturnType<typeof emptyPlace>>;
  let sandbox: Awaited<ReturnType<typeof startSandbox>>;
  let till: Till;

  beforeAll(async () => {
    [receiver, erp, place] = await Promise.all([startReceiver(), startErp(), emptyPlace(engine)]);
    const settings = {
      TILLGATE_DATA_DIR: place.options.dataDir ?? temporaryDirectory(),
      ...(place.options.url === undefined ? {} : { TILLGATE_DATABASE_URL: place.options.url }),
      TILLGATE_PORT: '0',
      TILLGATE_MQTT_PORT: '0',
      TILLGATE_TRACES_URL: receiver.url,
      TILLGATE_TRACES_TOKEN: 'token-of-the-collector',
    };
    const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
    sandbox = await startSandbox(readConfig('sandbox', settings), world);
    till = createTill(sandbox.file);
  }, 3 * patienceMs);
  afterAll(async () => {
    await sandbox?.stop();
    await receiver?.stop();
    erp?.close();
    await place?.remove();
  });

  const spansOf = (digit: string) => receiver.spans.filter((span) => span.traceId === traceId(digit));
  /** Each span's parent is in the trace, or is the caller's own. */
  function expectOneTree(spans: ReceivedSpan[]): void {
    const known = new Set([callersSpan, ...spans.map(({ spanId }) => spanId)]);
    expect(spans.filter(({ parentSpanId = '' }) => !known.has(parentSpanId))).toEqual([]);
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);
  }

  it('has request, statements, device and channel of a Pay under the trace of its caller', slowTest, async () => {
    const DeviceID = sandbox.file.devices[0]?.id ?? '';
    const documentNr = crypto.randomUUID();
    const paid = await till.post('/Device/payment/Pay?APIKey=in-the-query', { DeviceID, amount: 12.5, documentNr }, traceOf('a'));
    expect(reportOf(paid)).toMatchObject({ amount: 12.5 });
    await until(() => spansOf('a').some(({ kind }) => kind === 2));
    const spans = spansOf('a');
    const request = spans.find(({ kind }) => kind === 2);
    expect(request).toMatchObject({
      name: 'POST /tillgate/Device/payment/Pay',
      parentSpanId: callersSpan,
      attributes: {
        'http.route': '/tillgate/Device/payment/Pay',
        'http.response.status_code': 200,
        'tillgate.error_code': 0,
        'tillgate.merchant_id': sandbox.file.merchantId,
        'tillgate.device_id': DeviceID,
        'tillgate.document_nr': documentNr,
        'tillgate.oid': paid['OID'],
      },
    });
    const device = spans.find(({ name }) => name === 'device Pay');
    expect(device).toMatchObject({ kind: 3, parentSpanId: request?.spanId, attributes: { 'tillgate.outcome': 'done' } });
    expect(device?.events).toEqual(expect.arrayContaining(['sent', 'accepted', 'answered']));
    expect(spans.find(({ name }) => name === 'send mqtt')).toMatchObject({ kind: 4, parentSpanId: device?.spanId });
    const statements = spans.filter(({ attributes }) => 'db.query.text' in attributes);
    expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(['insert commands']));
    expect(statements[0]?.attributes['db.system.name']).toBe(engine === 'sqlite' ? 'sqlite' : 'postgresql');
    expectOneTree(spans);
    expect(receiver.authorizations[0]).toBe('Bearer token-of-the-collector');
  });

  it('has a callback under the trace of the call that caused it, and hands that to the ERP', slowTest, async () => {
    const { QR, OID } = await till.post(
      '/Invoice/Create',
      { CallbackURI: `${erp.url}/paid?oid=#OID#&key=secret-of-the-erp`, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] } },
      traceOf('1'),
    );
    expect(await till.get('/Invoice/Get', { QR: String(QR) }, traceOf('b'))).toMatchObject({ OID });
    await until(() => spansOf('b').some(({ name }) => name === 'callback'));
    const spans = spansOf('b');
    const callback = spans.find(({ name }) => name === 'callback');
    expect(callback).toMatchObject({ kind: 3, attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 } });
    expect(readTraceparent(erp.traces[0])).toEqual({ traceId: traceId('b'), spanId: callback?.spanId, isSampled: true });
    await until(() => spansOf('b').some(({ kind }) => kind === 2));
    expectOneTree(spansOf('b'));
  });

  it('begins a trace where the caller has none, and leaves out one that its caller does not record', slowTest, async () => {
    const before = receiver.spans.length;
    await till.get('/Invoice/Status', { QR: 'nothing' }, traceOf('d', '00'));
    await till.get('/Invoice/Status', { QR: 'nothing' }, { traceparent: 'what is this' });
    const later = () => receiver.spans.slice(before).filter(({ kind }) => kind === 2);
    await until(() => later().length > 0);
    expect(later()).toMatchObject([{ name: 'GET /tillgate/Invoice/Status', traceId: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
    expect(later()[0]).not.toHaveProperty('parentSpanId');
    expect(spansOf('d')).toEqual([]);
  });

  it('contain no key, secret, query, amount or text of any person', async () => {
    const told = receiver.bodies.join('\n');
    const { apiKey, adminToken, callbackSecret, devices } = sandbox.file;
    for (const secret of [apiKey, adminToken, callbackSecret, ...devices.map((device) => device.secret)])
      expect(told).not.toContain(secret);
    expect(told).not.toMatch(/in-the-query|secret-of-the-erp|APIKey=|Tea|what is this|token-of-the-collector/);
  });

  it('have no span that no call caused', () => {
    expect(receiver.spans.filter(({ name, parentSpanId }) => parentSpanId === undefined && !/^(GET|POST) |^callback$/.test(name))).toEqual(
      [],
    );
  });
});

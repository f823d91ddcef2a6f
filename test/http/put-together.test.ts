// Integration of the HTTP server: each part is attached and works on real sockets and through the app.
import { get as httpsGet } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/http/metrics.ts';
import type { HttpServerOptions } from '../../src/http/server.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { openRaw, parseAnswers, sendRaw } from './raw-socket.ts';
import { base, createSample, deviceId, deviceSecret, type Sample } from './sample-server.ts';
import { renewed, selfSigned } from './self-signed.ts';

let sample: Sample;
afterEach(() => sample.server.stop(0));

function create(overrides: Partial<HttpServerOptions> = {}): RecordingLogger {
  const logger = recordingLogger();
  sample = createSample({ logger, ...overrides });
  return logger;
}
const inject = (url: string, more: object = {}) => sample.server.app.inject({ url: `${base}${url}`, ...more });
const post = (url: string, payload: string, headers: Record<string, string> = {}) =>
  inject(url, { method: 'POST', payload, headers: { 'content-type': 'application/json', ...headers } });

describe('a server', () => {
  it('logs and counts an unreadable request', async () => {
    const metrics = createMetrics();
    const logger = create({ metrics });
    const { port } = await sample.server.listen();
    expect(parseAnswers(await sendRaw(port, 'garbage\r\n\r\n'))[0]?.status).toBe(400);
    expect(logger.lines).toContainEqual({ level: 'info', message: 'unreadable request', fields: { httpStatus: 400, errorCode: 40 } });
    expect(await metrics.text()).toContain('count{method="",route="unreadable",error_code="40"} 1');
  });

  it('logs why the login of a WebSocket could not be checked', async () => {
    const odd = new TypeError('odd');
    const logger = create({ findDevice: () => Promise.reject(odd) });
    sample.server.onUpgrade('/queue', () => expect.unreachable());
    const { port } = await sample.server.listen();
    const login = Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64');
    const headers = [
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const [answer] = parseAnswers(
      await sendRaw(port, [`GET ${base}/queue HTTP/1.1`, ...headers, `Authorization: Basic ${login}`, '', ''].join('\r\n')),
    );
    expect(answer?.status).toBe(503);
    expect(logger.lines).toContainEqual(expect.objectContaining({ level: 'error', fields: { err: odd } }));
  });

  it('closes the oldest unauthenticated connection of an address for the next one', async () => {
    create({ limits: { unauthenticatedPerAddress: 1 } });
    const { port } = await sample.server.listen();
    const first = await openRaw(port);
    const second = await openRaw(port);
    await first.untilClosed();
    second.socket.write(`GET ${base}/health/live HTTP/1.1\r\nConnection: close\r\n\r\n`);
    // A request without the header Host is served.
    expect(parseAnswers(await second.untilClosed())[0]?.status).toBe(200);
  });

  it('answers an unsupported Expect in the envelope', async () => {
    create();
    const { port } = await sample.server.listen();
    const ask = `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    expect(parseAnswers(await sendRaw(port, ask))[0]).toMatchObject({ status: 417, body: expect.stringContaining('"errorCode":40') });
  });

  it('has the configured host in its URL, and listens on the watched server', async () => {
    create({ host: 'localhost' });
    const { url, port } = await sample.server.listen();
    expect(url).toBe(`http://localhost:${port}${base}`);
    expect(sample.server.app.server.address()).toMatchObject({ address: '127.0.0.1', port });
  });

  it('uses a renewed certificate for new connections', async () => {
    create({ tls: selfSigned });
    const { url } = await sample.server.listen();
    sample.server.renewCertificate(renewed);
    const status = await new Promise((resolve, reject) => {
      const asked = httpsGet(`${url}/health/live`, { ca: renewed.cert, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject);
    });
    expect(status).toBe(200);
  });

  it('with a short drain keeps connections alive in its second half', async () => {
    const clock = createVirtualClock();
    create({ clock });
    await sample.server.listen();
    const connectionOf = async () => (await inject('/health/live')).headers['connection'];
    const drained = sample.server.drain(1_000);
    await clock.advance(400);
    expect(await connectionOf()).toBe('close');
    await clock.advance(200);
    expect(await connectionOf()).not.toBe('close');
    await clock.advance(2_000);
    await drained;
  });
});

describe('a route', () => {
  it('accepts a body only as JSON, in UTF-8 and of the announced length', async () => {
    create();
    expect((await post('/test/echo', '{"a":1}')).json()).toMatchObject({ errorCode: 0, body: { a: 1 } });
    expect((await post('/test/echo', '{}', { 'content-type': 'text/plain' })).statusCode).toBe(415);
    expect((await post('/test/echo', '{}', { 'content-type': 'application/json; charset=latin1' })).statusCode).toBe(415);
    expect((await post('/test/echo', '{}', { 'content-length': '5' })).json()).toMatchObject({
      errorCode: 40,
      errorMessage: expect.stringContaining('Content-Length'),
    });
    const { port } = await sample.server.listen();
    const chunked = `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":2}\r\n0\r\n\r\n`;
    expect(parseAnswers(await sendRaw(port, chunked))[0]).toMatchObject({ status: 200, body: expect.stringContaining('"a":2') });
  });

  it('without declared access prevents the start of the server', async () => {
    create();
    sample.server.routes((app) => {
      app.get('/forgotten', async () => ({}));
    });
    await expect(sample.server.app.ready()).rejects.toThrow('/forgotten declares no access');
    create();
  });

  it('makes its path known for 405, and a fallback route does not', async () => {
    create();
    const wrongMethod = await inject('/health/live', { method: 'POST' });
    expect([wrongMethod.statusCode, wrongMethod.headers['allow']]).toEqual([405, 'GET']);
    expect((await inject('/cabinet/anything', { method: 'POST' })).statusCode).toBe(404);
    const entrance = await inject('/', { headers: { accept: 'text/html' } });
    expect([entrance.statusCode, entrance.headers['location']]).toEqual([302, `${base}/cabinet`]);
  });

  it('for readiness that throws answers errorCode 1', async () => {
    create({ readiness: () => Promise.reject(new TypeError('odd')) });
    const answer = await inject('/health/ready');
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { errorCode: 1, errorMessage: expect.stringContaining('its log has the details') },
    ]);
  });
});

describe('the API reference', () => {
  it('serves its pages, assets and documents, and is not part of the documents', async () => {
    create();
    const paths = {
      ...{ '/docs': 'text/html', '/docs/cabinet': 'text/html', '/docs/start.js': 'text/javascript', '/docs/page.css': 'text/css' },
      ...{ '/docs/swagger-ui.css': 'text/css', '/docs/swagger-ui-bundle.js': 'text/javascript', '/docs/favicon-32x32.png': 'image/png' },
      ...{ '/docs/openapi.json': 'application/json', '/docs/cabinet.json': 'application/json', '/openapi.json': 'application/json' },
    };
    for (const [path, type] of Object.entries(paths)) {
      const answer = await inject(path);
      expect([path, answer.statusCode, String(answer.headers['content-type']).split(';')[0]]).toEqual([path, 200, type]);
      expect(answer.rawPayload.length).toBeGreaterThan(100);
      if (path !== '/openapi.json') expect(answer.headers['content-security-policy']).toContain("script-src 'self'");
    }
    const { paths: described } = (await inject('/openapi.json')).json<{ paths: Record<string, unknown> }>();
    expect(Object.keys(described).filter((path) => /docs|openapi|cabinet$/.test(path))).toEqual([]);
  });
});

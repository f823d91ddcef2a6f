// HTTP on real sockets: every failure has the envelope [D7], no client can block the server,
// and a slow answer is not cut off.

import { request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRaw, parseAnswers, sendRaw } from './raw-socket.ts';
import { base, createSample, deviceId, posKey, type Sample } from './sample-server.ts';

let sample: Sample;
let port: number;

const shortLimits = { headersTimeoutMs: 300, requestTimeoutMs: 600, keepAliveTimeoutMs: 300, checkIntervalMs: 50, stalledAnswerMs: 300 };

beforeEach(async () => {
  sample = createSample({ limits: shortLimits });
  port = (await sample.server.listen()).port;
});
afterEach(async () => {
  sample.release();
  await sample.server.stop(0);
});

function expectEnvelope(text: string, status: number): void {
  const [answer, ...others] = parseAnswers(text);
  expect(others).toEqual([]);
  expect(answer?.status).toBe(status);
  expect(answer?.headers['content-type']).toMatch(/^application\/json/);
  expect(answer?.headers['cache-control']).toBe('no-store');
  const body = JSON.parse(answer?.body ?? '');
  expect(body.errorCode).toBe(40);
  expect(body.errorMessage).toMatch(/^Invalid_Request: .+\.$/);
}

const post = (path: string, body: string, headers = '') =>
  `POST ${base}${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;

describe('malformed HTTP', () => {
  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a TLS greeting', Buffer.from('16030100a5010000a10303', 'hex'), 400],
    ['an unknown method', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a header without colon', `GET ${base}/health/live HTTP/1.1\r\nnonsense\r\n\r\n`, 400],
    ['two lengths', `POST ${base}/test/echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['length and chunks', `POST ${base}/test/echo HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    [
      'a bad chunk',
      `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
    ['huge headers', `GET ${base}/health/live HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['an odd Expect', `GET ${base}/health/live HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n`, 417],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['a bad escape in the path', 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['OPTIONS of the server', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    ['an unknown path, absolute form', 'GET http://other/nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
  ])('%s', async (_name, bytes, status) => {
    expectEnvelope(await sendRaw(port, bytes), status);
  });

  it('answers any garbage with an envelope, or closes an incomplete request in time', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((list) => Buffer.from(list)),
      fc.string({ maxLength: 200 }).map((text) => Buffer.from(`GET ${base}/${text} HTTP/1.1\r\n\r\n`)),
      fc
        .tuple(fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'TRACE', 'PROPFIND'), fc.webPath(), fc.string({ maxLength: 50 }))
        .map(([method, path, header]) => Buffer.from(`${method} ${base}${path} HTTP/1.1\r\nConnection: close\r\n${header}\r\n\r\n`)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (sent) => {
        const connection = await openRaw(port);
        connection.socket.end(sent);
        const text = await connection.untilClosed();
        // A half-closed connection with an incomplete request may close without an answer.
        if (text === '') return;
        // The answer to HEAD has a length and no body.
        if (sent.toString('latin1').startsWith('HEAD')) return;
        for (const answer of parseAnswers(text)) expect(typeof JSON.parse(answer.body).errorCode).toBe('number');
      }),
      { numRuns: 300 },
    );
    expect((await fetch(`http://127.0.0.1:${port}${base}/health/live`)).status).toBe(200);
  });

  it('accepts an ordinary POST that also offers h2c', async () => {
    const text = await sendRaw(
      port,
      post('/test/echo', '{"a":1}', 'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n'),
    );
    expect(JSON.parse(parseAnswers(text)[0]?.body ?? '')).toEqual({ errorCode: 0, errorMessage: '', body: { a: 1 } });
  });

  it('answers 413 to a large body, also for a client that reads only after writing all of it', async () => {
    // On a busy machine eight megabytes may take longer than the short limits of the other tests.
    const patient = createSample();
    const connection = await openRaw((await patient.server.listen()).port);
    connection.socket.pause();
    connection.socket.write(
      `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n`,
    );
    await new Promise((resolve) => connection.socket.write('"'.padEnd(8_000_000, 'a'), resolve));
    connection.socket.resume();
    expectEnvelope(await connection.until((text) => text.includes('}')), 413);
    connection.socket.destroy();
    await patient.server.stop(0);
  });

  it('answers 413 to a chunked body that grows too large, and closes it when it does not end', async () => {
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
    const head = `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expectEnvelope(await sendRaw(port, head + chunk.repeat(20)), 413);
  });
});

describe('slow clients', () => {
  it.each([
    ['nothing at all', ''],
    ['half a header', `GET ${base}/health/live HTTP/1.1\r\nHos`],
    ['half a body', `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a"`],
  ])('that send %s get 408', async (_name, bytes) => {
    expectEnvelope(await sendRaw(port, bytes), 408);
  });

  it('that drip headers get 408 as well', async () => {
    const connection = await openRaw(port);
    connection.socket.write(`GET ${base}/health/live HTTP/1.1\r\n`);
    const drip = setInterval(() => connection.socket.write('X-A: b\r\n'), 30);
    const text = await connection.untilClosed();
    clearInterval(drip);
    expectEnvelope(text, 408);
  });

  it('in their hundreds do not delay the answer of a normal one', async () => {
    const slow = await Promise.all(Array.from({ length: 300 }, () => openRaw(port)));
    for (const { socket } of slow) socket.write('GET / HTTP/1.1\r\nX');
    expect((await fetch(`http://127.0.0.1:${port}${base}/health/live`)).status).toBe(200);
    const texts = await Promise.all(slow.map((connection) => connection.untilClosed()));
    expect(texts.every((text) => text.startsWith('HTTP/1.1 408'))).toBe(true);
  });

  it('that are idle after an answer are closed', async () => {
    const text = await sendRaw(port, post('/test/nothing', '{}'));
    expect(parseAnswers(text)).toHaveLength(1);
  });

  it('that do not read their answer are closed', async () => {
    const connection = await openRaw(port);
    connection.socket.pause();
    // Twenty copies of this script exceed the socket buffers of both ends.
    connection.socket.write(`GET ${base}/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20));
    await expect
      .poll(() => new Promise((resolve) => sample.server.app.server.getConnections((_error, count) => resolve(count))), { timeout: 5000 })
      .toBe(0);
    connection.socket.destroy();
  });
});

describe('slow answers', () => {
  it('outlast every time-out of the request', async () => {
    const answered = new Promise<string>((resolve, reject) => {
      const client = httpRequest(
        `http://127.0.0.1:${port}${base}/test/slow`,
        { method: 'POST', headers: { 'content-type': 'application/json' } },
        (response) => {
          let text = '';
          response.on('data', (part) => {
            text += part;
          });
          response.on('end', () => resolve(text));
        },
      );
      client.on('error', reject);
      client.end('{}');
    });
    await expect.poll(() => sample.runs['slow']).toBe(1);
    setTimeout(() => sample.release(), shortLimits.requestTimeoutMs * 3);
    expect(JSON.parse(await answered)).toEqual({ errorCode: 0, errorMessage: '', done: true });
  });

  it('are not affected by the time-out for stalled readers after another answer on the same connection', async () => {
    const connection = await openRaw(port);
    connection.socket.write(post('/test/nothing', '{}') + post('/test/slow', '{}', 'Connection: close\r\n'));
    await connection.until((text) => text.includes('}'));
    setTimeout(() => sample.release(), shortLimits.stalledAnswerMs * 3);
    expect(parseAnswers(await connection.untilClosed())).toHaveLength(2);
  });

  it('are not preceded by an error about garbage that follows on the same connection', async () => {
    const connection = await openRaw(port);
    connection.socket.write(post('/test/slow', '{}'));
    await expect.poll(() => sample.runs['slow']).toBe(1);
    connection.socket.write('garbage\r\n\r\n');
    setTimeout(() => sample.release(), 100);
    const answers = parseAnswers(await connection.untilClosed());
    expect(answers.map(({ body }) => JSON.parse(body))).toEqual([{ errorCode: 0, errorMessage: '', done: true }]);
  });
});

describe('HEAD', () => {
  it('runs no handler', async () => {
    const text = await sendRaw(
      port,
      `HEAD ${base}/Device/sample/Status?APIKey=${posKey}&DeviceID=${deviceId} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 405 /);
    expect(text).toMatch(/allow: GET/i);
    expect(sample.runs['Status']).toBeUndefined();
  });
});

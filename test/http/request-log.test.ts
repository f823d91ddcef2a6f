// One log line per request, without secrets [D9].
import { afterEach, expect, it } from 'vitest';
import { createLogger } from '../../src/cli/logger.ts';
import { openRaw, sendRaw } from './raw-socket.ts';
import { adminToken, base, createSample, deviceId, deviceSecret, posKey, type Sample } from './sample-server.ts';

let sample: Sample;
afterEach(() => sample.server.stop(0));

async function start() {
  const lines: string[] = [];
  sample = createSample({ logger: createLogger('debug', { write: (line) => lines.push(line) }) });
  const { port, url } = await sample.server.listen();
  return { lines, port, url, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('logs id, route pattern, merchant, errorCode, status and duration', async () => {
  const { parsed, url } = await start();
  const response = await fetch(`${url}/device/sample/status?APIKey=${posKey}&DeviceID=a`);
  await expect.poll(() => parsed().length).toBe(1);
  expect(parsed()[0]).toMatchObject({
    msg: 'request',
    requestId: response.headers.get('x-request-id'),
    method: 'GET',
    route: `${base}/Device/sample/Status`,
    merchantId: 'merchant-pos',
    httpStatus: 200,
    errorCode: 0,
  });
  expect(parsed()[0]?.['durationMs']).toBeGreaterThan(0);
});

it('logs device, document and operation if they are UUIDs, and nothing else from the request', async () => {
  const { lines, parsed, url } = await start();
  const [documentNr, oid] = ['3B241101-E2BB-4255-8CAF-4136C566A962', 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55'];
  await fetch(`${url}/device/sample/status?APIKey=${posKey}&DeviceID=${deviceId}&documentNr=${documentNr}&OID=${oid}`);
  await fetch(`${url}/device/sample/status?APIKey=${posKey}&DeviceID=4111111111111111&documentNr=canary&OID=${posKey}`);
  await fetch(`${url}/device/sample/status?APIKey=${posKey}&DeviceID=a&DeviceID=b`);
  await expect.poll(() => lines.length).toBe(3);
  expect(parsed()[0]).toMatchObject({ deviceId, documentNr: documentNr.toLowerCase(), oid });
  for (const line of parsed().slice(1)) for (const name of ['deviceId', 'documentNr', 'oid']) expect(line).not.toHaveProperty(name);
});

it('logs a picture as a success', async () => {
  const { parsed, url } = await start();
  await fetch(`${url}/pictures/abc.png`);
  await expect.poll(() => parsed().map(({ errorCode }) => errorCode)).toEqual([0]);
});

it('logs exactly one line for every kind of failure', async () => {
  const { lines, parsed, port, url } = await start();
  const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
  await fetch(`${url}/nowhere?APIKey=${posKey}`);
  await fetch(`${url}/test/echo`, { ...json, body: '{' });
  await fetch(`${url}/test/echo`, { ...json, headers: { 'content-type': 'text/plain' }, body: 'x' });
  await fetch(`${url}/health/live`, { method: 'DELETE' });
  await fetch(`http://127.0.0.1:${port}/%zz`);
  await sendRaw(port, 'garbage\r\n\r\n');
  await expect.poll(() => lines.length).toBe(6);
  expect(parsed().map(({ httpStatus, errorCode }) => [httpStatus, errorCode])).toEqual([
    [404, 40],
    [400, 40],
    [415, 40],
    [405, 40],
    [400, 40],
    [400, 40],
  ]);
});

it('logs a request whose client disconnected only after its handler has returned', async () => {
  const { lines, parsed, port } = await start();
  const connection = await openRaw(port);
  connection.socket.write(`POST ${base}/test/slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`);
  await expect.poll(() => sample.runs['slow']).toBe(1);
  connection.socket.destroy();
  await expect.poll(() => new Promise((resolve) => sample.server.app.server.getConnections((_error, count) => resolve(count)))).toBe(0);
  expect(lines).toEqual([]);
  sample.release();
  await expect.poll(() => lines.length).toBe(1);
  expect(parsed()[0]).toMatchObject({ route: `${base}/test/slow`, clientLeft: true });
});

it('never holds a key, a secret or a query string, also when a handler crashes with one in its message', async () => {
  const { lines, port, url } = await start();
  const canary = 'canary-in-the-query';
  const basic = `Basic ${Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64')}`;
  const json = { 'content-type': 'application/json' };
  const upper = 'ABCDEFAB-1111-4111-8111-ABCDEFABCDEF';
  const bodies = [{ APIKey: posKey }, { APIKey: posKey, DeviceID: canary }, { APIKey: upper, note: canary }];
  for (const path of ['/Device/sample/Pay', '/test/keyed-crash', '/cabinet/api/things', '/nowhere']) {
    for (const body of bodies) await fetch(`${url}${path}?x=${canary}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    await fetch(`${url}${path}?x=${canary}`, { method: 'POST', headers: { ...json, 'x-api-key': posKey }, body: '{}' });
    await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${adminToken}` },
      body: `{"name":"${canary}`,
    });
    await fetch(`${url}${path}?APIKey=${posKey}&DeviceID=${canary}`);
  }
  await fetch(`${url}/Invoice/sample?QR=${canary}`, { headers: { authorization: basic } });
  await fetch(`${url}/Pictures/${canary}.png`);
  await sendRaw(port, `GET /?APIKey=${posKey} HTTP/1.1\r\nbroken ${canary}\r\n\r\n`);
  await expect.poll(() => lines.filter((line) => line.includes('"msg":"request"')).length).toBe(26);
  const text = lines.join('');
  expect(text).toContain('request handler crashed');
  expect(text).toContain('failed query for [secret]');
  for (const secret of [
    posKey,
    upper,
    upper.toLowerCase(),
    canary,
    deviceSecret,
    basic.slice(6),
    adminToken,
    '4111 1111 1111 1111',
    '4111111111111111',
  ])
    expect(text).not.toContain(secret);
  expect(text).not.toContain('?');
  expect(await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text()).not.toContain(canary);
});

it('masks fields with the names of secrets', async () => {
  const { lines } = await start();
  createLogger('info', { write: (line) => lines.push(line) }).info({ apiKey: 'canary', device: { secret: 'canary' } }, 'careless');
  expect(lines.join('')).toContain('[secret]');
  expect(lines.join('')).not.toContain('canary');
});

it('logs the messages of an error and of its causes, and no other properties of it', async () => {
  const { lines, parsed } = await start();
  const logger = createLogger('debug', { write: (line) => lines.push(line) });
  const cause = Object.assign(new Error('connection lost'), { detail: 'Failing row contains (canary-row).' });
  const error = Object.assign(new Error('cannot be reached', { cause }), { code: 'ECONNRESET', client: { secretKey: 'canary-key' } });
  logger.warn({ err: error }, 'trouble');
  logger.warn({ err: 'card 4111111111111111' }, 'thrown text');
  expect(parsed()[0]?.['err']).toMatchObject({ type: 'Error', message: 'cannot be reached: connection lost', code: 'ECONNRESET' });
  expect(lines[0]).toContain('request-log.test.ts');
  expect(lines.join()).not.toMatch(/canary|4111111111111111/);
});

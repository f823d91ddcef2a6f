// deploy/nginx.conf on a real nginx: what was sent is never sent a second time, what was not goes to the other instance, and every answer
// has the envelope.
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { connect, type SecureVersion } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { selfSigned } from '../http/self-signed.ts';
import { freePort } from '../support/free-port.ts';
import { type NginxServer, startNginx } from '../support/servers/nginx.ts';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Stands for a gateway: notes each request that reaches it whole, then answers, or breaks the connection. */
async function upstream(does: 'answers' | 'is busy' | 'breaks off'): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      seen.push(body);
      if (does === 'breaks off') request.socket.destroy();
      else
        response.writeHead(does === 'answers' ? 200 : 503, { 'content-type': 'application/json' }).end(`{"errorCode":41,"from":"${does}"}`);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  endings.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { port: (server.address() as AddressInfo).port, seen };
}

it('logs no query string, QR or token, whatever goes wrong with an upstream', async () => {
  const breaking = await upstream('breaks off');
  const alive = await upstream('answers');
  const canary = 'canary-1234';
  for (const ports of [[await freePort()], [breaking.port], [alive.port], [await freePort(), alive.port]]) {
    const { url, authPort, logs } = await nginxBefore(...ports);
    for (const path of [`/Invoice/Status?APIKey=${canary}`, `/qr/${canary}.png`, `/Broker/rabbitmq/${canary}/user`, `/metrics?${canary}`])
      await fetch(`${url}${path}`, { headers: { referer: `${url}?APIKey=${canary}` } });
    await fetch(`${url}/Device/payment/Pay?APIKey=${canary}`, { method: 'POST', body: 'x'.repeat(3 * 1024 * 1024) });
    await fetch(`http://127.0.0.1:${authPort}/tillgate/broker/rabbitmq/${canary}/user`, { method: 'POST', body: canary });
    // A request line that nginx itself refuses, and one that the client leaves.
    await rawRequest(url, `GET /tillgate/Invoice/Status?APIKey=${canary} HTTP/9\r\n\r\n`);
    await rawRequest(url, `GET /tillgate/../..?APIKey=${canary} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await expect.poll(() => logs().match(/"GET \/tillgate\/qr\/"/g)).toHaveLength(1);
    expect(logs()).toContain('"GET /tillgate/Invoice/Status"');
    expect(logs()).not.toContain(canary);
  }
});

it('says in the access log which instance could not be reached', async () => {
  const port = await freePort();
  const { url, logs } = await nginxBefore(port);
  await pay(url, '{}');
  await expect.poll(logs).toMatch(new RegExp(`"POST /tillgate/Device/payment/Pay" 502 [0-9.]+ 127\\.0\\.0\\.1:${port} 502 -`));
});

it('speaks TLS 1.2 and 1.3 and nothing older', async () => {
  const nginx = await startNginx([await freePort()], selfSigned);
  endings.push(nginx.stop);
  const port = Number(new URL(nginx.url).port);
  const speak = (version: SecureVersion) =>
    new Promise<string | null>((resolve) => {
      const socket = connect({
        ...{ host: '127.0.0.1', port, rejectUnauthorized: false, minVersion: version, maxVersion: version },
        // Without it Node itself would not offer the old ones.
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      socket.once('error', () => resolve(null));
      socket.once('secureConnect', () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
    });
  expect([await speak('TLSv1'), await speak('TLSv1.1'), await speak('TLSv1.2'), await speak('TLSv1.3')]).toEqual([
    null,
    null,
    'TLSv1.2',
    'TLSv1.3',
  ]);
});

function rawRequest(url: string, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectPlain(Number(new URL(url).port), '127.0.0.1', () => socket.end(text));
    socket.resume().once('close', () => resolve());
  });
}

async function nginxBefore(...ports: number[]): Promise<NginxServer> {
  const nginx = await startNginx(ports);
  endings.push(nginx.stop);
  return nginx;
}
const proxyOf = async (...ports: number[]) => (await nginxBefore(...ports)).url;

const pay = (url: string, body: string) => fetch(`${url}/Device/payment/Pay`, { method: 'POST', body });
const unknown = { errorCode: 3, errorMessage: expect.stringContaining('is not known') };

it('hands what could not be sent to the other instance, once', async () => {
  const alive = await upstream('answers');
  const url = await proxyOf(await freePort(), alive.port);
  for (let count = 0; count < 20; count += 1) expect((await pay(url, `pay ${count}`)).status).toBe(200);
  expect(alive.seen).toEqual(Array.from({ length: 20 }, (_each, count) => `pay ${count}`));
});

it('sends no POST a second time that an instance may have begun, and says that the outcome is unknown', async () => {
  const [dying, alive] = [await upstream('breaks off'), await upstream('answers')];
  const url = await proxyOf(dying.port, alive.port);
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    const response = await pay(url, `pay ${count}`);
    statuses.push(response.status);
    if (response.status === 502) expect(await response.json()).toEqual(unknown);
  }
  expect(statuses).toContain(502);
  const seen = [...dying.seen, ...alive.seen];
  expect(dying.seen.length).toBeGreaterThan(0);
  expect(new Set(seen).size).toBe(seen.length);
});

it('answers in the envelope when no instance is there, for a path that it hides and for a body that is too large', async () => {
  const url = await proxyOf(await freePort(), await freePort());
  const away = await pay(url, '{}');
  expect([away.status, away.headers.get('content-type'), await away.json()]).toEqual([502, 'application/json', unknown]);
  const hidden = await fetch(`${url}/Metrics`);
  expect([hidden.status, await hidden.json()]).toEqual([404, { errorCode: 40, errorMessage: expect.stringContaining('no such path') }]);
  const large = await pay(url, 'x'.repeat(3 * 1024 * 1024));
  expect([large.status, await large.json()]).toEqual([413, { errorCode: 40, errorMessage: expect.stringContaining('1 MiB') }]);
});

it("leaves the gateway's own answers as they are", async () => {
  const busy = await upstream('is busy');
  const response = await pay(await proxyOf(busy.port), '{}');
  expect([response.status, await response.json()]).toEqual([503, { errorCode: 41, from: 'is busy' }]);
  expect(busy.seen.length).toBe(1);
});

it("passes RabbitMQ's questions on to whichever instance is there, nothing else, and denies when none is", async () => {
  const alive = await upstream('answers');
  const { authPort } = await nginxBefore(await freePort(), alive.port);
  const ask = async (port: number, path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: path });
    return [response.status, response.headers.get('content-type'), await response.text()];
  };
  const question = '/tillgate/broker/rabbitmq/token/user';
  for (let count = 0; count < 4; count += 1) expect((await ask(authPort, question))[0]).toBe(200);
  expect(alive.seen).toEqual(Array(4).fill(question));
  expect(await ask(authPort, '/tillgate/Device/payment/Pay')).toEqual([404, 'text/plain', 'deny']);
  const nobody = await nginxBefore(await freePort(), await freePort());
  expect(await ask(nobody.authPort, question)).toEqual([502, 'text/plain', 'deny']);
});

import { createHmac } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import type { LookupAll } from '../../src/callbacks/name-lookup.ts';
import { createSender } from '../../src/callbacks/sender.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { selfSigned } from '../http/self-signed.ts';
import { type Erp, startErp } from './erp.ts';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes 123').toString('base64')}`;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function erpUp(options: Parameters<typeof startErp>[0] = {}): Promise<Erp> {
  const erp = await startErp(options);
  open.push(erp);
  return erp;
}

function senderWith(options: { attemptTimeoutMs?: number; lookup?: LookupAll } = {}): ReturnType<typeof createSender> {
  const guard = createAddressGuard({ clock: systemClock, allow: ['127.0.0.0/8'], ...(options.lookup ? { lookup: options.lookup } : {}) });
  const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: options.attemptTimeoutMs ?? 3_000, socketsPerHost: 8 });
  open.push(sender);
  return sender;
}

function send(sender: ReturnType<typeof createSender>, url: string, signal = new AbortController().signal) {
  return sender.send({ id: '6f1c1a1e-0000-4000-8000-000000000001', sequence: 3, url, secrets: [secret] }, signal);
}

async function rawServer(onConnection: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer(onConnection);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  open.push({ close: () => server.close() });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe('an attempt', () => {
  it('is a GET with id, timestamp, signature and sequence', async () => {
    const erp = await erpUp();
    const url = `${erp.base}/cb/1?state=Payed&r=%26x`;
    const before = Math.floor(Date.now() / 1000);
    expect(await send(senderWith(), url)).toMatchObject({ status: 200, error: null, responseHead: 'ok' });
    const [heard] = erp.heard;
    expect(heard?.url).toBe('/cb/1?state=Payed&r=%26x');
    expect(heard?.headers).toMatchObject({
      'webhook-id': '6f1c1a1e-0000-4000-8000-000000000001',
      'tillgate-sequence': '3',
      'user-agent': 'Tillgate/1',
    });
    const timestamp = Number(heard?.headers['webhook-timestamp']);
    expect(timestamp).toBeGreaterThanOrEqual(before);
    const expected = createHmac('sha256', 'a secret of thirty-two bytes 123')
      .update(`6f1c1a1e-0000-4000-8000-000000000001.${timestamp}.3.${url}`)
      .digest('base64');
    expect(heard?.headers['webhook-signature']).toBe(`v1,${expected}`);
  });

  it('sends user and password as Basic and leaves them out of what is signed', async () => {
    const erp = await erpUp();
    await send(senderWith(), erp.base.replace('http://', 'http://erp:p%40ss@') + '/cb');
    const headers = erp.heard[0]?.headers ?? {};
    expect(headers.authorization).toBe(`Basic ${Buffer.from('erp:p@ss').toString('base64')}`);
    const expected = createHmac('sha256', 'a secret of thirty-two bytes 123')
      .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${headers['tillgate-sequence']}.${erp.base}/cb`)
      .digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
  });

  it('sends the path as it was written', async () => {
    const erp = await erpUp();
    await send(senderWith(), `${erp.base}/a/%2E%2E/b/../c`);
    expect(erp.heard[0]?.url).toBe('/a/%2E%2E/b/../c');
  });

  it('does not follow a redirect', async () => {
    const erp = await erpUp();
    const target = await erpUp();
    erp.answer = (_request, response) => response.writeHead(302, { location: `${target.base}/other` }).end();
    expect(await send(senderWith(), `${erp.base}/cb`)).toMatchObject({ status: 302, error: null });
    expect(target.heard).toEqual([]);
    expect(erp.heard.length).toBe(1);
  });

  it.each([204, 299, 404, 500])('reports status %i', async (status) => {
    const erp = await erpUp();
    erp.answer = (_request, response) => response.writeHead(status).end();
    expect(await send(senderWith(), erp.base)).toMatchObject({ status, error: null, responseHead: null });
  });

  it('keeps the first bytes of an answer, fit for the database and without card numbers', async () => {
    const erp = await erpUp();
    erp.answer = (_request, response) => response.end(`a\u0000b 4111 1111 1111 1111 ${'x'.repeat(2_000)}`);
    const { responseHead } = await send(senderWith(), erp.base);
    expect(responseHead).toMatch(/^a\ufffdb 4111 11\*\* \*{4} 1111 x+$/);
    expect(responseHead?.length).toBeLessThanOrEqual(512);
  });

  it('stops reading a body without end', async () => {
    const erp = await erpUp();
    let written = 0;
    erp.answer = (request, response) => {
      const push = () => {
        while (!request.socket.destroyed && response.write(Buffer.alloc(1024, 'y'))) written += 1024;
        if (!request.socket.destroyed) response.once('drain', push);
      };
      push();
    };
    expect(await send(senderWith(), erp.base)).toMatchObject({ status: 200, error: null });
    expect(written).toBeLessThan(8_000_000);
  });

  it('takes the status when the body never ends', async () => {
    const erp = await erpUp();
    const closed = Promise.withResolvers<void>();
    erp.answer = (request, response) => {
      request.socket.once('close', () => closed.resolve());
      response.writeHead(200);
      response.write('begun');
    };
    const result = await send(senderWith({ attemptTimeoutMs: 10_000 }), erp.base);
    expect(result).toMatchObject({ status: 200, responseHead: 'begun' });
    expect(result.durationMs).toBeLessThan(3_500);
    // And lets go of the connection.
    await closed.promise;
  });

  it('ends at its limit when there is no answer', async () => {
    const erp = await erpUp();
    erp.answer = () => {};
    const result = await send(senderWith({ attemptTimeoutMs: 200 }), erp.base);
    expect(result).toMatchObject({ status: null, error: 'No answer within 0.2 s.' });
    expect(result.durationMs).toBeLessThan(600);
  });

  it('ends at its limit when headers drip', async () => {
    const base = await rawServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\n');
      const drip = setInterval(() => socket.write('x-drip: 1\r\n'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    expect(await send(senderWith({ attemptTimeoutMs: 200 }), base)).toMatchObject({ status: null, error: 'No answer within 0.2 s.' });
  });

  it('ends at its limit when the name is never resolved, and dials nothing later', async () => {
    const erp = await erpUp();
    let answer: (() => void) | undefined;
    const lookup: LookupAll = (_hostname, _options, done) => {
      answer = () => done(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const result = await send(senderWith({ attemptTimeoutMs: 100, lookup }), erp.base.replace('127.0.0.1', 'slow.example'));
    expect(result).toMatchObject({ status: null, error: 'No answer within 0.1 s.' });
    answer?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    expect(erp.heard).toEqual([]);
  });

  it.each([
    ['refused', 'http://127.0.0.1:1/', /ECONNREFUSED/],
    ['broken URL', 'http://', /Invalid URL/],
    ['broken user', 'http://%zz@127.0.0.1:1/', /URI malformed/],
    ['other scheme', 'ftp://127.0.0.1/', /not http/],
  ])('tells an error instead of throwing: %s', async (_name, url, error) => {
    expect(await send(senderWith(), url)).toMatchObject({ status: null, error: expect.stringMatching(error) });
  });

  it('reports an error for an unknown name', async () => {
    const lookup: LookupAll = (hostname, _options, done) =>
      done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), []);
    expect(await send(senderWith({ lookup }), 'http://no-such-host.invalid/')).toMatchObject({
      status: null,
      error: expect.stringContaining('ENOTFOUND'),
    });
  });

  it.each([
    ['closes at once', ''],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['sends headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
  ])('tells an error when the other side %s', async (_name, bytes) => {
    const base = await rawServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(bytes));
    });
    const result = await send(senderWith(), base);
    expect(result.status).toBe(null);
    expect(result.error).toMatch(/./);
  });

  it('is broken off by its signal', async () => {
    const erp = await erpUp();
    erp.answer = () => {};
    const abort = new AbortController();
    const ended = send(senderWith(), erp.base, abort.signal);
    await erp.hears(1);
    abort.abort(new Error('The gateway is stopping.'));
    expect(await ended).toMatchObject({ status: null, error: 'The gateway is stopping.' });
  });
});

describe('connections', () => {
  it('are used again', async () => {
    const erp = await erpUp();
    const ports = new Set<number | undefined>();
    erp.answer = (request, response) => {
      ports.add(request.socket.remotePort);
      response.end();
    };
    const sender = senderWith();
    for (let count = 0; count < 5; count += 1) await send(sender, erp.base);
    expect(ports.size).toBe(1);
  });

  it('that the server dropped while idle do not fail an attempt', async () => {
    let requests = 0;
    const base = await rawServer((socket) => {
      socket.on('error', () => {});
      let ofThisSocket = 0;
      socket.on('data', () => {
        requests += 1;
        ofThisSocket += 1;
        if (ofThisSocket > 1) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const sender = senderWith();
    expect((await send(sender, base)).status).toBe(200);
    expect(await send(sender, base)).toMatchObject({ status: 200, error: null });
    expect(requests).toBe(3);
  });
});

describe('TLS', () => {
  it('refuses an untrusted certificate, takes one that is trusted, and minds the name', async () => {
    const erp = await erpUp({ tls: selfSigned });
    const port = new URL(erp.base).port;
    expect(await send(senderWith(), `${erp.base}/cb`)).toMatchObject({
      status: null,
      error: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
    });
    expect(erp.heard).toEqual([]);

    const system = getCACertificates('default');
    setDefaultCACertificates([...system, selfSigned.cert]);
    try {
      expect(await send(senderWith(), `${erp.base}/cb`)).toMatchObject({ status: 200, error: null });
      const lookup: LookupAll = (_hostname, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
      expect(await send(senderWith({ lookup }), `https://localhost:${port}/cb`)).toMatchObject({ status: 200 });
      expect(await send(senderWith({ lookup }), `https://other.example:${port}/cb`)).toMatchObject({
        status: null,
        error: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
      });
    } finally {
      setDefaultCACertificates(system);
    }
    expect(erp.heard.length).toBe(2);
  });
});

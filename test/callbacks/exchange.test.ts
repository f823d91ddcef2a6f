// What goes over the wire in one attempt and what of the answer counts: real connections on loopback, virtual time.
import { getEventListeners } from 'node:events';
import { createServer, type Server, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import type { LookupAll } from '../../src/callbacks/name-lookup.ts';
import { createSender, type OutgoingCallback } from '../../src/callbacks/sender.ts';
import { until } from '../support/until.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type Erp, startErp } from './erp.ts';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes 123').toString('base64')}`;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const each of open.splice(0)) await each.close();
});

async function erpUp(): Promise<Erp> {
  const erp = await startErp();
  open.push(erp);
  return erp;
}

/** Answers the first request of each connection with `first` and what follows on it with `then`. */
async function rawErp(first: string, then = first): Promise<{ base: string; requests: () => number; sockets: Socket[] }> {
  let requests = 0;
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    let isFirst = true;
    socket.on('data', () => {
      requests += 1;
      const bytes = isFirst ? first : then;
      isFirst = false;
      if (bytes === 'reset') socket.resetAndDestroy();
      else socket.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => (server.close(), sockets.forEach((socket) => socket.destroy())) });
  return { base: `http://127.0.0.1:${(server.address() as { port: number }).port}`, requests: () => requests, sockets };
}

function setUp(lookup?: LookupAll) {
  const clock = createVirtualClock();
  const guard = createAddressGuard({ clock, allow: ['127.0.0.0/8'], ...(lookup ? { lookup } : {}) });
  const sender = createSender({ clock, guard, attemptTimeoutMs: 15_000, socketsPerHost: 8 });
  open.push(sender);
  const send = (url: string, overrides: Partial<OutgoingCallback> = {}, signal = new AbortController().signal) =>
    sender.send({ id: 'an id', sequence: 3, url, secrets: [secret], ...overrides }, signal);
  return { clock, sender, send };
}

/** The sender has the status line: beside the limit of the attempt, that of the body runs. */
const headIsRead = (clock: VirtualClock) => until(() => clock.pending === 2);

const emptyOk = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

describe('what is sent', () => {
  it('is stamped by the clock in whole seconds', async () => {
    const erp = await erpUp();
    const { clock, send } = setUp();
    await clock.advance(1_999);
    await send(erp.base);
    expect(erp.heard[0]?.headers['webhook-timestamp']).toBe(String(Math.floor(clock.now() / 1000)));
  });

  it('belongs to the trace that it is given, or to none', async () => {
    const erp = await erpUp();
    const { send } = setUp();
    await send(erp.base, { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
    await send(erp.base);
    expect(erp.heard.map(({ headers }) => headers['traceparent'])).toEqual([
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      undefined,
    ]);
  });

  it.each([
    ['/cb?x=1#a part of the page', '/cb?x=1'],
    ['?x=1', '/?x=1'],
    ['', '/'],
    ['//two//of//them', '//two//of//them'],
  ])('asks for %s as %s', async (written, heard) => {
    const erp = await erpUp();
    expect(await setUp().send(`${erp.base}${written}`)).toMatchObject({ status: 200 });
    expect(erp.heard.map(({ url }) => url)).toEqual([heard]);
  });

  it.each([
    ['', undefined],
    ['erp@', 'erp:'],
    [':pw@', ':pw'],
    ['erp:pw@', 'erp:pw'],
  ])('logs in with user and password of the URL: "%s"', async (login, expected) => {
    const erp = await erpUp();
    await setUp().send(erp.base.replace('http://', `http://${login}`));
    const authorization = expected === undefined ? undefined : `Basic ${Buffer.from(expected).toString('base64')}`;
    expect(erp.heard.map(({ headers }) => headers.authorization)).toEqual([authorization]);
  });

  it('goes to the port of its scheme when none is written', async () => {
    const ports: unknown[] = [];
    vi.spyOn(Socket.prototype, 'connect').mockImplementation(function dial(this: Socket, ...args: unknown[]) {
      const [first] = args as [{ port?: number } | [{ port?: number }]];
      ports.push(Array.isArray(first) ? first[0].port : first.port);
      process.nextTick(() => this.destroy(new Error('not dialled')));
      return this;
    });
    const { send } = setUp((_hostname, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]));
    for (const url of ['http://erp.example/', 'https://erp.example/', 'http://erp.example:8080/']) await send(url);
    expect(ports).toEqual([80, 443, 8080]);
  });

  it('is not sent at all when it was aborted before, for any reason', async () => {
    const erp = await erpUp();
    const { clock, send } = setUp();
    expect(await send(erp.base, {}, AbortSignal.abort(new Error('The gateway is stopping.')))).toMatchObject({
      status: null,
      error: 'The gateway is stopping.',
    });
    expect(await send(erp.base, {}, AbortSignal.abort('no '.repeat(200)))).toMatchObject({ error: 'no '.repeat(100) });
    await clock.advance(20_000);
    expect([erp.heard, clock.pending]).toEqual([[], 0]);
  });
});

describe('when it is over', () => {
  it('no timer and no listener is left', async () => {
    const erp = await erpUp();
    const { clock, send } = setUp();
    const { signal } = new AbortController();
    expect(await send(erp.base, {}, signal)).toMatchObject({ status: 200, responseHead: 'ok' });
    expect([clock.pending, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
  });

  it('the connection is kept for the next one, and ends with the sender', async () => {
    const { base, sockets } = await rawErp(emptyOk);
    const { sender, send } = setUp();
    await send(base);
    await send(base);
    expect(sockets).toHaveLength(1);
    sender.close();
    await until(() => sockets[0]?.destroyed === true, 1_000);
  });

  it.each([
    [4_096, 1],
    [4_097, 2],
  ])('an answer of %i bytes takes %i connections for two attempts, because an unread rest cannot be reused', async (size, connections) => {
    const erp = await erpUp();
    const ports = new Set<number | undefined>();
    const { clock, send } = setUp();
    erp.answer = (request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(200, { 'content-length': String(size) }).flushHeaders();
      void headIsRead(clock).then(() => response.end('x'.repeat(size)));
    };
    for (let count = 0; count < 2; count += 1) expect(await send(erp.base)).toMatchObject({ status: 200, responseHead: 'x'.repeat(512) });
    expect(ports.size).toBe(connections);
  });
});

describe('an answer', () => {
  it('that comes in pieces is kept whole', async () => {
    const erp = await erpUp();
    erp.answer = (_request, response) => {
      response.write('one, ');
      setTimeout(() => response.end('two'), 20);
    };
    expect(await setUp().send(erp.base)).toMatchObject({ status: 200, responseHead: 'one, two' });
  });

  it.each(['reset', 'closed', 'silent until the attempt is broken off'])(
    'counts by its status though the body is %s, and the ERP is not asked again',
    async (how) => {
      const erp = await erpUp();
      const abort = new AbortController();
      const { clock, send } = setUp();
      await send(erp.base);
      erp.answer = (request, response) => {
        response.writeHead(200, { 'content-length': '100' }).flushHeaders();
        void headIsRead(clock).then(() => {
          if (how === 'reset') request.socket.resetAndDestroy();
          else if (how === 'closed') request.socket.destroy();
          else abort.abort(new Error('The gateway is stopping.'));
        });
      };
      expect(await send(erp.base, {}, abort.signal)).toMatchObject({ status: 200, error: null, responseHead: null });
      expect(erp.heard).toHaveLength(2);
    },
  );
});

describe('a connection that fails', () => {
  it('is tried anew only if it had been used before and was reset', async () => {
    const fresh = await rawErp('reset');
    expect(await setUp().send(fresh.base)).toMatchObject({ status: null, error: expect.stringContaining('ECONNRESET') });
    expect(fresh.requests()).toBe(1);

    const garbled = await rawErp(emptyOk, 'neither here nor there\r\n\r\n');
    const { send } = setUp();
    expect(await send(garbled.base)).toMatchObject({ status: 200 });
    expect(await send(garbled.base)).toMatchObject({ status: null, error: expect.stringContaining('HPE_') });
    expect(garbled.requests()).toBe(2);

    const dropped = await rawErp(emptyOk, 'reset');
    const { send: again } = setUp();
    for (let count = 0; count < 2; count += 1) expect(await again(dropped.base)).toMatchObject({ status: 200 });
    expect(dropped.requests()).toBe(3);
  });

  it('is reported with every address that was tried', async () => {
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
    const { send } = setUp((_hostname, _options, done) => done(null, addresses));
    const { error } = await send('http://erp.example:1/');
    expect(error).toContain('connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1');
  });

  it('is reported in 300 characters at most, with its code once', async () => {
    const failing = (message: string) => {
      const { send } = setUp((_hostname, _options, done) => done(Object.assign(new Error(message), { code: 'EAI_AGAIN' }), []));
      return send('http://erp.example/');
    };
    expect((await failing('x'.repeat(400))).error).toBe(`EAI_AGAIN: ${'x'.repeat(289)}`);
    expect((await failing('getaddrinfo EAI_AGAIN erp.example')).error).toBe('getaddrinfo EAI_AGAIN erp.example');
  });
});

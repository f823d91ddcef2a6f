// Socket events outside a request, on fake sockets: which are answered, which close the connection, and which are ignored because an
// answer is still due. Also: ten thousand closes at once delay no other caller.
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Connections, createConnections } from '../../src/http/connections.ts';
import { protocolFailure } from '../../src/http/envelope.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

class FakeSocket extends EventEmitter {
  writable = true;
  writableLength = 0;
  destroys = 0;
  readonly written: string[] = [];
  #ended = () => {};

  destroy(): void {
    this.destroys += 1;
  }

  end(text: string, done: () => void): void {
    this.written.push(text);
    this.writable = false;
    this.#ended = done;
  }

  /** Completes the write. */
  flush(): void {
    this.#ended();
  }

  asSocket = () => this as unknown as Socket;
  get statuses(): number[] {
    return this.written.map((text) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]));
  }
}

class FakeServer extends EventEmitter {
  stalledMs = 0;
  stalled: (socket: Socket) => void = () => {};

  setTimeout(ms: number, stalled: (socket: Socket) => void): void {
    this.stalledMs = ms;
    this.stalled = stalled;
  }
}

let clock: VirtualClock;
let failures: number[];
let connections: Connections;
let server: FakeServer;
let socket: FakeSocket;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  failures = [];
  connections = createConnections(clock, ({ httpStatus }) => failures.push(httpStatus));
  server = new FakeServer();
  connections.attach(server as unknown as Server, 30_000);
  socket = new FakeSocket();
});

const fail = (code?: string, on = socket) =>
  connections.clientError(Object.assign(new Error('odd'), code === undefined ? {} : { code }), on.asSocket());

/** Starts a request: its headers have arrived. */
function begin(on = socket) {
  const request = { socket: on, complete: false };
  const response = Object.assign(new EventEmitter(), {
    closed: false,
    headersSent: false,
    writableFinished: false,
    shouldKeepAlive: true,
  });
  server.emit('request', request, response);
  const answered = () => {
    Object.assign(response, { headersSent: true, writableFinished: true, closed: true });
    response.emit('close');
  };
  return { request, response, answered };
}

describe('an unreadable request', () => {
  it.each([
    [undefined, 400],
    ['HPE_INVALID_METHOD', 400],
    ['HPE_HEADER_OVERFLOW', 431],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ])('is answered (%s: %i) and counted, and the socket closed after the write', (code, status) => {
    fail(code);
    expect([socket.statuses, failures, socket.destroys]).toEqual([[status], [status], 0]);
    expect(socket.written[0]).toContain('"errorCode":40');
    expect(socket.written[0]?.split('\r\n\r\n')[0]?.split('\r\n')).toHaveLength(5);
    socket.emit('error', new Error('late'));
    socket.flush();
    expect(socket.destroys).toBe(1);
  });

  it('is not answered on a socket that is reset or not writable', () => {
    fail('ECONNRESET');
    expect([socket.written, socket.destroys]).toEqual([[], 1]);
    const closing = new FakeSocket();
    closing.writable = false;
    fail('HPE_INVALID_METHOD', closing);
    expect([closing.written, closing.destroys, failures]).toEqual([[], 1, []]);
  });

  it('is answered after a completely answered request', () => {
    const { request, answered } = begin();
    request.complete = true;
    answered();
    fail('HPE_INVALID_METHOD');
    expect(socket.statuses).toEqual([400]);
  });

  it('is answered in place of an incomplete request', () => {
    begin();
    fail('HPE_INVALID_CHUNK_SIZE');
    expect(socket.statuses).toEqual([400]);
  });
});

describe('garbage after a request whose answer is due', () => {
  it('is not answered, or a client could read it as the answer to a payment; that answer closes the connection', () => {
    const { request, response } = begin();
    request.complete = true;
    fail('HPE_INVALID_METHOD');
    fail('HPE_INVALID_METHOD');
    expect([socket.written, socket.destroys, failures, response.shouldKeepAlive]).toEqual([[], 0, [], false]);
  });

  it('is not answered either if it is the body of a second request: the first answer closes the connection', async () => {
    const first = begin();
    first.request.complete = true;
    const second = begin();
    fail('HPE_INVALID_CHUNK_SIZE');
    fail('ERR_HTTP_REQUEST_TIMEOUT');
    await clock.advance(0);
    expect([socket.written, socket.destroys, failures]).toEqual([[], 0, []]);
    expect([first.response.shouldKeepAlive, second.response.shouldKeepAlive]).toEqual([false, true]);
  });

  it('closes the connection if the answer has started and the request is incomplete', () => {
    const { response } = begin();
    response.headersSent = true;
    fail('HPE_INVALID_CHUNK_SIZE');
    expect([socket.written, socket.destroys, failures]).toEqual([[], 1, []]);
  });

  it('closes it if the answer is sent but not yet closed', () => {
    const { request, response } = begin();
    Object.assign(response, { headersSent: true, writableFinished: true });
    request.complete = true;
    fail('HPE_INVALID_METHOD');
    expect([socket.written, socket.destroys]).toEqual([[], 1]);
  });

  it('closes it if the request was answered early and its rest is malformed', () => {
    const { answered } = begin();
    answered();
    fail('HPE_INVALID_CHUNK_SIZE');
    expect([socket.written, socket.destroys, failures]).toEqual([[], 1, []]);
  });
});

describe('a request that was too slow', () => {
  const timeOut = (on = socket) => fail('ERR_HTTP_REQUEST_TIMEOUT', on);

  it('is answered 408 in its turn', async () => {
    timeOut();
    expect(socket.statuses).toEqual([]);
    await clock.advance(0);
    expect([socket.statuses, failures]).toEqual([[408], [408]]);
  });

  it('is closed in batches of fifty, so that other requests are served in between', async () => {
    const sockets = Array.from({ length: 120 }, () => new FakeSocket());
    for (const each of sockets) timeOut(each);
    const answeredByTurn: number[] = [];
    const count = () => sockets.filter(({ written }) => written.length > 0).length;
    await clock.runUntil(() => {
      answeredByTurn.push(count());
      return clock.pending === 0;
    });
    expect(answeredByTurn).toEqual([0, 50, 100, 120]);
    timeOut();
    expect(clock.pending).toBe(1);
    await clock.advance(0);
    expect(socket.statuses).toEqual([408]);
  });

  it('is answered normally if it is complete before its turn', async () => {
    const { request, response } = begin();
    timeOut();
    request.complete = true;
    await clock.advance(0);
    expect([socket.statuses, socket.destroys, response.shouldKeepAlive]).toEqual([[], 0, true]);
  });

  it('is answered normally also as the next request on its connection', async () => {
    const first = begin();
    first.request.complete = true;
    first.answered();
    timeOut();
    const { request, response } = begin();
    request.complete = true;
    await clock.advance(0);
    expect([socket.statuses, socket.destroys, response.shouldKeepAlive]).toEqual([[], 0, true]);
  });

  it('is refused if the next request is incomplete', async () => {
    const first = begin();
    first.request.complete = true;
    first.answered();
    timeOut();
    begin();
    await clock.advance(0);
    expect(socket.statuses).toEqual([408]);
  });

  it('is refused if nothing arrived after the previous one', async () => {
    const first = begin();
    first.request.complete = true;
    first.answered();
    timeOut();
    await clock.advance(0);
    expect(socket.statuses).toEqual([408]);
  });

  it('whose client has disconnected before its turn is ignored', async () => {
    timeOut();
    socket.writable = false;
    await clock.advance(0);
    expect([socket.statuses, socket.destroys]).toEqual([[], 0]);
  });
});

describe('an idle connection', () => {
  const stall = () => server.stalled(socket.asSocket());

  it('is closed when its answer is not read, or after its answers', () => {
    expect(server.stalledMs).toBe(30_000);
    const { answered } = begin();
    socket.writableLength = 1;
    stall();
    expect(socket.destroys).toBe(1);
    socket.writableLength = 0;
    answered();
    stall();
    expect(socket.destroys).toBe(2);
  });

  it('is kept open while an answer is due, however long, also for the second of two requests', () => {
    const [first] = [begin(), begin()];
    stall();
    first.answered();
    stall();
    expect(socket.destroys).toBe(0);
  });

  it('is kept open before its first request, which has its own time-outs', () => {
    stall();
    expect(socket.destroys).toBe(0);
  });
});

describe('unsupported requests', () => {
  it('with an Expect other than 100-continue are answered 417, in the envelope, and counted', () => {
    const headers: [string, string][] = [];
    let status = 0;
    let body = '';
    const response = Object.assign(new EventEmitter(), {
      appendHeader: (name: string, value: string) => headers.push([name, value]),
      writeHead(given: number) {
        status = given;
        return response;
      },
      end: (text: string) => {
        body = text;
      },
    });
    server.emit('checkExpectation', { socket, complete: true }, response);
    expect([status, failures, JSON.parse(body)]).toEqual([417, [417], { errorCode: 40, errorMessage: expect.stringContaining('Expect') }]);
    const names = headers.map(([name]) => name.toLowerCase());
    expect(names).toEqual(['content-type', 'content-length', 'cache-control', 'connection']);
    expect(headers.find(([name]) => name.toLowerCase() === 'content-length')).toEqual([expect.any(String), String(body.length)]);
    // It is in progress until its answer is closed.
    server.stalled(socket.asSocket());
    expect(socket.destroys).toBe(0);
    response.emit('close');
    server.stalled(socket.asSocket());
    expect(socket.destroys).toBe(1);
  });

  it('with CONNECT are refused with the allowed methods', () => {
    server.emit('connect', {}, socket);
    expect([socket.statuses, failures]).toEqual([[405], [405]]);
    expect(socket.written[0]).toContain('\r\nAllow: GET, POST\r\n');
  });

  it('are refused on the bare socket, with additional headers', () => {
    connections.refuse(socket.asSocket(), protocolFailure(426, 'No.'), ['X-Own: 1']);
    expect(socket.statuses).toEqual([426]);
    expect(socket.written[0]).toContain('\r\nX-Own: 1\r\n');
  });
});

// Failures on a socket outside a request: malformed HTTP, time-outs, an unknown Expect, CONNECT.
// Node answers them without an envelope, or not at all. Here each gets an envelope [D7] and the socket is closed.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../kernel/clock.ts';
import type { GatewayError } from '../kernel/error-codes.ts';
import { protocolFailure, rawResponse } from './envelope.ts';
import { createNotes } from './notes.ts';

export type Connections = ReturnType<typeof createConnections>;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

function failureOf(code: string | undefined): GatewayError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return protocolFailure(408, 'The request took too long to arrive.');
    case 'HPE_HEADER_OVERFLOW':
      return protocolFailure(431, 'The headers must not be larger than 16 KiB.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return protocolFailure(413, 'The chunk extensions are too large.');
    default:
      return protocolFailure(400, 'The request must be valid HTTP.');
  }
}

/** Ten thousand slow connections may time out at once; other requests must not wait for all of them. */
const cutsPerTurn = 50;

/** A queue that runs at most `perTurn` pieces of work per turn of the event loop. */
function createTurns(clock: Clock, perTurn: number): (work: () => void) => void {
  const waiting: (() => void)[] = [];

  function take(): void {
    const turn = waiting.splice(0, perTurn);
    if (waiting.length > 0) clock.after(0, take);
    for (const work of turn) work();
  }

  return (work) => {
    waiting.push(work);
    if (waiting.length === 1) clock.after(0, take);
  };
}

function answerDue(open: ReadonlySet<Exchange> | undefined): ServerResponse | undefined {
  return [...(open ?? [])].findLast(({ request, response }) => request.complete && !response.writableFinished)?.response;
}

/**
 * If an answer is due, it is sent and then closes the connection, and nothing else is written: the client would read it as the answer to
 * its running payment.
 */
function endWithAnswerDue(open: ReadonlySet<Exchange> | undefined): ServerResponse | undefined {
  const due = answerDue(open);
  if (due) due.shouldKeepAlive = false;
  return due;
}

/** After CONNECT Node no longer reads the socket, and no longer closes it or its answers. */
function closeAfter(due: ServerResponse, socket: Duplex): void {
  socket.on('error', () => {}).once('end', () => socket.destroy());
  socket.resume();
  socket.once('close', () => due.closed || due.destroy().emit('close'));
  due.once('close', () => socket.end());
}

/**
 * Before Node's own listener, which asks for an answer on the TLS socket: that would wait for a handshake that has failed or stalled, and the
 * connection would never end. A client that sends plain HTTP to the TLS port gets its answer on the raw socket, to which Node has no public
 * access; if it is absent the connection just closes.
 */
function endFailedHandshakes(server: Server, refuse: (socket: Duplex, error: GatewayError) => void): void {
  server.prependListener('tlsClientError', ({ code }: Error & { code?: string }, socket: Socket & { _parent?: Duplex }) => {
    const { _parent: bare } = socket;
    if (code === 'ERR_SSL_HTTP_REQUEST' && bare?.writable === true)
      refuse(bare, protocolFailure(400, 'This port speaks HTTPS: the URL must begin with https://.'));
    else socket.destroy();
  });
}

export function createConnections(clock: Clock, onFailure: (error: GatewayError) => void) {
  const lastExchange = createNotes<Duplex, Exchange>();
  /** Those whose answer is due, in their order. */
  const openExchanges = createNotes<Duplex, Set<Exchange>>();
  const takeTurn = createTurns(clock, cutsPerTurn);

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const exchange = { request, response };
    const open = openExchanges.of(socket) ?? new Set();
    lastExchange.set(socket, exchange);
    openExchanges.set(socket, open.add(exchange));
    response.once('close', () => open.delete(exchange));
  }

  /** Answers on a socket that has no response object, and closes it. */
  function refuse(socket: Duplex, error: GatewayError, extraHeaders: readonly string[] = []): void {
    onFailure(error);
    socket.on('error', () => {});
    socket.end(rawResponse(error, extraHeaders), () => socket.destroy());
  }

  function judge(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // Malformed or late data after a valid request.
    if (endWithAnswerDue(openExchanges.of(socket)) !== undefined) return;
    const exchange = lastExchange.of(socket);
    if (exchange !== undefined && !exchange.response.closed) {
      if (exchange.response.headersSent) {
        socket.destroy();
        return;
      }
    } else if (exchange !== undefined && !exchange.request.complete) {
      // The request was answered early, and the rest of its body is malformed.
      socket.destroy();
      return;
    }
    refuse(socket, failureOf(error.code));
  }

  return {
    refuse,

    isAnswerDue: (socket: Duplex): boolean => answerDue(openExchanges.of(socket)) !== undefined,

    /** For Fastify's clientErrorHandler. */
    clientError(error: Error & { code?: string }, socket: Socket): void {
      // Node calls this again for every malformed chunk, without bound, so it is not queued.
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
        judge(error, socket);
        return;
      }
      const before = lastExchange.of(socket);
      const wasComplete = before?.request.complete;
      takeTurn(() => {
        const last = lastExchange.of(socket);
        // A slow request may have arrived completely by the time it is dequeued: it is then answered as usual. Node no longer applies its
        // time-out, so an incomplete one is cut.
        const cameInAfterAll = last?.request.complete === true && (last !== before || wasComplete !== true);
        if (!cameInAfterAll && socket.writable) judge(error, socket);
      });
    },

    attach(server: Server, stalledAnswerMs: number): void {
      server.prependListener('request', begin);
      server.setTimeout(stalledAnswerMs, (socket) => {
        // No data for a while: the client does not read its answer, or the connection is idle after one. A client that waits for the answer
        // to a payment is neither, however long that takes. An incomplete request is answered 408 by Node's request time-outs.
        if (socket.writableLength > 0 || openExchanges.of(socket)?.size === 0) socket.destroy();
      });
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        begin(request, response);
        const error = protocolFailure(417, 'The header Expect must be 100-continue or absent.');
        onFailure(error);
        const [head = '', body = ''] = rawResponse(error).split('\r\n\r\n');
        for (const line of head.split('\r\n').slice(1))
          response.appendHeader(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2));
        response.writeHead(error.httpStatus).end(body);
      });
      endFailedHandshakes(server, refuse);
      server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
        const due = endWithAnswerDue(openExchanges.of(socket));
        if (due !== undefined) {
          closeAfter(due, socket);
          return;
        }
        refuse(socket, protocolFailure(405, 'The method CONNECT is not allowed here.'), ['Allow: GET, POST']);
      });
    },
  };
}

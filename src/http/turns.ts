// How connections are read [D284, D298]. Two rules keep a connection from delaying the others, whatever it sends, also after an upgrade:
// - Its data is handled in small pieces, a few in each turn of the event loop.
// - Its requests are handled one at a time, in their order. A request that is pipelined waits until the answer before it is sent, and
//   until the end of that turn.
// In both waits the socket is not read, so that the rest of the data waits in the network. A waiting request whose connection ends is
// never handled.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { atTurnsEnd } from '../kernel/system.ts';
import { createNotes } from './notes.ts';
import type { ReadingTurns } from './reading-turns.ts';

/** A request of the usual size is one piece. A piece holds at most 56 requests or 170 frames or chunks of a body. */
const pieceBytes = 1024;
const piecesPerTurn = 8;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

type Line = ReturnType<typeof createLine>;

/** Other code may pause and resume the socket as well; it flows only when both want it to. */
function createLine(socket: Socket, handle: RequestHandler, reading: ReadingTurns) {
  const [push, pause, resume] = [socket.push.bind(socket), socket.pause.bind(socket), socket.resume.bind(socket)];
  const waiting: Exchange[] = [];
  let isBusy = false;
  let pieces = 0;
  let isTurnOver = false;
  let isHeld = false;
  let isWanted = true;

  function holdOrRelease(): void {
    const mustHold = isTurnOver || waiting.length > 0;
    // Between an upgrade and its handler the socket has no reader and must not flow.
    if (mustHold === isHeld || (mustHold && socket.readableFlowing === null)) return;
    isHeld = mustHold;
    if (isHeld) pause();
    else if (isWanted && socket.readableFlowing !== null) resume();
  }

  function begin({ request, response }: Exchange): void {
    isBusy = true;
    response.once('close', () => {
      if (waiting.length === 0) isBusy = false;
      else atTurnsEnd(beginNext);
    });
    handle(request, response);
  }

  function beginNext(): void {
    isBusy = false;
    // After the last answer of a connection nothing more is handled.
    if (!socket.writable) waiting.length = 0;
    const next = waiting.shift();
    holdOrRelease();
    if (next) begin(next);
  }

  socket.push = (chunk: Buffer | null) => {
    if (chunk === null || chunk.length <= pieceBytes) return push(chunk);
    let wantsMore = true;
    for (let at = 0; at < chunk.length; at += pieceBytes) wantsMore = push(chunk.subarray(at, at + pieceBytes));
    return wantsMore;
  };
  socket.pause = () => {
    isWanted = false;
    return pause();
  };
  socket.resume = () => {
    isWanted = true;
    return isHeld && socket.readableFlowing !== null ? socket : resume();
  };
  // With this listener Node passes the data through `push`, instead of reading the socket inside its parser.
  socket.on('data', () => {
    pieces += 1;
    if (pieces < piecesPerTurn) return;
    pieces = 0;
    isTurnOver = true;
    holdOrRelease();
    reading.wait(socket, () => {
      isTurnOver = false;
      holdOrRelease();
    });
  });

  return {
    enter(exchange: Exchange): void {
      if (!isBusy) return begin(exchange);
      waiting.push(exchange);
      holdOrRelease();
    },
  };
}

/** Only before other listeners for requests are added. HTTPS emits `secureConnection`. */
export function takeTurns(server: Server, connection: 'connection' | 'secureConnection', reading: ReadingTurns): void {
  const handle = server.listeners('request').at(-1) as RequestHandler;
  const lines = createNotes<Socket, Line>();
  server.on(connection, (socket: Socket) => lines.set(socket, createLine(socket, handle, reading)));
  server.removeListener('request', handle).on('request', (request: IncomingMessage, response: ServerResponse) => {
    // A body of these has no reader: it is dropped as it arrives.
    if (request.method === 'GET' || request.method === 'HEAD') request.resume();
    lines.of(request.socket)?.enter({ request, response });
  });
}

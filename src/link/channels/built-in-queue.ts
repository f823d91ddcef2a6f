// The queue channel with nothing installed: a WebSocket at {base_url}/queue, HTTP Basic with DeviceID and secret, JSON frames.
// One socket a device: a second one replaces the first. A socket that does not answer pings is closed. Nothing is queued for an absent device.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Cancel, type Clock, every } from '../../kernel/clock.ts';
import { type ErrorName, errorCodes } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../channel.ts';
import { frameLimitBytes, isDeviceId, readDeviceFrame } from '../messages.ts';
import { messageLimitBytes, type QueueFrame } from '../protocol.ts';

export interface BuiltInQueueOptions {
  clock: Clock;
  logger: Logger;
  checkDevice(deviceId: string, secret: string): Promise<boolean>;
}

export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface BuiltInQueue extends Channel {
  /** For the HTTP server's upgrades at `/queue`; before start and after stop it answers 503. */
  readonly handleUpgrade: UpgradeHandler;
  disconnectDevice(deviceId: string): void;
}

const pingEveryMs = 15_000;
/** More than this unread by the device: it hangs, and what is sent now would come at some other time. */
const unreadLimitBytes = 4 * messageLimitBytes;
/** Somewhat too large is dropped; far too large ends the connection. */
const payloadLimitBytes = frameLimitBytes + 1024;
const replacedCode = 4000;
const endedCode = 4001;

export function createBuiltInQueue(options: BuiltInQueueOptions): BuiltInQueue {
  const { clock, logger, checkDevice } = options;
  const server = new WebSocketServer({ noServer: true, maxPayload: payloadLimitBytes, perMessageDeflate: false, clientTracking: false });
  const sockets = new Map<string, WebSocket>();
  const silentSincePing = new WeakSet<WebSocket>();
  /** Replaced sockets get a second for the closing handshake. */
  const leaving = new Map<WebSocket, Cancel>();
  let listener: ChannelListener | undefined;
  let stopPinging: Cancel = () => {};

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', (error) => logger.debug({ err: error }, 'a socket of the built-in queue failed'));
    const login = readBasic(request.headers.authorization);
    if (listener === undefined) return refuse(socket, 503, 'Internal_error', 'The queue is not open.');
    if (login === undefined) return refuse(socket, 401, 'Invalid_Request', 'HTTP Basic with DeviceID and secret is required.');
    let isKnown: boolean;
    try {
      isKnown = await checkDevice(login.deviceId, login.secret);
    } catch (error) {
      logger.error({ err: error, deviceId: login.deviceId }, 'the login of a device could not be judged');
      return refuse(socket, 503, 'Error_Connection_Database', 'The login could not be judged.');
    }
    if (!isKnown) return refuse(socket, 401, 'Invalid_Request', 'DeviceID and secret do not match.');
    if (listener === undefined) return refuse(socket, 503, 'Internal_error', 'The queue is not open.');
    server.handleUpgrade(request, socket, head, (webSocket) => welcome(login.deviceId, webSocket));
  }

  function welcome(deviceId: string, socket: WebSocket): void {
    const previous = sockets.get(deviceId);
    sockets.set(deviceId, socket);
    socket.on('message', (data, isBinary) => received(deviceId, socket, data as Buffer, isBinary));
    socket.on('pong', () => silentSincePing.delete(socket));
    socket.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') listener?.dropped('queue', 'too-large');
      logger.debug({ err: error, deviceId }, 'a socket of the built-in queue failed');
    });
    socket.on('close', () => {
      leaving.get(socket)?.();
      leaving.delete(socket);
      // A replaced socket is no news: the end of it was told when the second one came.
      if (sockets.get(deviceId) !== socket) return;
      sockets.delete(deviceId);
      listener?.gone('queue', deviceId);
    });
    if (previous) {
      listener?.gone('queue', deviceId);
      previous.close(replacedCode, 'A second connection of this device has replaced this one.');
      leaving.set(
        previous,
        clock.after(1_000, () => previous.terminate()),
      );
    }
  }

  function received(deviceId: string, socket: WebSocket, data: Buffer, isBinary: boolean): void {
    silentSincePing.delete(socket);
    // Also what a replaced socket still had under way is this device's own word.
    if (listener === undefined) return;
    const reading = isBinary ? { problem: 'not-json' as const } : readDeviceFrame(data, deviceId);
    if (reading.message === undefined) listener.dropped('queue', reading.problem);
    else if (reading.message.answer) listener.answer('queue', deviceId, reading.message.answer);
    else if (reading.message.presence && sockets.get(deviceId) === socket) listener.presence('queue', deviceId, reading.message.presence);
  }

  function pingAll(): void {
    for (const socket of sockets.values()) {
      if (silentSincePing.has(socket)) socket.terminate();
      else {
        silentSincePing.add(socket);
        socket.ping();
      }
    }
  }

  return {
    name: 'queue',
    tellsAbsence: true,
    get isConnected() {
      return listener !== undefined;
    },
    handleUpgrade: (request, socket, head) => void upgrade(request, socket, head),

    async start(given) {
      listener = given;
      stopPinging = every(clock, pingEveryMs, pingAll);
      given.up('queue');
    },

    async stop() {
      listener = undefined;
      stopPinging();
      const closing = [...sockets.values(), ...leaving.keys()];
      sockets.clear();
      for (const cancel of leaving.values()) cancel();
      for (const socket of closing) {
        socket.close(1001, 'The gateway is stopping.');
        socket.terminate();
      }
    },

    async send(deviceId, command) {
      if (listener === undefined) throw new ChannelDown('queue');
      const socket = sockets.get(deviceId);
      if (socket === undefined || socket.readyState !== socket.OPEN || socket.bufferedAmount > unreadLimitBytes) {
        throw new DeviceNotOnChannel('queue');
      }
      const frame: QueueFrame = { command };
      await new Promise<void>((resolve, reject) => {
        socket.send(JSON.stringify(frame), (error) => (error ? reject(new SendUnclear('queue', error)) : resolve()));
      });
    },

    disconnectDevice(deviceId) {
      sockets.get(deviceId)?.close(endedCode, 'The device may no longer connect.');
    },
  };
}

function readBasic(header: string | undefined): { deviceId: string; secret: string } | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=_-]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const deviceId = text.slice(0, colon).toLowerCase();
  return colon > 0 && isDeviceId(deviceId) ? { deviceId, secret: text.slice(colon + 1) } : undefined;
}

/** There is no HTTP response object on an upgrade: the envelope [D7] is written by hand. */
function refuse(socket: Duplex, httpStatus: 401 | 503, errorName: ErrorName, sentence: string): void {
  const body = JSON.stringify({ errorCode: errorCodes[errorName].code, errorMessage: `${errorName}: ${sentence}` });
  const head = [
    `HTTP/1.1 ${httpStatus} ${httpStatus === 401 ? 'Unauthorized' : 'Service Unavailable'}`,
    ...(httpStatus === 401 ? ['WWW-Authenticate: Basic realm="tillgate"'] : []),
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

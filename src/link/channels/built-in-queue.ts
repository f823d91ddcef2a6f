// The queue channel with nothing installed: a WebSocket at {base_url}/queue, HTTP Basic with DeviceID and secret, JSON frames.
// The HTTP server judges the login and hands over sockets whose device is known.
// One socket a device: a second one replaces the first. A socket that does not answer pings is closed. Nothing is queued for an absent device.
// One that sends more than its share is read slowly, one that does not read what it asked for is ended, and one that connects without end waits [D62].
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Cancel, type Clock, every } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../channel.ts';
import { maxFrameBytes, readDeviceFrame } from '../messages.ts';
import { maxMessageBytes } from '../protocol.ts';
import type { QueueFrame } from '../wire-schemas.ts';
import { createLoginLimit } from './login-limit.ts';
import { createPace } from './reading-pace.ts';

export interface BuiltInQueueOptions {
  clock: Clock;
  logger: Logger;
  /** Logins of one device at once; then one a second. */
  deviceLogins?: number;
}

/** What the HTTP server hands over: a device that has logged in and wants a WebSocket. */
export interface QueueUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
  deviceId: string;
  refuse(error: GatewayError): void;
}

export interface BuiltInQueue extends Channel {
  /** For the HTTP server's upgrades at `/queue`; before start and after stop it answers 503. */
  readonly handleUpgrade: (upgrade: QueueUpgrade) => void;
  disconnectDevice(deviceId: string): void;
}

const pingEveryMs = 15_000;
/** More than this unread by the device: it hangs, and what is sent now would come at some other time. */
const maxUnreadBytes = 4 * maxMessageBytes;
/** Somewhat too large is dropped; far too large ends the connection. */
const maxPayloadBytes = maxFrameBytes + 1024;
const presenceFrame = /^\s*\{\s*"presence"/;
const replacedCode = 4000;
const endedCode = 4001;

export function createBuiltInQueue(options: BuiltInQueueOptions): BuiltInQueue {
  const { clock, logger } = options;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxPayloadBytes,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
  });
  const sockets = new Map<string, WebSocket>();
  const silentSincePing = new WeakSet<WebSocket>();
  /** Replaced sockets get a second for the closing handshake. */
  const leaving = new Map<WebSocket, Cancel>();
  const loginsOf = createLoginLimit(clock, options.deviceLogins);
  let listener: ChannelListener | undefined;
  let stopPinging: Cancel = () => {};

  // A handshake that the library cannot take: it asks here for the answer, which is the envelope.
  const underWay = new WeakMap<IncomingMessage, QueueUpgrade>();
  server.on('wsClientError', (error, socket, request) => {
    const sentence = `The WebSocket handshake is malformed: ${error.message}.`;
    const refused = underWay.get(request);
    if (refused) refused.refuse(new GatewayError('Invalid_Request', sentence, { httpStatus: 400 }));
    else socket.destroy();
  });

  function upgrade(upgraded: QueueUpgrade): void {
    const { request, socket, head, deviceId } = upgraded;
    socket.on('error', (error) => logger.debug({ err: error }, 'a socket of the built-in queue failed'));
    if (listener === undefined) {
      upgraded.refuse(new GatewayError('Internal_error', 'The queue is not open.', { httpStatus: 503, retryAfterS: 1 }));
      return;
    }
    const retryAfterS = loginsOf.take(deviceId);
    if (retryAfterS !== undefined) {
      listener.dropped('queue', 'over-budget', deviceId);
      upgraded.refuse(new GatewayError('Too_Many_Requests', 'This device connects too often.', { retryAfterS }));
      return;
    }
    underWay.set(request, upgraded);
    server.handleUpgrade(request, socket, head, (webSocket) => welcome(deviceId, webSocket));
  }

  function welcome(deviceId: string, socket: WebSocket): void {
    const previous = sockets.get(deviceId);
    sockets.set(deviceId, socket);
    const paced = paceOf(socket);
    socket.on('message', (data, isBinary) => {
      paced((data as Buffer).length);
      received(deviceId, socket, data as Buffer, isBinary);
    });
    socket.on('ping', (data) => {
      paced(data.length);
      silentSincePing.delete(socket);
      // Who asks and does not read the answers would have them heaped up here.
      if (socket.bufferedAmount > maxUnreadBytes) socket.terminate();
      else socket.pong(data);
    });
    socket.on('pong', (data) => {
      paced(data.length);
      silentSincePing.delete(socket);
    });
    socket.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') listener?.dropped('queue', 'too-large', deviceId);
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

  /** Called for each frame; stops reading for a moment when they come too fast. What was read already is still delivered. */
  function paceOf(socket: WebSocket): (bytes: number) => void {
    const pace = createPace(clock);
    let isResting = false;
    return (bytes) => {
      const restMs = pace.restAfter(1, bytes);
      if (restMs === 0 || isResting) return;
      isResting = true;
      socket.pause();
      const cancel = clock.after(restMs, () => {
        isResting = false;
        socket.off('close', cancel);
        socket.resume();
      });
      socket.once('close', cancel);
    };
  }

  function received(deviceId: string, socket: WebSocket, data: Buffer, isBinary: boolean): void {
    silentSincePing.delete(socket);
    // Also what a replaced socket still had under way is this device's own word.
    if (listener === undefined) return;
    if (isBinary) return listener.dropped('queue', 'not-json', deviceId);
    const read = () => {
      const reading = readDeviceFrame(data, deviceId);
      if (reading.message === undefined) listener?.dropped('queue', reading.problem, deviceId);
      else if (reading.message.answer) listener?.answer('queue', deviceId, reading.message.answer);
      else if (reading.message.presence && sockets.get(deviceId) === socket)
        listener?.presence('queue', deviceId, reading.message.presence);
    };
    // Only a guess, for the budget: the frame itself is read in any case as what it is.
    const kind = presenceFrame.test(data.toString('latin1', 0, 64)) ? 'presence' : 'answer';
    listener.offer('queue', deviceId, { kind, bytes: data, read });
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
    handleUpgrade: upgrade,

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
      if (socket === undefined || socket.readyState !== socket.OPEN || socket.bufferedAmount > maxUnreadBytes) {
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

// The queue channel without external services: a WebSocket at {base_url}/queue, HTTP Basic with DeviceID and secret, JSON frames.
// The HTTP server checks the login and passes the socket on with the device's id. Nothing is queued for an offline device.
// Logins of a device are rate-limited [D62].
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Clock } from '../../../kernel/clock.ts';
import { GatewayError, invalidRequest } from '../../../kernel/error-codes.ts';
import type { Logger } from '../../../kernel/logger.ts';
import type { RateLimiter } from '../../../kernel/rate-limiter.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../../channel.ts';
import { maxFrameBytes, readDeviceFrame } from '../../messages.ts';
import { maxMessageFragments } from '../../protocol.ts';
import type { CommandMessage, QueueFrame } from '../../wire-schemas.ts';
import { createDevicePlaces, type DevicePlaces } from '../device-places.ts';
import { createLoginLimit } from '../login-limit.ts';
import { DeviceSockets, type Frame } from './device-sockets.ts';

export interface BuiltInQueueOptions {
  clock: Clock;
  logger: Logger;
  /** Burst of logins of one device; then one a second. */
  deviceLogins?: number;
  /** Devices that may be connected at once. */
  maxDevices?: number;
  /** Rate limit of a device; sockets are read at a multiple of it. */
  messagesPerS?: number | undefined;
}

/** The WebSocket request of a device that has logged in, from the HTTP server. */
export interface QueueUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
  deviceId: string;
  merchantId: string;
  refuse(error: GatewayError): void;
}

/** A frame slightly above the maximum is dropped; a larger one ends the connection. */
const maxPayloadBytes = maxFrameBytes + 1024;
const presenceFrame = /^\s*\{\s*"presence"/;
const endedCode = 4001;
const defaultMaxDevices = 10_000;

export class BuiltInQueue implements Channel {
  readonly name = 'queue';
  readonly tellsAbsence = true;
  readonly #logger: Logger;
  readonly #server: WebSocketServer;
  readonly #sockets: DeviceSockets;
  readonly #loginsOf: RateLimiter;
  readonly #places: DevicePlaces;
  readonly #upgrades = new WeakMap<IncomingMessage, QueueUpgrade>();
  #listener: ChannelListener | undefined;

  constructor({ clock, logger, deviceLogins, maxDevices = defaultMaxDevices, messagesPerS }: BuiltInQueueOptions) {
    this.#logger = logger;
    this.#loginsOf = createLoginLimit(clock, deviceLogins);
    this.#places = createDevicePlaces(maxDevices);
    this.#sockets = new DeviceSockets({
      clock,
      logger,
      messagesPerS,
      onFrame: (frame) => this.#received(frame),
      onTooLarge: (deviceId) => this.#listener?.dropped('queue', 'too-large', deviceId),
      onGone: (deviceId) => this.#listener?.gone('queue', deviceId),
    });
    this.#server = this.#createServer();
  }

  get isConnected(): boolean {
    return this.#listener !== undefined;
  }

  async start(listener: ChannelListener): Promise<void> {
    this.#listener = listener;
    this.#sockets.start();
    listener.up('queue');
  }

  async stop(): Promise<void> {
    this.#listener = undefined;
    this.#sockets.stop();
  }

  async send(deviceId: string, command: CommandMessage, _expiresInMs: number): Promise<void> {
    if (this.#listener === undefined) throw new ChannelDown('queue');
    const socket = this.#sockets.writable(deviceId);
    if (socket === undefined) throw new DeviceNotOnChannel('queue');
    const frame: QueueFrame = { command };
    await new Promise<void>((resolve, reject) => {
      socket.send(JSON.stringify(frame), (error) => (error ? reject(new SendUnclear('queue', error)) : resolve()));
    });
  }

  disconnectDevice(deviceId: string): void {
    this.#sockets.cutOff(deviceId, endedCode, 'The device may no longer connect.');
  }

  /** For the HTTP server's upgrades at `/queue`; before start and after stop it answers 503. */
  handleUpgrade(upgrade: QueueUpgrade): void {
    const { request, socket, head, deviceId } = upgrade;
    socket.on('error', (error) => this.#logger.debug({ err: error }, 'a socket of the built-in queue failed'));
    if (this.#listener === undefined) {
      upgrade.refuse(new GatewayError('Internal_error', 'The queue is not open.', { httpStatus: 503, retryAfterS: 1 }));
      return;
    }
    const retryAfterS = this.#loginsOf.take(deviceId);
    if (retryAfterS !== undefined) {
      this.#listener.dropped('queue', 'over-budget', deviceId);
      upgrade.refuse(new GatewayError('Too_Many_Requests', 'This device connects too often.', { retryAfterS }));
      return;
    }
    const place = this.#places.take(upgrade, () => socket.destroy());
    if (place === undefined) {
      this.#logger.warn(
        { deviceId, merchantId: upgrade.merchantId, places: this.#places.taken },
        'the built-in queue has no place for a device',
      );
      upgrade.refuse(new GatewayError('Too_Many_Requests', 'All places of the queue are taken.', { retryAfterS: 10 }));
      return;
    }
    socket.once('close', () => place.leave());
    this.#upgrades.set(request, upgrade);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#sockets.add(deviceId, webSocket, socket));
  }

  #createServer(): WebSocketServer {
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: maxPayloadBytes,
      // An empty fragment costs time as well, and no event reports it.
      maxFragments: maxMessageFragments,
      // A chunk of the socket costs memory besides its bytes.
      maxBufferedChunks: 4 * (maxPayloadBytes / 1024),
      perMessageDeflate: false,
      clientTracking: false,
      autoPong: false,
    });
    // The library calls this for a malformed handshake; the answer has the envelope.
    server.on('wsClientError', (error, socket, request) => {
      const sentence = `The WebSocket handshake is malformed: ${error.message}.`;
      const upgrade = this.#upgrades.get(request);
      if (upgrade) upgrade.refuse(invalidRequest(sentence));
      else socket.destroy();
    });
    return server;
  }

  #received({ deviceId, data, isBinary, isFromCurrent }: Frame): void {
    if (this.#listener === undefined) return;
    if (isBinary) return this.#listener.dropped('queue', 'not-json', deviceId, { why: 'it is a binary frame' });
    const read = () => {
      const reading = readDeviceFrame(data, deviceId);
      const { message } = reading;
      if (message === undefined) this.#listener?.dropped('queue', reading.problem, deviceId, reading);
      // An answer on a replaced socket still counts; presence on it is outdated.
      else if (message.answer) this.#listener?.answer('queue', deviceId, message.answer);
      else if (message.presence && isFromCurrent()) this.#listener?.presence('queue', deviceId, message.presence);
    };
    // An estimate, only for the budget; parsing decides the real kind.
    const kind = presenceFrame.test(data.toString('latin1', 0, 64)) ? 'presence' : 'answer';
    this.#listener.offer('queue', deviceId, { kind, bytes: data, read });
  }
}

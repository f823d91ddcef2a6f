// The WebSockets of the built-in queue, one per device: a second one replaces the first, whose end is reported before any message of the
// second. A socket that does not answer pings, or does not read, is ended; one that sends more than its share is read slowly [D62]. Once a
// device is disconnected, its messages are ignored, whether it closes the socket or not.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type Cancel, type Clock, every } from '../../../kernel/clock.ts';
import type { Logger } from '../../../kernel/logger.ts';
import { maxMessageBytes } from '../../protocol.ts';
import { paceReading } from '../reading-pace.ts';

export interface Frame {
  deviceId: string;
  data: Buffer;
  isBinary: boolean;
  /** False if another socket of the device has replaced that of the message. */
  isFromCurrent(): boolean;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  /** Rate limit of a device; sockets are read at a multiple of it. */
  messagesPerS?: number | undefined;
  onFrame(frame: Frame): void;
  onTooLarge(deviceId: string): void;
  /** The socket of the device has closed or was replaced. */
  onGone(deviceId: string): void;
}

interface Leaving {
  deviceId: string;
  stopWaiting: Cancel;
}

/** A message of too many bytes, or of too many fragments or chunks. */
const tooLarge = new Set(['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'WS_ERR_TOO_MANY_BUFFERED_PARTS']);
const pingEveryMs = 15_000;
const leaveWithinMs = 1_000;
const replacedCode = 4000;
/** Above this the device does not read, and a command sent now would arrive late. */
const maxUnreadBytes = 4 * maxMessageBytes;

export class DeviceSockets {
  readonly #deps: Deps;
  readonly #sockets = new Map<string, WebSocket>();
  readonly #silentSincePing = new WeakSet<WebSocket>();
  /** Replaced or cut-off sockets, until their closing handshake ends or times out. */
  readonly #leaving = new Map<WebSocket, Leaving>();
  readonly #ignored = new WeakSet<WebSocket>();
  #stopPinging: Cancel = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopPinging = every(this.#deps.clock, pingEveryMs, () => this.#pingAll());
  }

  stop(): void {
    this.#stopPinging();
    const closing = [...this.#sockets.values(), ...this.#leaving.keys()];
    this.#sockets.clear();
    for (const { stopWaiting } of this.#leaving.values()) stopWaiting();
    for (const socket of closing) {
      socket.close(1001, 'The gateway is stopping.');
      socket.terminate();
    }
  }

  /** `raw` is what the WebSocket reads. */
  add(deviceId: string, socket: WebSocket, raw: Duplex): void {
    const previous = this.#sockets.get(deviceId);
    this.#sockets.set(deviceId, socket);
    this.#listen(deviceId, socket, raw);
    if (previous) this.#replace(deviceId, previous);
  }

  /** The device's socket, if the device reads it. */
  writable(deviceId: string): WebSocket | undefined {
    const socket = this.#sockets.get(deviceId);
    return socket !== undefined && socket.readyState === socket.OPEN && !hangs(socket) ? socket : undefined;
  }

  /** All further messages on the device's sockets, also on replaced ones, are ignored. */
  cutOff(deviceId: string, code: number, reason: string): void {
    for (const [socket, leaving] of this.#leaving) if (leaving.deviceId === deviceId) this.#ignored.add(socket);
    const socket = this.#sockets.get(deviceId);
    if (socket === undefined) return;
    this.#ignored.add(socket);
    this.#sockets.delete(deviceId);
    this.#deps.onGone(deviceId);
    this.#startClosing(deviceId, socket, code, reason);
  }

  #listen(deviceId: string, socket: WebSocket, raw: Duplex): void {
    const { clock, logger, messagesPerS, onFrame, onTooLarge } = this.#deps;
    // Frames already read are still delivered during a pause.
    const pace = paceReading(clock, socket, messagesPerS, { off: () => socket.pause(), on: () => socket.resume() });
    raw.on('data', (chunk: Buffer) => pace.count(0, chunk.length));
    const countFrame = () => {
      pace.count(1, 0);
      this.#silentSincePing.delete(socket);
    };
    socket.on('message', (data, isBinary) => {
      countFrame();
      if (this.#ignored.has(socket)) return;
      onFrame({ deviceId, data: data as Buffer, isBinary, isFromCurrent: () => this.#sockets.get(deviceId) === socket });
    });
    socket.on('ping', (data) => {
      countFrame();
      // Pongs to a device that does not read would fill the memory.
      if (hangs(socket)) socket.terminate();
      else socket.pong(data);
    });
    socket.on('pong', countFrame);
    socket.on('error', (error: Error & { code?: string }) => {
      if (tooLarge.has(error.code ?? '')) onTooLarge(deviceId);
      logger.debug({ err: error, deviceId }, 'a socket of the built-in queue failed');
    });
    socket.on('close', () => this.#closed(deviceId, socket));
  }

  #replace(deviceId: string, previous: WebSocket): void {
    this.#deps.onGone(deviceId);
    this.#startClosing(deviceId, previous, replacedCode, 'A second connection of this device has replaced this one.');
  }

  #startClosing(deviceId: string, socket: WebSocket, code: number, reason: string): void {
    socket.close(code, reason);
    const stopWaiting = this.#deps.clock.after(leaveWithinMs, () => socket.terminate());
    this.#leaving.set(socket, { deviceId, stopWaiting });
  }

  #closed(deviceId: string, socket: WebSocket): void {
    this.#leaving.get(socket)?.stopWaiting();
    this.#leaving.delete(socket);
    // The end of a replaced or disconnected socket was already reported.
    if (this.#sockets.get(deviceId) !== socket) return;
    this.#sockets.delete(deviceId);
    this.#deps.onGone(deviceId);
  }

  #pingAll(): void {
    for (const socket of this.#sockets.values()) {
      if (this.#silentSincePing.has(socket)) socket.terminate();
      else {
        this.#silentSincePing.add(socket);
        socket.ping();
      }
    }
  }
}

function hangs(socket: WebSocket): boolean {
  return socket.bufferedAmount > maxUnreadBytes;
}

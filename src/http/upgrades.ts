// WebSocket upgrades: matched by path, authenticated like any other request, and then passed to the handler with the device's id [D10].
// Every refusal has the envelope; a wrong login is 10 with HTTP 401.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DeviceCaller } from '../kernel/callers.ts';
import type { Cancel } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { protocolFailure } from './envelope.ts';

export interface Upgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
  deviceId: string;
  merchantId: string;
  /** Answers with the error instead of upgrading, and closes the socket. */
  refuse(error: GatewayError): void;
}

/** Takes over the socket. */
export type UpgradeHandler = (upgrade: Upgrade) => void;

export interface UpgradesDeps {
  /** The device of the credential in the header; throws if it is missing or wrong. */
  authenticate: (authorization: string | undefined) => Promise<DeviceCaller>;
  /** Calls back with each device that loses the right to connect. */
  onCutOff: (listener: (deviceId: string) => void) => Cancel;
  /** Why upgrades are refused now; undefined while they are accepted. */
  whyNot: () => GatewayError | undefined;
  refuse: (socket: Duplex, error: GatewayError, extraHeaders?: readonly string[]) => void;
  /** The login could not be checked, for a reason outside the device. */
  failed: (error: unknown) => void;
  /** The device on this socket is authenticated. */
  loggedIn: (socket: Duplex) => void;
}

export type Upgrades = ReturnType<typeof createUpgrades>;

const webSocketKey = /^[+/0-9A-Za-z]{22}==$/;

function pathOf(request: IncomingMessage): string {
  return (
    (request.url ?? '')
      .split('?', 1)[0]
      ?.replace(/(?<=.)\/$/, '')
      .toLowerCase() ?? ''
  );
}

export function createUpgrades({ authenticate, onCutOff, whyNot, refuse, failed, loggedIn }: UpgradesDeps) {
  const handlers = new Map<string, UpgradeHandler>();
  const upgraded = new Set<Duplex>();

  function refuseUpgrade(socket: Duplex, error: GatewayError): void {
    refuse(socket, error, error.httpStatus === 401 ? ['WWW-Authenticate: Basic realm="tillgate"'] : []);
  }

  async function judge(request: IncomingMessage, socket: Duplex, head: Buffer, handler: UpgradeHandler): Promise<void> {
    const cutOff = new Set<string>();
    const stopListening = onCutOff((deviceId) => cutOff.add(deviceId));
    try {
      const { deviceId, merchantId } = await authenticate(request.headers.authorization);
      // The handler closes the open connection of a disabled device; this one was not open yet.
      if (cutOff.has(deviceId)) throw cutOffMeanwhile();
      const reason = whyNot();
      if (reason !== undefined) throw reason;
      if (socket.destroyed) return;
      loggedIn(socket);
      handler({ request, socket, head, deviceId, merchantId, refuse: (error) => refuseUpgrade(socket, error) });
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) failed(thrown);
      refuseUpgrade(socket, refusalOf(thrown));
    } finally {
      stopListening();
    }
  }

  return {
    onUpgrade(path: string, handler: UpgradeHandler): void {
      handlers.set(path.toLowerCase(), handler);
    },
    /** Node calls this for each request with an Upgrade header; if false, the header is ignored. */
    shouldUpgrade(request: IncomingMessage): boolean {
      // Java's HTTP client sends Upgrade: h2c with its first POST to a plain-HTTP server; that must stay an ordinary request.
      return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket' && handlers.has(pathOf(request));
    },
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      socket.on('error', () => {});
      const handler = handlers.get(pathOf(request));
      if (handler === undefined) {
        refuse(socket, protocolFailure(404, 'There is nothing to upgrade to at this path.'));
      } else if (request.headers['sec-websocket-version'] !== '13') {
        refuse(socket, protocolFailure(426, 'The header Sec-WebSocket-Version must be 13.'), ['Sec-WebSocket-Version: 13']);
      } else if (!webSocketKey.test(request.headers['sec-websocket-key'] ?? '')) {
        refuse(socket, protocolFailure(400, 'The header Sec-WebSocket-Key must be 16 bytes in Base64.'));
      } else {
        (socket as Socket).setTimeout(0);
        upgraded.add(socket);
        socket.once('close', () => upgraded.delete(socket));
        void judge(request, socket, head, handler);
      }
    },
    end(): void {
      for (const socket of upgraded) socket.destroy();
    },
  };
}

function cutOffMeanwhile(): GatewayError {
  const sentence = 'The right of this device to connect was changed while it logged in; try again.';
  return new GatewayError('Internal_error', sentence, { httpStatus: 503, retryAfterS: 1 });
}

/** A refused upgrade is never status 200: clients check only the status. */
function refusalOf(thrown: unknown): GatewayError {
  if (!(thrown instanceof GatewayError)) return new GatewayError('Internal_error', 'The login could not be checked.', { httpStatus: 503 });
  if (thrown.httpStatus !== 200) return thrown;
  const httpStatus = thrown.errorName === 'Invalid_API_Key' ? 401 : 503;
  return new GatewayError(thrown.errorName, thrown.message, { httpStatus, cause: thrown });
}

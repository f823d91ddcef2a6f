// The ports of the embedded broker, plain and TLS, and all their sockets. Unauthenticated clients reach these ports: the gate bounds the
// number of connections, and each socket has limits on packet size and rate from its first byte on [D62].
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Aedes, Client } from 'aedes';
import type { Clock } from '../../../kernel/clock.ts';
import type { Logger } from '../../../kernel/logger.ts';
import { networkOf } from '../../../kernel/network-of.ts';
import { maxMessageBytes } from '../../protocol.ts';
import type { PlacedDevice } from '../device-places.ts';
import { type Admission, type ConnectionGate, createConnectionGate, type GateLimits } from './connection-gate.ts';
import { holdSocket } from './held-socket.ts';

export interface BrokerPortsOptions {
  host: string;
  /** For MQTT without encryption. 0: any free port; see `plain`. undefined: none. */
  port: number | undefined;
  /** For MQTT over TLS; `context` is called for each connection, so that a renewed certificate applies to the next one. */
  secure?: { port: number; context(): SecureContext } | undefined;
  clock: Clock;
  logger: Logger;
  limits: GateLimits;
  /** Rate limit of a device; sockets are read at a multiple of it. */
  messagesPerS?: number | undefined;
  /** A connection was ended because it exceeded its size or rate limit. */
  onCut(client: Client, why: 'too-large' | 'over-budget'): void;
}

/**
 * A message slightly above the maximum is dropped and counted; far above it ends the connection. A login contains at most a short will. Many
 * more chunks than any network makes of a packet.
 */
const packetLimits = { firstBytes: 16 * 1024, firstChunks: 128, bytes: 2 * maxMessageBytes, controlBytes: 4 * 1024, chunks: 4_096 };

export class BrokerPorts {
  readonly #options: BrokerPortsOptions;
  readonly #gate: ConnectionGate;
  readonly #sockets = new Set<Socket>();
  readonly #admissions = new WeakMap<object, Admission>();
  #servers: { plain?: Server; secure?: Server } = {};

  constructor(options: BrokerPortsOptions) {
    this.#options = options;
    this.#gate = createConnectionGate(options.clock, options.limits);
  }

  get plain(): number | undefined {
    return portOf(this.#servers.plain);
  }

  get secure(): number | undefined {
    return portOf(this.#servers.secure);
  }

  /** `handle` turns a socket into an MQTT client. If this rejects, one of the ports may be open: see `stopListening`. */
  async open(handle: Aedes['handle']): Promise<void> {
    const { port, secure } = this.#options;
    if (port !== undefined) this.#servers.plain = await this.#listen(port, (socket) => this.#accept(handle, socket, undefined));
    if (secure !== undefined)
      this.#servers.secure = await this.#listen(secure.port, (socket) => this.#accept(handle, socket, secure.context()));
  }

  /** The client of the connection `conn` has logged in as a device. False: there is no place for it. */
  loggedIn(conn: object, device: PlacedDevice): boolean {
    return this.#admissions.get(conn)?.loggedIn(device) ?? true;
  }

  /** Accepts no new connection; resolves when all have ended. */
  async stopListening(): Promise<void> {
    const servers = Object.values(this.#servers);
    this.#servers = {};
    await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(handle: Aedes['handle'], raw: Socket, context: SecureContext | undefined): void {
    const { clock, messagesPerS, onCut } = this.#options;
    const admission = this.#gate.enter(networkOf(raw.remoteAddress ?? ''), () => raw.destroy());
    this.#sockets.add(raw);
    raw.on('close', () => {
      this.#sockets.delete(raw);
      admission.leave();
    });
    raw.on('error', () => raw.destroy());
    const socket = context === undefined ? raw : new TLSSocket(raw, { isServer: true, secureContext: context });
    this.#admissions.set(socket, admission);
    const client = handle(socket);
    // A failed handshake ends the connection.
    socket.on('error', () => socket.destroy());
    holdSocket(socket, { clock, limits: packetLimits, messagesPerS, cut: (why) => onCut(client, why) });
  }

  async #listen(port: number, accept: (socket: Socket) => void): Promise<Server> {
    // Without no-delay, a message could wait up to 40 ms for a TCP acknowledgement.
    const server = createServer({ noDelay: true, keepAlive: true }, accept);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, this.#options.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => this.#options.logger.error({ err: error }, 'the embedded broker failed to listen'));
    return server;
  }
}

function portOf(server: Server | undefined): number | undefined {
  return (server?.address() as AddressInfo | null | undefined)?.port;
}

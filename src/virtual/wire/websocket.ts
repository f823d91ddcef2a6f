// The device's side of the built-in queue: one WebSocket, HTTP Basic, one JSON frame per message.
import WebSocket from 'ws';
import { type Clock, every } from '../../kernel/clock.ts';
import { maxMessageBytes, maxMessageFragments } from '../../link/protocol.ts';
import type { QueueFrame } from '../../link/wire-schemas.ts';
import { isJsonObject } from '../client/command-reader.ts';
import { type Connector, type ConnectorOptions, createReconnecting, type Wire, type WireListener } from '../client/connector.ts';

const connectTimeoutMs = 5_000;
const pingEveryMs = 15_000;

export const createWebSocketConnector = (options: ConnectorOptions): Connector =>
  createReconnecting({ ...options, channel: 'queue', connect: (listener) => connectOnce(options, listener) });

function connectOnce({ url, deviceId, secret, clock }: ConnectorOptions, listener: WireListener): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: { authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}` },
      handshakeTimeout: connectTimeoutMs,
      perMessageDeflate: false,
      // A frame is a command with a wrapper; the size of the command is checked when it is parsed.
      maxPayload: maxMessageBytes + 1_024,
      maxFragments: maxMessageFragments,
    });
    let stopPinging = () => {};
    socket.on('error', reject);
    socket.once('close', () => {
      stopPinging();
      reject(new Error('The queue closed the connection.'));
      listener.lost();
    });
    socket.on('message', (data: Buffer) => {
      const command = commandIn(data);
      if (command) listener.command(command);
    });
    socket.once('open', () => {
      stopPinging = pingRegularly(socket, clock);
      resolve(wireOf(socket));
    });
  });
}

// A malformed frame is passed on unchanged, for the device to drop and count.
function commandIn(data: Buffer): Uint8Array | undefined {
  try {
    const frame: unknown = JSON.parse(data.toString('utf8'));
    if (!isJsonObject(frame)) return data;
    return frame.command === undefined ? undefined : Buffer.from(JSON.stringify(frame.command));
  } catch {
    return data;
  }
}

/** Closes the socket if a ping is not answered before the next one. */
function pingRegularly(socket: WebSocket, clock: Clock): () => void {
  let isAlive = true;
  socket.on('pong', () => {
    isAlive = true;
  });
  return every(clock, pingEveryMs, () => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  });
}

function wireOf(socket: WebSocket): Wire {
  function send(frame: QueueFrame): void {
    if (socket.readyState !== WebSocket.OPEN) throw new Error('The queue is not connected.');
    socket.send(JSON.stringify(frame));
  }

  return {
    sendAnswer: (answer) => send({ answer }),
    sendPresence: (presence) => send({ presence }),
    close: () =>
      new Promise((resolve) => {
        if (socket.readyState === WebSocket.CLOSED) return resolve();
        socket.once('close', () => resolve());
        socket.close(1000);
      }),
    destroy: () => socket.terminate(),
  };
}

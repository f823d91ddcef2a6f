// The device's end of the built-in queue: one WebSocket, HTTP Basic, one JSON frame a message.
import WebSocket from 'ws';
import { type Clock, every } from '../../kernel/clock.ts';
import { maxMessageBytes } from '../../link/protocol.ts';
import type { QueueFrame } from '../../link/wire-schemas.ts';
import { isJsonObject } from '../client/command-reader.ts';
import { type Connector, createReconnecting, type Wire, type WireListener } from '../client/connector.ts';
import type { NetworkConnectorOptions } from './mqtt.ts';

const connectTimeoutMs = 5_000;
const pingEveryMs = 15_000;

export function createWebSocketConnector(options: NetworkConnectorOptions): Connector {
  const { clock, random, logger, deviceId } = options;
  return createReconnecting({ clock, random, logger, deviceId, channel: 'queue', connect: (listener) => connectOnce(options, listener) });
}

function connectOnce({ url, deviceId, secret, clock }: NetworkConnectorOptions, listener: WireListener): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: { authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}` },
      handshakeTimeout: connectTimeoutMs,
      perMessageDeflate: false,
      // A frame is a command and its wrapping; the command itself is measured when it is read.
      maxPayload: maxMessageBytes + 1_024,
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

// A frame that is none goes on as it is, for the device to drop and count.
function commandIn(data: Buffer): Uint8Array | undefined {
  try {
    const frame: unknown = JSON.parse(data.toString('utf8'));
    if (!isJsonObject(frame)) return data;
    return frame.command === undefined ? undefined : Buffer.from(JSON.stringify(frame.command));
  } catch {
    return data;
  }
}

/** A peer that answers no ping until the next one is gone, although the socket looks open. */
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

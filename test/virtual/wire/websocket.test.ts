import { createServer } from 'node:http';
import { describe } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { createWebSocketConnector } from '../../../src/virtual/wire/websocket.ts';
import { connectorContract, contractDevice, type GatewaySide } from './connector-contract.ts';

async function openQueue(): Promise<GatewaySide> {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  let live: WebSocket | undefined;
  const side: Pick<GatewaySide, 'answers' | 'presences'> = { answers: [], presences: [] };
  const expected = `Basic ${Buffer.from(`${contractDevice.deviceId}:${contractDevice.secret}`).toString('base64')}`;
  server.on('upgrade', (request, socket, head) => {
    if (request.url !== '/tillgate/queue' || request.headers.authorization !== expected) {
      socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (connected) => {
      live = connected;
      connected.on('message', (data: Buffer) => {
        const { answer, presence } = JSON.parse(data.toString());
        if (answer) side.answers.push({ replyTo: undefined, answer });
        if (presence) side.presences.push(presence);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    ...side,
    url: `ws://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/tillgate/queue`,
    saysGoodbye: false,
    send: async (bytes) => live?.send(`{"command":${bytes.toString()}}`),
    cut: async () => live?.terminate(),
    async stop() {
      live?.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('WebSocket connector on a queue', () => {
  connectorContract(openQueue, createWebSocketConnector);
});

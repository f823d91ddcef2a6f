// Slow connections that time out together are closed in batches, so that other requests are served in between [D62].

import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createConnections } from '../../src/http/connections.ts';
import type { Clock } from '../../src/kernel/clock.ts';

const tooLate = Object.assign(new Error('too late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
const turns: (() => void)[] = [];
const clock: Clock = {
  now: () => 0,
  elapsed: () => 0,
  after(_delayMs, action) {
    turns.push(action);
    return () => {};
  },
};
/** Runs the actions due now, but not those that they schedule. */
const turn = () => {
  for (const action of turns.splice(0)) action();
};

function createSocket() {
  let said = '';
  const socket = {
    writable: true,
    on: () => socket,
    destroy: () => {},
    end(text: string) {
      said += text;
      socket.writable = false;
    },
  };
  return { socket: socket as unknown as Socket, said: () => said };
}

it('closes a thousand slow connections in many batches, each with its 408', () => {
  let cut = 0;
  const connections = createConnections(clock, () => {
    cut += 1;
  });
  const slow = Array.from({ length: 1_000 }, createSocket);
  for (const { socket } of slow) connections.clientError(tooLate, socket);
  const perTurn: number[] = [];
  while (cut < slow.length) {
    const before = cut;
    turn();
    perTurn.push(cut - before);
    if (turns.length === 0) break;
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(50);
  expect(slow.every(({ said }) => said().startsWith('HTTP/1.1 408 '))).toBe(true);
});

it('writes no 408 after the answer of a request that arrived while its connection waited to be closed', () => {
  const connections = createConnections(clock, () => {});
  const server = Object.assign(new EventEmitter(), { setTimeout() {} });
  connections.attach(server as unknown as Server, 60_000);
  const begin = (socket: Socket, complete: boolean) => {
    const request = { socket, complete } as IncomingMessage;
    const response = Object.assign(new EventEmitter(), { closed: false }) as unknown as ServerResponse;
    server.emit('request', request, response);
    return { request, response };
  };

  const [beganMeanwhile, endedMeanwhile, stillSlow, halfMeanwhile] = [createSocket(), createSocket(), createSocket(), createSocket()];
  const body = begin(endedMeanwhile.socket, false);
  for (const { socket } of [beganMeanwhile, endedMeanwhile, stillSlow, halfMeanwhile]) connections.clientError(tooLate, socket);
  begin(halfMeanwhile.socket, false);
  const whole = begin(beganMeanwhile.socket, true);
  body.request.complete = true;
  for (const { response } of [whole, body]) Object.assign(response, { closed: true });
  turn();
  expect(beganMeanwhile.said()).toBe('');
  expect(endedMeanwhile.said()).toBe('');
  expect(stillSlow.said()).toMatch(/^HTTP\/1\.1 408 /);
  // Only its headers arrived: it is refused now, because Node reports a slow request only once.
  expect(halfMeanwhile.said()).toMatch(/^HTTP\/1\.1 408 /);
});

it('answers garbage once and at once, however much follows, without delaying slow connections', () => {
  const connections = createConnections(clock, () => {});
  const [rude, slow] = [createSocket(), createSocket()];
  const garbage = Object.assign(new Error('garbage'), { code: 'HPE_INVALID_METHOD' });
  for (let piece = 0; piece < 1_000; piece += 1) connections.clientError(garbage, rude.socket);
  expect(rude.said().match(/HTTP\/1\.1 400 /g)).toHaveLength(1);
  expect(turns).toEqual([]);
  connections.clientError(tooLate, slow.socket);
  turn();
  expect(slow.said()).toMatch(/^HTTP\/1\.1 408 /);
});

// Ending the connections of a device at RabbitMQ: at once, once more later, with bounded retries. The broker's own behaviour is
// tested in test/contract/rabbitmq.server.test.ts.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRabbitmqConnections, isEnded, type RabbitmqConnections } from '../../../src/link/brokers/rabbitmq-connections.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const deviceId = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';
let clock: VirtualClock;
let asked: string[];
let answer: (response: ServerResponse) => void;
let connections: RabbitmqConnections;
const problems: string[] = [];
const api = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
  answer(response);
});

beforeEach(async () => {
  clock = createVirtualClock();
  asked = [];
  problems.length = 0;
  answer = (response) => response.writeHead(204).end();
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const { port } = api.address() as AddressInfo;
  connections = createRabbitmqConnections({
    apiUrl: `http://till%40gate:p%3Aw@127.0.0.1:${port}/rabbit/`,
    clock,
    logger: { ...quietLogger, error: (_facts: object, sentence?: string) => void problems.push(String(sentence)) },
    maxWaiting: 3,
  });
});
afterEach(async () => {
  connections.stop();
  api.closeAllConnections();
  await new Promise((resolve) => api.close(resolve));
});

const login = Buffer.from('till@gate:p:w').toString('base64');
const call = (id = deviceId) => `DELETE /rabbit/api/connections/username/${id} Basic ${login}`;
const isAsked = (times: number) => expect.poll(() => asked.length).toBe(times);

it('ends connections at once, and once more after 7 s, when no instance caches the old secret', async () => {
  connections.end(deviceId);
  await isAsked(1);
  expect(asked).toEqual([call()]);
  await clock.advance(6_999);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await isAsked(2);
  await clock.advance(600_000);
  expect(asked).toHaveLength(2);
});

it('starts over when the connections of the same device are ended again', async () => {
  connections.end(deviceId);
  await isAsked(1);
  await clock.advance(6_000);
  connections.end(deviceId);
  await isAsked(2);
  await clock.advance(6_000);
  expect(asked).toHaveLength(2);
  await clock.advance(1_000);
  await isAsked(3);
});

it('checks that connections can be ended, and reports the error of the API otherwise', async () => {
  await connections.check();
  answer = (response) => response.writeHead(401).end();
  await expect(connections.check()).rejects.toThrow('HTTP 401: wrong user or password');
});

it('retries for five minutes when the API fails, then logs an error', async () => {
  answer = (response) => response.writeHead(500).end();
  connections.end(deviceId);
  await isAsked(1);
  for (let count = 2; count <= 61; count += 1) {
    await clock.advance(5_000);
    await isAsked(count);
  }
  await clock.advance(5_000);
  await isAsked(62);
  await clock.advance(600_000);
  expect(asked).toHaveLength(62);
  expect(problems).toHaveLength(1);
});

it('treats a device without connections as disconnected', async () => {
  answer = (response) => response.writeHead(404).end();
  connections.end(deviceId);
  await isAsked(1);
  await clock.advance(10_000);
  await isAsked(2);
  expect(problems).toEqual([]);
});

it('times out after five seconds, calls the API for one device at a time, and bounds the waiting devices', async () => {
  answer = () => {};
  for (const id of ['a', 'b', 'c', 'd']) connections.end(id);
  expect(problems).toHaveLength(1);
  await isAsked(1);
  await clock.advance(5_000);
  await isAsked(2);
  expect(asked).toEqual([call('a'), call('b')]);
});

it.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
  [404, true],
  [500, false],
])('treats HTTP %i as success: %s', (status, expected) => {
  expect(isEnded(status)).toBe(expected);
});

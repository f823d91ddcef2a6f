// What one caller on many connections can do to the others: of its requests a few begin in a turn of the event loop, fewer if they are large
// or while connections are accepted, so a request of another caller waits for those of one turn only. On real sockets.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { anonymousBeginsPerTurn, callerBeginsPerTurn, createBegins, createRequestTurns } from '../../src/http/begins.ts';
import { until } from '../support/until.ts';
import { openRaw, type RawConnection } from './raw-socket.ts';
import { base, createSample, deviceId, posKey, type Sample } from './sample-server.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('requests of one owner', () => {
  it('begin at once up to the bound of a turn, and the others in the next turns, in their order', async () => {
    const begins = createBegins();
    const begun: number[] = [];
    for (let n = 0; n < 10; n += 1) begins.enter({ owner: 'a', perTurn: 4 }, () => begun.push(n));
    expect(begun).toEqual([0, 1, 2, 3]);
    await turn();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // It does not overtake those that wait.
    begins.enter({ owner: 'a', perTurn: 4 }, () => begun.push(10));
    await turn();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('do not delay those of another', async () => {
    const begins = createBegins();
    const begun: string[] = [];
    for (let n = 0; n < 10; n += 1) begins.enter({ owner: 'a', perTurn: 2 }, () => begun.push('a'));
    begins.enter({ owner: 'b', perTurn: 2 }, () => begun.push('b'));
    expect(begun).toEqual(['a', 'a', 'b']);
  });

  it('that cost more than the bound of a turn are followed by as many turns without others', async () => {
    const begins = createBegins();
    const begun: number[] = [];
    for (let n = 0; n < 4; n += 1) begins.enter({ owner: 'a', perTurn: 4 }, () => begun.push(n), n === 0 ? 10 : 1);
    expect(begun).toEqual([0]);
    await turn();
    expect(begun).toEqual([0]);
    await turn();
    expect(begun).toEqual([0, 1, 2]);
    await turn();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('wait for as long as work that was charged when it was done', async () => {
    const begins = createBegins();
    const begun: string[] = [];
    begins.charge({ owner: 'a', perTurn: 4 }, 8);
    begins.charge({ owner: 'b', perTurn: 4 }, 0);
    for (const owner of ['a', 'b']) begins.enter({ owner, perTurn: 4 }, () => begun.push(owner));
    expect(begun).toEqual(['b']);
    await turn();
    expect(begun).toEqual(['b']);
    await turn();
    expect(begun).toEqual(['b', 'a']);
  });

  it('are an eighth in a turn that accepts a connection', async () => {
    const begins = createBegins();
    let begun = 0;
    const enter = (count: number) => {
      for (let n = 0; n < count; n += 1) begins.enter({ owner: 'a', perTurn: 16 }, () => (begun += 1));
    };
    begins.accepting();
    enter(100);
    expect(begun).toBe(2);
    begins.accepting();
    await turn();
    expect(begun).toBe(4);
    await turn();
    expect(begun).toBe(20);
  });

  it('leave nothing behind', async () => {
    const begins = createBegins();
    for (let n = 0; n < 3; n += 1) begins.enter({ owner: 'a', perTurn: 2 }, () => {});
    begins.charge({ owner: 'b', perTurn: 2 }, 5);
    await turn();
    await turn();
    await turn();
    expect(begins.owners).toBe(0);
  });
});

it('a request whose connection ends while it waits is never handled', async () => {
  const handled: FastifyRequest[] = [];
  const turns = createRequestTurns({ ownerOf: () => ({ name: 'a', isLoggedIn: false }) });
  const hook = turns.begin((request) => handled.push(request));
  const requests = Array.from({ length: anonymousBeginsPerTurn + 2 }, () => ({ raw: {} }) as FastifyRequest);
  const replies = requests.map(() => ({ raw: { destroyed: false } }) as FastifyReply);
  const gone: boolean[] = [];
  for (const [n, request] of requests.entries()) hook(request, replies[n] as FastifyReply, () => (gone[n] = true));
  Object.assign(replies.at(-1)?.raw ?? {}, { destroyed: true });
  await turn();
  expect(handled).toEqual(requests.slice(0, -1));
  expect(gone).toEqual(requests.slice(0, -1).map(() => true));
});

it('a large answer is charged to its caller when it is sent', async () => {
  const turns = createRequestTurns({ ownerOf: () => ({ name: 'a', isLoggedIn: false }) });
  let begun = 0;
  const hook = turns.begin(() => (begun += 1));
  const request = { raw: {} } as FastifyRequest;
  turns.answered(request, 'x'.repeat(anonymousBeginsPerTurn * 2 * 1_024));
  hook(request, { raw: { destroyed: false } } as FastifyReply, () => {});
  await turn();
  expect(begun).toBe(0);
  await turn();
  expect(begun).toBe(1);
});

describe('requests on hundreds of connections', () => {
  let sample: Sample;
  let port: number;
  let opened: RawConnection[];
  let received: number;

  const begin = async (proxies: string[] = []) => {
    sample = createSample({ trustedProxies: proxies });
    received = 0;
    sample.server.app.server.on('request', () => (received += 1));
    ({ port } = await sample.server.listen());
    opened = [];
  };
  beforeEach(() => begin());
  afterEach(async () => {
    for (const { socket } of opened) socket.destroy();
    await sample.server.stop(0);
  });

  const open = async () => {
    const connection = await openRaw(port);
    opened.push(connection);
    return connection;
  };
  const echo = (more: string) =>
    `POST ${base}/test/echo HTTP/1.1\r\nHost: x\r\n${more}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const status = `GET ${base}/Device/sample/Status?DeviceID=x HTTP/1.1\r\nHost: x\r\nX-API-Key: ${posKey}\r\n\r\n`;

  /** Connections that have made one request, so that all of their next ones arrive at once. */
  async function openMany(count: number, request: string): Promise<RawConnection[]> {
    const connections = await Promise.all(Array.from({ length: count }, open));
    for (const { socket } of connections) socket.write(request);
    await Promise.all(connections.map((connection) => connection.until((text) => text.endsWith('}'))));
    return connections;
  }

  /** The most that began in one turn until `isOver`. */
  async function mostInATurn(isOver: () => boolean, call = 'echo'): Promise<number> {
    let [most, before] = [0, sample.runs[call] ?? 0];
    while (!isOver()) {
      await turn();
      const now = sample.runs[call] ?? 0;
      [most, before] = [Math.max(most, now - before), now];
    }
    return most;
  }

  it('without a key begin a few at a time, and are all answered', async () => {
    const many = await openMany(300, echo(''));
    for (const { socket } of many) socket.write(echo(''));
    expect(await mostInATurn(() => sample.runs['echo'] === 600)).toBeLessThanOrEqual(2 * anonymousBeginsPerTurn);
  });

  it('of one caller begin a few at a time, too, but no fewer because of anonymous ones at the same address', async () => {
    const [anonymous, own] = [await openMany(300, echo('')), await openMany(100, status)];
    for (const { socket } of [...anonymous, ...own]) socket.write(echo(''));
    const most = await mostInATurn(() => sample.runs['echo'] === 700);
    expect(most).toBeGreaterThan(2 * anonymousBeginsPerTurn);
    expect(most).toBeLessThanOrEqual(2 * (anonymousBeginsPerTurn + callerBeginsPerTurn));
  });

  it('whose bodies arrive at one moment after their headers are handled a few at a time', async () => {
    const many = await openMany(300, status);
    for (const { socket } of many) socket.write(echo('').slice(0, -2));
    await until(() => received === 600);
    for (const { socket } of many) socket.write('{}');
    expect(await mostInATurn(() => sample.runs['echo'] === 300)).toBeLessThanOrEqual(2 * callerBeginsPerTurn);
  });

  it('with large bodies are handled fewer at a time', async () => {
    const many = await openMany(60, status);
    const pay = JSON.stringify({ APIKey: posKey, DeviceID: deviceId, amount: 1 }).padEnd(20_000);
    const head = `POST ${base}/Device/sample/Pay HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20000\r\n\r\n`;
    for (const { socket } of many) socket.write(head + pay);
    expect(await mostInATurn(() => sample.runs['Pay'] === 60, 'Pay')).toBeLessThanOrEqual(4);
  });

  it('begin one by one while connections are accepted, because a turn accepts one connection', async () => {
    const many = await openMany(60, status);
    let accepted = 0;
    const begunBefore: number[] = [];
    sample.server.app.server.on('connection', () => begunBefore.push(sample.runs['echo'] ?? 0));
    for (let n = 0; n < 60; n += 1) void open().then(() => (accepted += 1));
    for (const { socket } of many) socket.write(echo('').repeat(10));
    await until(() => accepted === 60 && begunBefore.length === 60 && sample.runs['echo'] === 600);
    const between = begunBefore.slice(1).map((begun, n) => begun - (begunBefore[n] ?? 0));
    expect(Math.max(...between)).toBeLessThanOrEqual(callerBeginsPerTurn / 4);
  });

  it('behind a trusted proxy count by the address that it reports', async () => {
    await sample.server.stop(0);
    await begin(['127.0.0.1/32']);
    const [many, one] = [await openMany(300, echo('')), await openMany(1, echo(''))];
    for (const { socket } of many) socket.write(echo('X-Forwarded-For: 203.0.113.7\r\n'));
    one[0]?.socket.write(echo('X-Forwarded-For: 203.0.113.8\r\n'));
    await one[0]?.until((text) => text.split('HTTP/1.1 ').length === 3);
    expect(sample.runs['echo']).toBeLessThan(600);
  });
});

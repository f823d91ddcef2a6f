// Incomplete connections and bodies [D62]: during such an attack other callers are served, even at the same address.
// Attackers use 127.0.0.2 and up; all of 127.0.0.0/8 is loopback.
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createBodyIntake } from '../../src/http/body-intake.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { base, createSample, deviceId, posKey, type Sample } from './sample-server.ts';

let sample: Sample | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  sample?.release();
  await sample?.server.stop(0);
  sample = undefined;
});

interface Attacker {
  socket: Socket;
  text: () => string;
  closed: Promise<void>;
}

/** Opens a connection from a given address and sends the first bytes. */
function attack(port: number, localAddress: string, words: string): Promise<Attacker> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
    });
    const closed = new Promise<void>((done) => socket.once('close', () => done()));
    socket.once('error', reject);
    socket.on('error', () => {});
    socket.once('connect', () => {
      socket.write(words);
      resolve({ socket, text: () => text, closed });
    });
  });
}

async function start(limits: Partial<HttpLimits>, trustedProxies: string[] = []) {
  sample = createSample({ limits, trustedProxies });
  return sample.server.listen();
}

async function pay(url: string): Promise<number> {
  const response = await fetch(`${url}/Device/sample/Pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ APIKey: posKey, DeviceID: deviceId, amount: 1 }),
  });
  return ((await response.json()) as { errorCode: number }).errorCode;
}

const head = (length: number, more = '') =>
  `POST ${base}/Device/sample/Pay HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`;

describe('unfinished bodies', () => {
  it('take no slot: with more of them than slots all others are served', async () => {
    const { port, url } = await start({ requestsInFlight: 5, bodiesPerAddress: 1_000 });
    for (let n = 0; n < 40; n += 1) await attack(port, `127.0.0.${2 + (n % 4)}`, `${head(100)}{"a"`);
    for (let time = 0; time < 10; time += 1) expect(await pay(url)).toBe(0);
  });

  it('above the limit of an address are refused, the oldest first, and other addresses are not affected', async () => {
    const { port, url } = await start({ bodiesPerAddress: 5 });
    const attackers: Attacker[] = [];
    for (let n = 0; n < 20; n += 1) {
      attackers.push(await attack(port, '127.0.0.2', `${head(100)}{"a"`));
      expect(await pay(url)).toBe(0);
    }
    await Promise.all(attackers.slice(0, 15).map(({ closed }) => closed));
    for (const { text } of attackers.slice(0, 15)) {
      expect(text()).toMatch(/^HTTP\/1\.1 408 /);
      expect(text()).toMatch(/"errorCode":40,.*did nothing/);
    }
    expect(attackers.slice(15).map(({ socket }) => socket.destroyed)).toEqual(Array(5).fill(false));
    // The newest can still complete.
    attackers.at(-1)?.socket.write(`:1}${' '.repeat(100 - 7)}`);
    await expect.poll(() => attackers.at(-1)?.text()).toMatch(/"errorCode":10/);
  });

  it('are counted by the forwarded address behind a trusted proxy', async () => {
    const { port } = await start({ bodiesPerAddress: 1 }, ['127.0.0.2/32']);
    const one = await attack(port, '127.0.0.2', `${head(100, 'X-Forwarded-For: 203.0.113.1\r\n')}{`);
    const other = await attack(port, '127.0.0.2', `${head(100, 'X-Forwarded-For: 203.0.113.2\r\n')}{`);
    await attack(port, '127.0.0.2', `${head(100, 'X-Forwarded-For: 203.0.113.1\r\n')}{`);
    await one.closed;
    expect(other.socket.destroyed).toBe(false);
  });

  it('that fill the memory limit are cut, and a normal body is received', async () => {
    const { port, url } = await start({ bufferedBytes: 2_000_000 });
    const attackers: Attacker[] = [];
    for (let n = 0; n < 12; n += 1) attackers.push(await attack(port, `127.0.0.${2 + n}`, `${head(1_000_000)}${'"'.padEnd(250_000, 'a')}`));
    await expect.poll(() => attackers.filter(({ socket }) => socket.destroyed).length).toBeGreaterThanOrEqual(5);
    for (let time = 0; time < 5; time += 1) expect(await pay(url)).toBe(0);
  });
});

describe('the memory for bodies', () => {
  const intakeOf = (bufferedBytes: number) => {
    const clock = createVirtualClock();
    return { clock, intake: createBodyIntake({ clock, bodyBytes: 1_048_576, bodiesPerAddress: 100, bufferedBytes }) };
  };
  const body = () => new Readable({ read() {} });

  it('is taken from the slowest first: a stalled or dripping body, not a new or steady one', async () => {
    const { clock, intake } = intakeOf(500_000);
    const outcomes: Record<string, string> = {};
    const begin = (name: string) => {
      const payload = body();
      intake.read(name, payload, undefined).then(
        () => (outcomes[name] = 'whole'),
        (error: Error) => (outcomes[name] = error.message),
      );
      return payload;
    };
    const [stalled, dripping, steady] = [begin('stalled'), begin('dripping'), begin('steady')];
    stalled.push(Buffer.alloc(200_000));
    dripping.push(Buffer.alloc(100_000));
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1_000);
      dripping.push(Buffer.alloc(1));
      steady.push(Buffer.alloc(10_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const fresh = begin('fresh');
    fresh.push(Buffer.alloc(60_000));
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcomes).toEqual({});
    fresh.push(Buffer.alloc(60_000));
    await expect.poll(() => outcomes['dripping'] ?? '').toMatch(/too slowly/);
    expect(intake.unfinished).toBe(3);
    fresh.push(Buffer.alloc(200_000));
    await expect.poll(() => outcomes['stalled'] ?? '').toMatch(/too slowly/);
    for (const payload of [fresh, steady]) payload.push(null);
    await expect.poll(() => [outcomes['fresh'], outcomes['steady']]).toEqual(['whole', 'whole']);
    expect([intake.unfinished, intake.bufferedBytes]).toEqual([0, 0]);
  });

  it('is released in every case: end, error, too large, wrong length', async () => {
    const { intake } = intakeOf(100_000_000);
    const ended = body();
    const broken = body();
    const large = body();
    const short = body();
    const all = Promise.allSettled([
      intake.read('a', ended, { contentLength: 2 }),
      intake.read('a', broken),
      intake.read('a', large),
      intake.read('a', short, { contentLength: 10 }),
      intake.read('a', body(), { contentLength: 1_048_577 }),
    ]);
    ended.push('{}');
    ended.push(null);
    broken.destroy(new Error('reset'));
    large.push(Buffer.alloc(1_048_577));
    short.push('{}');
    short.push(null);
    const results = (await all).map((result) => (result.status === 'fulfilled' ? String(result.value) : (result.reason as Error).message));
    expect(results).toEqual([
      '{}',
      'The connection ended before the whole request had arrived.',
      'The body must not be larger than 1 MiB.',
      'The header Content-Length must be equal to the length of the body.',
      'The body must not be larger than 1 MiB.',
    ]);
    expect([intake.unfinished, intake.bufferedBytes]).toEqual([0, 0]);
  });
});

describe('unauthenticated connections', () => {
  it('above the bound of their address end its oldest, and a healthy client at that address continues', async () => {
    const { port, url } = await start({ unauthenticatedPerAddress: 5 });
    const attackers: Attacker[] = [];
    for (let n = 0; n < 20; n += 1) {
      attackers.push(await attack(port, '127.0.0.1', n % 2 === 0 ? '' : 'GET / HTTP/1.1\r\nX'));
      expect(await pay(url)).toBe(0);
    }
    await expect.poll(() => attackers.filter(({ socket }) => socket.destroyed).length).toBeGreaterThanOrEqual(14);
    expect(attackers.at(-1)?.socket.destroyed).toBe(false);
  });

  it('do not affect an authenticated one, one whose answer is due, or other addresses', async () => {
    const { port } = await start({ unauthenticatedPerAddress: 2 });
    const known = await attack(
      port,
      '127.0.0.2',
      `GET ${base}/Device/sample/Status?APIKey=${posKey}&DeviceID=a HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    await expect.poll(() => known.text()).toMatch(/"errorCode":0/);
    const waiting = await attack(
      port,
      '127.0.0.2',
      `POST ${base}/test/slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await expect.poll(() => sample?.runs['slow']).toBe(1);
    const elsewhere = await attack(port, '127.0.0.3', 'GET');
    const attackers: Attacker[] = [];
    for (let n = 0; n < 6; n += 1) attackers.push(await attack(port, '127.0.0.2', 'GET'));
    await Promise.all(attackers.slice(0, 5).map(({ closed }) => closed));
    expect([known, waiting, elsewhere, attackers.at(-1)].map((one) => one?.socket.destroyed)).toEqual([false, false, false, false]);
    sample?.release();
    await expect.poll(() => waiting.text()).toMatch(/"done":true/);
  });

  it('are closed, oldest first, when the connections of all addresses are near the limit', async () => {
    const { port, url } = await start({ connections: 20 });
    const attackers: Attacker[] = [];
    for (let n = 0; n < 60; n += 1) attackers.push(await attack(port, `127.0.1.${1 + n}`, 'GET'));
    expect(await pay(url)).toBe(0);
    await expect.poll(() => attackers.filter(({ socket }) => socket.destroyed).length).toBeGreaterThanOrEqual(40);
  });

  it('of a trusted proxy are not counted', async () => {
    const { port } = await start({ unauthenticatedPerAddress: 2 }, ['127.0.0.2/32']);
    const proxied: Attacker[] = [];
    for (let n = 0; n < 10; n += 1) proxied.push(await attack(port, '127.0.0.2', 'GET'));
    const direct: Attacker[] = [];
    for (let n = 0; n < 3; n += 1) direct.push(await attack(port, '127.0.0.3', 'GET'));
    await direct[0]?.closed;
    expect(proxied.map(({ socket }) => socket.destroyed)).toEqual(Array(10).fill(false));
  });
});

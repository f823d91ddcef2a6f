// An MQTT socket is limited in rate and packet size before its bytes reach the parser.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { holdSocket } from '../../../../src/link/channels/mqtt/held-socket.ts';
import { createPace } from '../../../../src/link/channels/reading-pace.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const limits = { firstBytes: 100, firstChunks: 30, bytes: 1_000, controlBytes: 50, chunks: 40 };
const ping = Buffer.from([0xc0, 0]);
const message = (bytes: number) => Buffer.concat([Buffer.from([0x30, bytes]), Buffer.alloc(bytes)]);
const times = (count: number, packet: Buffer) => Buffer.concat(Array.from({ length: count }, () => packet));

class FakeSocket extends EventEmitter {
  readonly chunks: Buffer[] = [];
  destroyed = false;
  reads = 0;

  read(): Buffer | null {
    this.reads += 1;
    return this.chunks.shift() ?? null;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

let clock: VirtualClock;
let socket: FakeSocket;
let cuts: string[];
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  socket = new FakeSocket();
  cuts = [];
  holdSocket(socket as unknown as Socket, { clock, limits, cut: (why) => cuts.push(why) });
});

const read = (...chunks: Buffer[]) => {
  socket.chunks.push(...chunks);
  return socket.read();
};

describe('a held socket', () => {
  it('returns received bytes, and null when there are none', () => {
    const chunk = message(10);
    expect(read(chunk)).toBe(chunk);
    expect(read()).toBeNull();
    expect([cuts, clock.pending]).toEqual([[], 0]);
  });

  it('is closed at a packet that is too large, without returning any of it', () => {
    read(message(10));
    expect(read(Buffer.from([0x80, 51]))).toBeNull();
    expect([cuts, socket.destroyed]).toEqual([['too-large'], true]);
    const { reads } = socket;
    expect(read(message(1))).toBeNull();
    expect(socket.reads).toBe(reads);
  });

  it('accepts a burst of 500 pings and 20 a second after that', async () => {
    expect(read(times(500, ping))).not.toBeNull();
    await clock.advance(1_000);
    expect(read(times(20, ping))).not.toBeNull();
    expect(cuts).toEqual([]);
    expect(read(ping)).toBeNull();
    expect([cuts, socket.destroyed]).toEqual([['over-budget'], true]);
  });

  it('is closed at a burst of 501 pings', () => {
    expect(read(times(501, ping))).toBeNull();
    expect(cuts).toEqual(['over-budget']);
  });

  it('pauses above its rate of small chunks, however few packets they are', () => {
    for (let n = 0; n < 25; n += 1) for (const byte of message(20)) read(Buffer.from([byte]));
    expect([clock.pending, cuts]).toEqual([1, []]);
  });

  it('pauses above its rate, returns nothing meanwhile, and then emits readable', async () => {
    let readable = 0;
    socket.on('readable', () => {
      readable += 1;
    });
    expect(read(times(500, message(1)))).not.toBeNull();
    expect(clock.pending).toBe(0);
    expect(read(times(10, message(1)))).not.toBeNull();
    expect(clock.pending).toBe(1);
    expect(read(message(1))).toBeNull();
    expect(socket.chunks).toHaveLength(1);
    await clock.advance(99);
    expect(readable).toBe(0);
    await clock.advance(1);
    expect(readable).toBe(1);
    expect(socket.listenerCount('close')).toBe(0);
    expect(socket.read()).not.toBeNull();
  });

  it('that closes during a pause leaves no timer and emits nothing more', async () => {
    let readable = 0;
    socket.on('readable', () => {
      readable += 1;
    });
    read(times(600, message(1)));
    socket.destroy();
    expect(clock.pending).toBe(0);
    await clock.advance(1_000);
    expect(readable).toBe(0);
  });
});

describe('the read rate', () => {
  it('allows a burst of 500 packets, then 100 a second, with pauses of at most 250 ms', async () => {
    const { restAfter } = createPace(clock);
    expect(restAfter(500, 0)).toBe(0);
    expect(restAfter(1, 0)).toBe(10);
    expect(restAfter(100, 0)).toBe(250);
    await clock.advance(1_010);
    expect(restAfter(0, 0)).toBe(0);
    expect(restAfter(1, 0)).toBe(10);
  });

  it('is at least five times the message rate of a device', () => {
    const { restAfter } = createPace(clock, 200);
    expect(restAfter(5_000, 0)).toBe(0);
    expect(restAfter(100, 0)).toBe(100);
  });

  it('allows a burst of 8 MiB, then 1 MiB a second', () => {
    const { restAfter } = createPace(clock);
    const mebibyte = 1024 * 1024;
    expect(restAfter(1, 8 * mebibyte)).toBe(0);
    expect(restAfter(1, mebibyte / 8)).toBe(125);
    expect(restAfter(1, mebibyte)).toBe(250);
  });

  it('recovers soon after a client stops, however much it sent', async () => {
    const { restAfter } = createPace(clock);
    restAfter(1_000_000, 0);
    await clock.advance(5_000);
    expect(restAfter(0, 0)).toBe(0);
    expect(restAfter(1, 0)).toBe(10);
    await clock.advance(3_600_000);
    expect(restAfter(501, 0)).toBe(10);
  });
});

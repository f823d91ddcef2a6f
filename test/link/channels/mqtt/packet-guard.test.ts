// The guard in front of the MQTT parser: it follows packets by their headers, however the stream is split, and rejects oversized ones.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPacketGuard } from '../../../../src/link/channels/mqtt/packet-guard.ts';

const limits = { firstBytes: 100, firstChunks: 30, bytes: 1_000, controlBytes: 50, chunks: 40 };

function packet(bodyBytes: number, type = 3): Buffer {
  const length: number[] = [];
  let rest = bodyBytes;
  do {
    length.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from([type << 4, ...length]), Buffer.alloc(bodyBytes, 0xff)]);
}

function follow(stream: Buffer, cuts: number[]): boolean {
  const count = createPacketGuard(limits);
  const places = [...new Set(cuts.map((cut) => cut % (stream.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, stream.length]) {
    if (count(stream.subarray(from, to)) === undefined) return false;
    from = to;
  }
  return true;
}

describe('the packet guard', () => {
  it('accepts a first packet and messages within their limits, however the stream is split', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (first, others, cuts) => {
          expect(follow(Buffer.concat([first, ...others].map((bytes) => packet(bytes))), cuts)).toBe(true);
        },
      ),
    );
  });

  it('rejects a packet over the limit, however the stream is split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 3 }),
        fc.integer({ min: 1_001, max: 100_000 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (before, tooLarge, cuts) => {
          expect(follow(Buffer.concat([packet(10), ...before.map((bytes) => packet(bytes)), packet(tooLarge)]), cuts)).toBe(false);
        },
      ),
    );
    expect(follow(packet(101), [])).toBe(false);
  });

  it('rejects by the header alone, before any byte of the body', () => {
    expect(createPacketGuard(limits)(Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]))).toBe(undefined);
  });

  it('has a smaller limit for control packets, and counts them', () => {
    const subscribe = 8;
    const ping = 12;
    expect(follow(Buffer.concat([packet(10, 1), packet(51, subscribe)]), [])).toBe(false);
    const count = createPacketGuard(limits);
    expect(count(Buffer.concat([packet(10, 1), packet(900), packet(50, subscribe), packet(0, ping).subarray(0, 1)]))).toEqual({
      packets: 4,
      controlPackets: 3,
    });
    expect(count(packet(0, ping).subarray(1))).toEqual({ packets: 0, controlPackets: 0 });
  });

  it('ends a length after its fourth byte, even if its continuation bit is set', () => {
    const count = createPacketGuard(limits);
    expect(count(Buffer.concat([packet(10, 1), Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80]), packet(0, 12)]))).toEqual({
      packets: 3,
      controlPackets: 2,
    });
  });

  it('limits the chunks in which a packet arrives, of the first to fewer', () => {
    const count = createPacketGuard(limits);
    const chunksUntilRefused = (stream: Buffer) => [...stream].findIndex((byte) => count(Buffer.from([byte])) === undefined);
    const first = packet(limits.firstBytes, 1);
    expect(chunksUntilRefused(first)).toBe(limits.firstChunks);
    const other = createPacketGuard(limits);
    other(packet(10, 1));
    // The end of one packet and the begin of the next in one chunk: the packets are counted apart.
    const stream = Buffer.concat([packet(limits.chunks - 3), packet(limits.chunks - 3)]);
    const chunks = [...stream].map((byte) => Buffer.from([byte]));
    chunks.splice(limits.chunks - 2, 2, Buffer.concat(chunks.slice(limits.chunks - 2, limits.chunks)));
    for (const chunk of chunks) expect(other(chunk)).toBeDefined();
    const refused = [...packet(limits.chunks)].findIndex((byte) => other(Buffer.from([byte])) === undefined);
    expect(refused).toBe(limits.chunks);
  });
});

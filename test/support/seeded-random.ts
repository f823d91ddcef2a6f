// Chance that repeats: the same seed gives the same ids, bytes and fractions on every machine.
import { bytesToUuid } from '../../src/kernel/ids.ts';
import type { Random } from '../../src/kernel/random.ts';

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;

  // Mulberry32: one 32-bit state, good enough for tests and quick.
  function next32(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  function bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => next32() & 0xff);
  }

  return {
    bytes,
    fraction: () => next32() / 2 ** 32,
    uuid() {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40;
      raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80;
      return bytesToUuid(raw);
    },
  };
}

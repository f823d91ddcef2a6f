import { describe, expect, it } from 'vitest';
import { parseUuid } from '../../src/kernel/ids.ts';
import { seededRandom } from './seeded-random.ts';

describe('seeded random', () => {
  const draw = (seed: number) => {
    const random = seededRandom(seed);
    return [random.uuid(), random.fraction(), ...random.bytes(4), random.uuid()];
  };

  it('repeats from the same seed and differs from another', () => {
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('makes version 4 UUIDs that do not repeat', () => {
    const random = seededRandom(1);
    const ids = Array.from({ length: 10_000 }, () => random.uuid());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => parseUuid(id) === id && id[14] === '4' && '89ab'.includes(id[19] ?? ''))).toBe(true);
  });

  it('spreads fractions over the whole range', () => {
    const random = seededRandom(1);
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let count = 0; count < 10_000; count += 1) {
      const bucket = Math.floor(random.fraction() * 10);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(Math.min(...buckets)).toBeGreaterThan(850);
    expect(Math.max(...buckets)).toBeLessThan(1_150);
  });
});

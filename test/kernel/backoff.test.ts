import { describe, expect, it } from 'vitest';
import { growingPauseMs, spreadPauseMs } from '../../src/kernel/backoff.ts';

const range = { firstMs: 200, maxMs: 10_000 };
const fixed = (fraction: number) => ({ uuid: () => '', bytes: () => Buffer.alloc(0), fraction: () => fraction });

describe('pauses between attempts', () => {
  it('double from the first to the longest and stay there', () => {
    expect([1, 2, 3, 6, 7, 8, 1_000_000].map((failures) => growingPauseMs(failures, range))).toEqual([
      200, 400, 800, 6_400, 10_000, 10_000, 10_000,
    ]);
  });

  it('are spread between half and all', () => {
    expect(spreadPauseMs(1_000, fixed(0))).toBe(500);
    expect(spreadPauseMs(1_000, fixed(0.999_999))).toBe(1_000);
  });
});

// Where the steps of a timeline stand: to scale, with long waits cut, and the span that nobody knew about hatched.
import { describe, expect, it } from 'vitest';
import type { Step } from '../../web/src/api/views.ts';
import { layOut, pxPerS, rowHeight } from '../../web/src/timeline/layout.ts';

const at = (sinceStartMs: number, more: Partial<Step> = {}): Step => ({
  at: new Date(sinceStartMs).toISOString(),
  sinceStartMs,
  actor: 'gateway',
  kind: 'step',
  isMoney: false,
  text: { key: 'x', params: {} },
  ...more,
});

describe('the layout of a timeline', () => {
  it('draws gaps to scale up to a minute, and cuts longer ones', () => {
    const { steps, gaps } = layOut([at(0), at(10_000), at(11_000), at(600_000)], []);
    const [first, second, third, last] = steps.map(({ y }) => y) as [number, number, number, number];
    expect(second - first).toBeCloseTo(rowHeight + 10 * pxPerS);
    expect(third - second).toBeCloseTo(rowHeight + pxPerS);
    expect(last - third).toBeLessThan(2 * rowHeight);
    expect(gaps.map(({ ms, isCut }) => [ms, isCut])).toEqual([
      [10_000, false],
      [589_000, true],
    ]);
  });

  it('never lets a step stand above the one before, whatever the clocks said', () => {
    const { steps } = layOut([at(5_000), at(4_000), at(4_000)], []);
    expect(steps.map(({ y }) => y)).toEqual([...steps.map(({ y }) => y)].sort((a, b) => a - b));
    expect(new Set(steps.map(({ y }) => y)).size).toBe(3);
  });

  it('hatches from the lost channel to the settlement, and says that the wait was without the answer', () => {
    const { steps, unclear, gaps } = layOut([at(0), at(1_000), at(32_000), at(33_000)], [{ fromMs: 1_000, toMs: 32_000 }]);
    expect(unclear).toEqual([{ top: steps[1]?.y, bottom: steps[2]?.y, isOpen: false }]);
    expect(gaps).toMatchObject([{ ms: 31_000, isUnclear: true, isCut: false }]);
  });

  it('keeps the hatch open below the last step while nothing is settled, and makes room for it', () => {
    const { unclear, height, steps } = layOut([at(0), at(1_000)], [{ fromMs: 1_000 }], 21_000);
    expect(unclear[0]).toMatchObject({ top: steps[1]?.y, isOpen: true });
    expect((unclear[0]?.bottom ?? 0) - (steps[1]?.y ?? 0)).toBeCloseTo(rowHeight + 20 * pxPerS);
    expect(height).toBeGreaterThan(unclear[0]?.bottom ?? 0);
  });

  it('shows the ERP waiting until its answer', () => {
    const asked = at(0, { actor: 'erp', from: 'erp', to: 'gateway' });
    const answered = at(2_000, { from: 'gateway', to: 'erp' });
    const called = at(9_000, { actor: 'callback', from: 'gateway', to: 'erp' });
    const { bars, steps } = layOut([asked, at(1_000), answered, called], []);
    expect(bars.find(({ lane }) => lane === 'erp')).toEqual({ lane: 'erp', top: steps[0]?.y, bottom: steps[2]?.y });
  });
});

// The bench's own judgement: what it calls reached, missed and grossly worse.
import { expect, it } from 'vitest';
import { processorTime } from '../../bench/comparing.ts';
import { runLoad } from '../../bench/load.ts';
import { asMarkdown } from '../../bench/page.ts';
import { complaintsOf, toRecord } from '../../bench/recorded.ts';
import { asText, isReached, type Row, ratioOf, shareOfRaw } from '../../bench/report.ts';

const perSecond: Row = {
  group: 'commands',
  what: '64 in flight',
  unit: '/s',
  ours: 2_000,
  peer: { name: 'NestJS', value: 1_000 },
  raw: [
    { name: 'route', value: 20_000 },
    { name: 'commits', value: 5_000 },
  ],
  goal: 2.5,
};
const costing = (cpuMs: number): Row => ({
  group: 'commands',
  what: processorTime,
  unit: 'ms',
  ours: cpuMs,
  raw: [{ name: 'bare Fastify', value: 0.1 }],
});

const run = { date: '', commit: '', machine: '', loadBefore: 0, minutes: 1, form: 'usual', rounds: 1 };

it('counts in our favour what is more a second and what is less in time or memory', () => {
  expect(ratioOf(perSecond)).toBe(2);
  expect(ratioOf({ ...perSecond, unit: 'ms' })).toBe(0.5);
  expect(ratioOf({ group: 'a', what: 'b', unit: 'MB', ours: 1 })).toBeUndefined();
});

it('takes the raw parts one after the other', () => {
  // 1/20,000 s and 1/5,000 s are 1/4,000 s.
  expect(shareOfRaw(perSecond)).toBeCloseTo(0.5);
  expect(shareOfRaw({ ...perSecond, unit: 'ms', ours: 50_000 })).toBeCloseTo(0.5);
});

it('says what is not reached, and why', () => {
  expect(isReached(perSecond)).toBe(false);
  expect(isReached({ ...perSecond, goal: 2 })).toBe(true);
  expect(isReached({ group: 'memory', what: 'many', unit: 'MB', ours: 401, atMost: 400 })).toBe(false);
  expect(asText([perSecond])).toContain('2.5, not reached');
  expect(asMarkdown({ ...run, rows: [perSecond] })).toContain('- commands, 64 in flight: 2.00, wanted 2.5');
  expect(asMarkdown({ ...run, rows: [{ ...perSecond, goal: 2 }] })).toContain('Every goal was reached');
});

it('complains of three times the recorded cost and of what is no longer measured, and of nothing less', () => {
  const recorded = toRecord([costing(1), perSecond]);
  expect(recorded).toEqual({ commands: 0.1 });
  expect(complaintsOf([costing(2.9)], recorded)).toEqual([]);
  expect(complaintsOf([costing(3.1)], recorded)).toEqual([expect.stringContaining('costs 31.0 times the processor time of a bare route')]);
  expect(complaintsOf([perSecond], recorded)).toEqual([expect.stringContaining('not measured')]);
});

it('measures until there were enough calls, however short the time, and leaves the warm-up out', async () => {
  let calls = 0;
  const measured = await runLoad({
    inFlight: 4,
    forMs: 0,
    warmUpMs: 0,
    atLeastCalls: 50,
    warmUpCalls: 300,
    cpuMs: () => calls,
    async step(_lane, timed) {
      await timed(async () => {
        calls += 1;
        await Promise.resolve();
      });
    },
  });
  expect(measured.calls).toBe(50);
  expect(calls).toBeGreaterThanOrEqual(350);
  expect(measured.cpuMsPerCall).toBeCloseTo(1, 0);
});

it('stands in place of the same part of the whole run, and says so, when it was measured apart', () => {
  const stored = {
    group: 'growth, rows on PostgreSQL',
    what: 'commands, 10,000,000 stored',
    unit: '/s',
    ours: 9,
    peer: { name: 'x', value: 9 },
  } as const;
  const whole = { ...run, rows: [perSecond, { ...stored, what: 'commands, 100,000 stored' }] };
  const rows = { ...run, form: 'full', commit: 'abc1234', loadBefore: 0.5, rows: [stored] };
  const page = asMarkdown(whole, [rows]);
  expect(page).toContain('commands, 10,000,000 stored');
  expect(page).not.toContain('commands, 100,000 stored');
  expect(page).toContain('| 64 in flight |');
  expect(page).toMatch(/From a run of its own \(.*commit abc1234, .*load 0\.5\): growth, rows on PostgreSQL\./);
  expect(page).toContain('with 10,000,000 stored rows');
  expect(asMarkdown(whole)).toContain('without 10,000,000 stored rows');
  const elsewhere = asMarkdown(whole, [{ ...rows, machine: 'two old cores' }]);
  expect(elsewhere).toMatch(/From a run of its own on another machine \(.*commit abc1234, two old cores, /);
});

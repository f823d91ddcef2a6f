// The comparison of costs finds what is too slow, and does not mistake a single slow run for it.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isWithin } from './costs.ts';

const quick = () => {};
const slow = () => pause(30);

it('finds what always takes too long', async () => {
  expect(await isWithin(10, slow, quick)).toBe(false);
  expect(await isWithin(10, slow, slow)).toBe(true);
});

it('is content with one run of four that is quick enough, and does without the others', async () => {
  let runs = 0;
  const once = () => {
    runs += 1;
    return runs < 3 ? pause(30) : undefined;
  };
  expect(await isWithin(10, once, quick)).toBe(true);
  expect(runs).toBe(3);
});

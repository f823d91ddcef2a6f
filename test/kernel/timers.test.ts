import { expect, it } from 'vitest';
import { Timers } from '../../src/kernel/timers.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

it('run their actions at their time, unless cancelled or stopped', async () => {
  const clock = createVirtualClock();
  const timers = new Timers(clock);
  const ran: string[] = [];
  timers.after(-5, () => ran.push('overdue'));
  timers.after(10, () => ran.push('in time'));
  timers.after(10, () => ran.push('cancelled'))();
  timers.after(30, () => ran.push('stopped'));
  await clock.advance(20);
  timers.stop();
  timers.after(5, () => ran.push('set after the stop'));
  await clock.advance(100);
  expect(ran).toEqual(['overdue', 'in time']);
});

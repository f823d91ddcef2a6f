// Quiet hours of a simulated day: they pass at once, and nothing is forgotten over them.
import { describe, expect, it } from 'vitest';
import { createEventClock } from '../../simulation/event-clock.ts';
import { createStandstill } from '../../simulation/standstill.ts';

const hourMs = 3_600_000;

describe('a leap', () => {
  it('lets what fell due happen at its end, in order and once', async () => {
    const clock = createEventClock();
    const seen: string[] = [];
    const note = (name: string) => () => void seen.push(`${name} at ${clock.elapsed()}`);
    const tick = () => {
      note('tick')();
      clock.after(2_000, tick);
    };
    clock.after(1_000, tick);
    clock.after(500, note('first'));
    clock.after(hourMs + 1_500, note('later'));
    clock.leap(hourMs);
    expect(seen).toEqual([]);
    await clock.advance(1_999);
    expect(seen).toEqual([`first at ${hourMs}`, `tick at ${hourMs}`, `later at ${hourMs + 1_500}`]);
  });

  it('counts for the time of day and not for the time awake', async () => {
    const clock = createEventClock();
    const startMs = clock.now();
    await clock.advance(1_000);
    clock.leap(hourMs);
    await clock.advance(1_000);
    expect(clock.now() - startMs).toBe(hourMs + 2_000);
    expect(clock.awake()).toBe(2_000);
  });
});

describe('a standstill', () => {
  it('makes deaf after so long that a broker has closed the connection, until it ends', async () => {
    const clock = createEventClock();
    const standstill = createStandstill(clock);
    standstill.begin();
    await clock.advance(40_000);
    expect(standstill.isDeaf).toBe(false);
    await clock.advance(10_000);
    expect(standstill.isDeaf).toBe(true);
    standstill.end();
    expect(standstill.isDeaf).toBe(false);
  });
});

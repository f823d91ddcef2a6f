// The deadlines [D65]: a gateway that stalled between commit and publish sends nothing late, whichever of its clocks shows the delay.
import { describe, expect, it } from 'vitest';
import { fixDeadlines, isStartOver, passedMs } from '../../../src/link/carrying/deadlines.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { createLinkBench, deviceId, peek } from '../link-bench.ts';

describe('the elapsed time', () => {
  it('is the greater of the wall clock’s and the monotonic clock’s', async () => {
    const clock = createVirtualClock(undefined, { settle: 'microtasks' });
    await clock.advance(60_000);
    const deadlines = fixDeadlines(clock, 0, 300_000);
    await clock.advance(4_000);
    expect(passedMs(clock, deadlines)).toBe(4_000);
    clock.setWallClock(deadlines.issuedAtMs - 3_600_000);
    expect(passedMs(clock, deadlines)).toBe(4_000);
    clock.setWallClock(deadlines.issuedAtMs + 9_999);
    expect([passedMs(clock, deadlines), isStartOver(clock, deadlines)]).toEqual([9_999, false]);
    clock.setWallClock(deadlines.issuedAtMs + 10_000);
    expect(isStartOver(clock, deadlines)).toBe(true);
  });
});

describe('a command that was stalled', () => {
  it('past its startBy by the monotonic clock is not sent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const delivery = bench.delivery();
    await bench.clock.advance(10_000);
    bench.clock.setWallClock(delivery.deadlines.issuedAtMs);
    expect(await bench.link.carry(delivery)).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends).toEqual([]);
    expect(bench.clock.pending).toBe(0);
  });

  it('past its startBy by the wall clock, as after a suspend, is not sent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const delivery = bench.delivery();
    bench.clock.setWallClock(bench.clock.now() + 60_000);
    expect(await bench.link.carry(delivery)).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends).toEqual([]);
  });

  it('for less than that is sent with the remaining time and keeps its answerBy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const issuedAtMs = bench.clock.now();
    const delivery = bench.delivery({ answerWithinMs: 60_000, journalId: undefined });
    await bench.clock.advance(7_000);
    const result = bench.link.carry(delivery);
    const [send] = bench.mqtt.sends;
    expect(send?.expiresInMs).toBe(3_000);
    expect(send?.command).toMatchObject({
      issuedAt: new Date(issuedAtMs).toISOString(),
      startBy: new Date(issuedAtMs + 10_000).toISOString(),
      answerBy: new Date(issuedAtMs + 60_000).toISOString(),
    });
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(52_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toMatchObject({ kind: 'timeout' });
  });
});

describe('a command after the gateway’s wall clock was set', () => {
  it.each([300_000, -300_000])('by %i ms has the same deadlines in the device’s clock', async (stepMs) => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const deviceNowMs = bench.clock.now();
    bench.clock.setWallClock(bench.clock.now() + stepMs);
    void bench.link.carry(bench.delivery({ answerWithinMs: 60_000 }));
    expect(bench.mqtt.sends[0]?.command).toMatchObject({
      startBy: new Date(deviceNowMs + 10_000).toISOString(),
      answerBy: new Date(deviceNowMs + 60_000).toISOString(),
    });
  });
});

describe('the second copy', () => {
  it('is identical to the first, even if clocks were set in between', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(1_000);
    bench.clock.setWallClock(bench.clock.now() - 500);
    bench.presence(bench.queue, { clockMs: bench.clock.now() + 7_000 });
    await bench.clock.advance(2_000);
    expect(bench.queue.sends).toHaveLength(1);
    expect(bench.queue.sends[0]?.command).toEqual(bench.mqtt.sends[0]?.command);
    expect(bench.queue.sends[0]?.expiresInMs).toBe(7_000);
  });

  it('is not sent when the wall clock shows that the process was frozen', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    const result = bench.link.carry(bench.delivery());
    bench.clock.setWallClock(bench.clock.now() + 60_000);
    bench.mqtt.says.gone(deviceId);
    await bench.clock.advance(3_000);
    expect(bench.queue.sends.filter(({ command }) => command.name === 'Pay')).toEqual([]);
    expect(await peek(result)).toBe('pending');
  });
});

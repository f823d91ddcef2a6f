// Recall: on which channels it is sent, how often, which answers are accepted, and its limits.
import { describe, expect, it } from 'vitest';
import { bootId, createLinkBench, deviceId, peek } from '../link-bench.ts';

describe('Recall', () => {
  it('has an answerBy in the device clock, no startBy, and expires when the next one is due', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { clockMs: bench.clock.now() + 3_600_000 });
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    const sent = bench.mqtt.sends.find(({ command }) => command.name === 'Recall');
    expect(sent?.expiresInMs).toBe(5_000);
    expect(sent?.command.answerBy).toBe(new Date(bench.clock.now() + 3_600_000 + 30_000).toISOString());
    await bench.link.stop();
  });

  it('is sent only where the device is live', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(30_000);
    expect([bench.commandsOn(bench.mqtt, 'Recall').length, bench.commandsOn(bench.queue, 'Recall').length]).toEqual([1, 0]);
    await bench.link.stop();
  });

  it('is sent on all channels when the device is live on none, and on none when no channel is up', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    bench.mqtt.says.gone(deviceId);
    await bench.clock.advance(30_000);
    expect([bench.commandsOn(bench.mqtt, 'Recall').length, bench.commandsOn(bench.queue, 'Recall').length]).toEqual([1, 1]);
    bench.mqtt.break();
    bench.queue.break();
    const { waitingCalls } = bench.link.stats();
    await bench.clock.advance(90_000);
    expect(bench.stepNames().filter((step) => step.startsWith('recall'))).toEqual(['recall mqtt', 'recall queue']);
    expect(bench.link.stats().waitingCalls).toBe(waitingCalls);
    await bench.link.stop();
  });

  it('starts over when the device is back: two reconnects still cause one Recall every five seconds', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    for (let count = 0; count < 2; count += 1) {
      bench.mqtt.says.gone(deviceId);
      bench.presence(bench.mqtt);
      await bench.clock.advance(1_000);
    }
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(2);
    await bench.clock.advance(4_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(3);
    await bench.clock.advance(23_999);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(7);
    await bench.link.stop();
  });

  it('that starts over gets its full time-out again', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(35_000);
    bench.mqtt.says.gone(deviceId);
    bench.presence(bench.mqtt);
    await bench.clock.advance(29_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toMatchObject({ kind: 'silent' });
  });

  it('ignores a second answer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'running' });
    expect(bench.link.stats().waitingCalls).toBe(1);
    bench.recalled(bench.mqtt, { state: 'never' });
    expect(bench.stepNames().at(-1)).toBe('recalled mqtt running');
    await bench.link.stop();
  });

  it('waits for the answers to the newest ten Recalls of a device that keeps rebooting', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    for (let count = 0; count < 15; count += 1) {
      bench.presence(bench.mqtt, { bootId: `${bootId.slice(0, -2)}${count + 10}` });
    }
    // The command itself and its ten Recalls.
    expect(bench.link.stats().waitingCalls).toBe(11);
    const [, , , , , oldestKept] = bench.commandsOn(bench.mqtt, 'Recall');
    bench.answer(bench.mqtt, 'done', { id: oldestKept?.id ?? '', report: { state: 'final', outcome: 'done' } });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'done' });
    expect(bench.link.stats()).toMatchObject({ waitingCalls: 0 });
  });

  it('accepts the recalled outcome, and no refusal of the Recall itself', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'never' }, { outcome: 'refused' });
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(5_000);
    bench.recalled(bench.mqtt, { state: 'final', outcome: 'refused', reason: 'wrong pin' }, { reason: 'never mind' });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'refused', reason: 'wrong pin' });
  });

  it('with an unusable answer is recorded as a step and sent again', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    const [recall] = bench.commandsOn(bench.mqtt, 'Recall');
    bench.answer(bench.mqtt, 'unsupported', { id: recall?.id ?? '' });
    expect(bench.stepNames().slice(-2)).toEqual(['recall mqtt', 'recalled mqtt unusable unsupported']);
    await bench.clock.advance(5_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(2);
    expect(await peek(result)).toBe('pending');
    await bench.link.stop();
  });

  it('uses the reason of its own answer if the journal has none', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'unknown' }, { reason: 'the journal was damaged' });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'unknown', reason: 'the journal was damaged' });
    expect(bench.steps.at(-1)).toMatchObject({ step: 'recalled', detail: 'unknown' });
  });

  it('answered after the command has ended is dropped, and not passed to onLateAnswer', async () => {
    const bench = await createLinkBench();
    const late: string[] = [];
    bench.link.onLateAnswer((_device, answer) => late.push(answer.id));
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.answer(bench.mqtt, 'done');
    await result;
    bench.recalled(bench.mqtt, { state: 'running' });
    expect(late).toEqual([]);
    expect(bench.link.stats().dropped).toEqual({ 'late-question': 1 });
    expect(bench.link.stats().waitingCalls).toBe(0);
  });
});

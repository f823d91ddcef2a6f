// Locating a device, querying it, and the state recorded from its messages.
import { describe, expect, it } from 'vitest';
import { ChannelDown } from '../../../src/link/channel.ts';
import { createLinkBench, deviceId, journalId, otherDeviceId, peek } from '../link-bench.ts';

describe('locate', () => {
  it('prefers the first live channel, falls back to the other', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    expect(await bench.link.locate(deviceId, 'mqtt')).toBe('mqtt');
    expect(await bench.link.locate(deviceId, 'queue')).toBe('queue');
    bench.queue.says.gone(deviceId);
    expect(await bench.link.locate(deviceId, 'queue')).toBe('mqtt');
  });

  it('a device that sent a message 75 s ago is live, one whose last message is older is probed', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    await bench.clock.advance(75_000);
    expect(await bench.link.locate(deviceId, 'mqtt')).toBe('mqtt');
    await bench.clock.advance(1);
    const located = bench.link.locate(deviceId, 'mqtt');
    expect(bench.commandsOn(bench.mqtt, 'Status')).toHaveLength(1);
    expect(bench.commandsOn(bench.queue, 'Status')).toHaveLength(1);
    await bench.clock.advance(1_999);
    expect(await peek(located)).toBe('pending');
    await bench.clock.advance(1);
    expect(await located).toBeUndefined();
  });

  it('returns the channel on which the device answers the probe, and keeps its report', async () => {
    const bench = await createLinkBench();
    const located = bench.link.locate(deviceId, 'mqtt');
    const [status] = bench.commandsOn(bench.queue, 'Status');
    bench.answer(bench.queue, 'done', { id: status?.id ?? '', report: { battery: 55 } });
    expect(await located).toBe('queue');
    expect(bench.link.presence.of(deviceId)).toMatchObject({ liveOn: ['queue'], report: { battery: 55 } });
    expect(bench.clock.pending).toBe(0);
  });

  it('accepts a presence during the probe as an answer', async () => {
    const bench = await createLinkBench();
    const located = bench.link.locate(deviceId, 'mqtt');
    const second = bench.link.locate(deviceId, 'mqtt');
    expect(bench.commandsOn(bench.mqtt, 'Status')).toHaveLength(1);
    bench.presence(bench.mqtt);
    expect([await located, await second]).toEqual(['mqtt', 'mqtt']);
  });

  it('does not count a channel as live after the gateway reconnected, until the device sends on it again', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.break();
    bench.mqtt.mend();
    const located = bench.link.locate(deviceId, 'mqtt');
    await bench.clock.advance(2_000);
    expect(await located).toBeUndefined();
  });

  it('marks a device as offline after its will message', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.says.presence(deviceId, { v: 1, device: deviceId, online: false });
    expect(bench.link.presence.of(deviceId)?.liveOn).toEqual([]);
  });
});

describe('ask', () => {
  const status = { name: 'Status', args: {}, timeoutMs: 5_000, preferredChannel: 'mqtt' } as const;

  it('returns the answer, or undefined after the time-out', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const asked = bench.link.ask(deviceId, status);
    const [command] = bench.commandsOn(bench.mqtt, 'Status');
    expect(command).not.toHaveProperty('startBy');
    bench.answer(bench.mqtt, 'done', { id: command?.id ?? '', report: { battery: 1 } });
    expect(await asked).toMatchObject({ outcome: 'done', report: { battery: 1 } });
    const silent = bench.link.ask(deviceId, status);
    await bench.clock.advance(5_000);
    expect(await silent).toBeUndefined();
    expect(bench.clock.pending).toBe(0);
  });

  it('uses the other channel when a send fails or no answer comes within 1.5 s', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.ask(deviceId, status);
    await bench.clock.advance(1_500);
    expect(bench.commandsOn(bench.queue, 'Status')).toHaveLength(1);
    bench.mqtt.fate = 'down';
    void bench.link.ask(deviceId, status);
    await bench.clock.settle();
    expect(bench.commandsOn(bench.queue, 'Status')).toHaveLength(2);
    await bench.link.stop();
  });

  it('asks on every channel when the device is live on none', async () => {
    const bench = await createLinkBench();
    void bench.link.ask(deviceId, { ...status, name: 'Recall', args: { target: journalId } });
    expect([bench.mqtt.sends.length, bench.queue.sends.length]).toEqual([1, 1]);
    await bench.link.stop();
  });

  it('does not pass an answer after the time-out to onLateAnswer', async () => {
    const bench = await createLinkBench();
    const late: string[] = [];
    bench.link.onLateAnswer((_device, answer) => late.push(answer.id));
    bench.presence(bench.mqtt);
    const asked = bench.link.ask(deviceId, status);
    await bench.clock.advance(5_000);
    await asked;
    bench.answer(bench.mqtt, 'done', { id: bench.commandsOn(bench.mqtt, 'Status')[0]?.id ?? '' });
    expect(late).toEqual([]);
  });
});

describe('a query in progress', () => {
  const ask = { args: {}, timeoutMs: 5_000, preferredChannel: 'mqtt' } as const;
  const status = { ...ask, name: 'Status' } as const;

  it('has a startBy only for LastTransaction', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { clockMs: bench.clock.now() + 60_000 });
    const at = (ms: number) => new Date(bench.clock.now() + 60_000 + ms).toISOString();
    void bench.link.ask(deviceId, { ...ask, name: 'LastTransaction' });
    void bench.link.ask(deviceId, { ...ask, name: 'LastTransaction', timeoutMs: 20_000 });
    expect(bench.commandsOn(bench.mqtt, 'LastTransaction')).toMatchObject([
      { startBy: at(5_000), answerBy: at(5_000), replyTo: 'gateway-1' },
      { startBy: at(10_000), answerBy: at(20_000) },
    ]);
    expect(bench.mqtt.sends.map(({ expiresInMs }) => expiresInMs)).toEqual([5_000, 20_000]);
    await bench.link.stop();
  });

  it('is sent once on each connected channel, first where the device is live', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.queue);
    bench.queue.fate = 'down';
    bench.mqtt.fate = 'down';
    const asked = bench.link.ask(deviceId, status);
    expect([bench.queue.sends.length, bench.mqtt.sends.length]).toEqual([1, 0]);
    await bench.clock.advance(4_999);
    expect([bench.queue.sends.length, bench.mqtt.sends.length]).toEqual([1, 1]);
    expect(await peek(asked)).toBe('pending');
    await bench.clock.advance(1);
    expect(await asked).toBeUndefined();
  });

  it('is not sent on the other channel while that is down', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    const asked = bench.link.ask(deviceId, status);
    bench.queue.break();
    await bench.clock.advance(5_000);
    expect(await asked).toBeUndefined();
    expect(bench.queue.sends).toEqual([]);
    const alone = bench.link.ask(deviceId, status);
    await bench.clock.advance(5_000);
    expect(await alone).toBeUndefined();
    expect([bench.mqtt.sends.length, bench.queue.sends.length]).toEqual([2, 0]);
  });

  it('is not sent again after its time-out', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'hang';
    const short = bench.link.ask(deviceId, { ...status, timeoutMs: 1_000 });
    await bench.clock.advance(1_000);
    expect(await short).toBeUndefined();
    bench.mqtt.hanging[0]?.(new ChannelDown('mqtt'));
    await bench.clock.settle();
    expect(bench.queue.sends).toEqual([]);
  });

  it('is completed by an outcome, not by accepted', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const asked = bench.link.ask(deviceId, status);
    const id = bench.commandsOn(bench.mqtt, 'Status')[0]?.id ?? '';
    bench.answer(bench.mqtt, 'accepted', { id });
    expect(await peek(asked)).toBe('pending');
    bench.answer(bench.mqtt, 'refused', { id, report: { battery: 1 } });
    expect(await asked).toMatchObject({ outcome: 'refused' });
    expect(bench.link.presence.of(deviceId)?.report).toMatchObject({ battery: 80 });
    expect(bench.link.stats().waitingCalls).toBe(0);
  });

  it('other than Status does not change the recorded state of the device', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const asked = bench.link.ask(deviceId, { ...ask, name: 'LastTransaction' });
    bench.answer(bench.mqtt, 'done', { id: bench.commandsOn(bench.mqtt, 'LastTransaction')[0]?.id ?? '', report: { rrn: '1' } });
    expect(await asked).toMatchObject({ report: { rrn: '1' } });
    const empty = bench.link.ask(deviceId, status);
    bench.answer(bench.mqtt, 'done', { id: bench.commandsOn(bench.mqtt, 'Status')[0]?.id ?? '' });
    expect(await empty).toMatchObject({ outcome: 'done' });
    expect(bench.link.presence.of(deviceId)?.report).toMatchObject({ battery: 80 });
  });

  it('is not sent by a stopped gateway, nor is a probe', async () => {
    const bench = await createLinkBench();
    await bench.link.stop();
    expect([await bench.link.ask(deviceId, status), await bench.link.locate(deviceId, 'mqtt')]).toEqual([undefined, undefined]);
    expect([bench.mqtt.sends, bench.queue.sends, bench.clock.pending]).toEqual([[], [], 0]);
  });
});

describe('the search for a device', () => {
  it('ends only with a message of that device, and leaves no waiting call', async () => {
    const bench = await createLinkBench();
    const located = bench.link.locate(deviceId, 'mqtt');
    const other = bench.link.locate(otherDeviceId, 'mqtt');
    expect(bench.link.stats().waitingCalls).toBe(4);
    bench.presence(bench.queue, { deviceId: otherDeviceId });
    expect(await other).toBe('queue');
    expect(await peek(located)).toBe('pending');
    expect(bench.link.stats()).toMatchObject({ waitingCalls: 2, liveDevices: 1 });
    await bench.clock.advance(2_000);
    expect(await located).toBeUndefined();
    expect(bench.link.stats().waitingCalls).toBe(0);
    const again = bench.link.locate(deviceId, 'mqtt');
    expect(bench.commandsOn(bench.mqtt, 'Status')).toHaveLength(3);
    await bench.clock.advance(2_000);
    await again;
  });

  it('probes only channels that are up', async () => {
    const bench = await createLinkBench();
    bench.mqtt.break();
    const located = bench.link.locate(deviceId, 'mqtt');
    expect([bench.mqtt.sends.length, bench.queue.sends.length]).toEqual([0, 1]);
    await bench.clock.advance(2_000);
    expect(await located).toBeUndefined();
  });
});

describe('the recorded state of a device', () => {
  it('onSeen: is called for the first message, a reconnect and a reboot, not for heartbeats', async () => {
    const bench = await createLinkBench();
    const seen: string[] = [];
    bench.link.onSeen((device, snapshot) => seen.push(`${device === deviceId} ${snapshot.liveOn.join('+')}`));
    bench.presence(bench.mqtt);
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.presence(bench.queue, { bootId: otherDeviceId });
    bench.mqtt.says.gone(deviceId);
    bench.presence(bench.mqtt, { bootId: otherDeviceId });
    expect(seen).toEqual(['true mqtt', 'true mqtt+queue', 'true mqtt+queue', 'true mqtt+queue']);
  });

  it('is updated even if a listener throws', async () => {
    const bench = await createLinkBench();
    bench.link.onSeen(() => {
      throw new Error('not now');
    });
    bench.presence(bench.mqtt);
    expect(bench.link.presence.of(deviceId)?.liveOn).toEqual(['mqtt']);
  });

  it('journal: follows the last presence, also when it has none', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    expect(bench.link.presence.of(deviceId)?.journalId).toBe(journalId);
    bench.presence(bench.mqtt, { journalId: undefined });
    expect(bench.link.presence.of(deviceId)?.journalId).toBeUndefined();
  });

  it('clock offset: is the greatest of the recent samples; a boot or a clock set back starts over', async () => {
    const bench = await createLinkBench();
    const offset = () => bench.link.presence.of(deviceId)?.clockOffsetMs;
    const sample = (ms: number, boot?: string) =>
      bench.presence(bench.mqtt, { clockMs: bench.clock.now() + ms, ...(boot === undefined ? {} : { bootId: boot }) });
    sample(-4_000);
    sample(-100);
    sample(-2_000);
    expect(offset()).toBe(-100);
    for (let count = 0; count < 5; count += 1) sample(-3_000);
    expect(offset()).toBe(-3_000);
    sample(-60_000);
    expect(offset()).toBe(-60_000);
    sample(-70_000, otherDeviceId);
    expect(offset()).toBe(-70_000);
  });

  it('clock offset: ignores a repeated old answer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.answer(bench.mqtt, 'done', { clock: new Date(bench.clock.now() - 3_600_000).toISOString() });
    expect(bench.link.presence.of(deviceId)?.clockOffsetMs).toBe(0);
  });
});

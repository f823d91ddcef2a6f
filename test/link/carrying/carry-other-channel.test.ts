// carry() and the second channel: effects of its connects, disconnects and late send results, in virtual time.
import { describe, expect, it } from 'vitest';
import { SendUnclear } from '../../../src/link/channel.ts';
import { commandId, createLinkBench, deviceId, journalId, otherDeviceId, peek } from '../link-bench.ts';

const otherBootId = '66666666-6666-4666-8666-666666666666';

describe('a channel that opens while a command waits for its device', () => {
  it('gets a copy once accepted is overdue, not before, and no Recall', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.break();
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(2_000);
    bench.queue.mend();
    expect(bench.queue.sends).toEqual([]);
    bench.queue.break();
    await bench.clock.advance(1_000);
    bench.queue.mend();
    expect(bench.queue.sends.map(({ command }) => command.id)).toEqual([commandId]);
    expect(bench.stepNames()).toEqual(['sent mqtt']);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toEqual([]);
    await bench.link.stop();
  });

  it('gets neither a copy nor a Recall if the device has accepted', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.break();
    void bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(4_000);
    bench.queue.mend();
    bench.presence(bench.queue);
    await bench.clock.settle();
    expect(bench.queue.sends).toEqual([]);
    expect(bench.stepNames()).toEqual(['sent mqtt', 'accepted mqtt']);
    await bench.link.stop();
  });

  it('gets no second copy after the broker returned the first one', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.fate = 'absent';
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(3_000);
    expect(bench.stepNames()).toEqual(['sent mqtt', 'not-sent queue']);
    bench.queue.fate = 'ok';
    bench.presence(bench.queue);
    bench.queue.says.gone(deviceId);
    await bench.clock.settle();
    expect(bench.queue.sends).toHaveLength(1);
    expect(bench.stepNames()).toEqual(['sent mqtt', 'not-sent queue']);
    await bench.link.stop();
  });

  it('gets a Recall when the device reboots on it', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery());
    await bench.clock.settle();
    bench.answer(bench.mqtt, 'accepted');
    bench.presence(bench.queue, { bootId: otherBootId });
    expect(bench.steps.slice(2)).toStrictEqual([
      { step: 'seen-again', atMs: bench.clock.now(), channel: 'queue', detail: 'rebooted' },
      { step: 'recall', atMs: bench.clock.now(), channel: 'mqtt' },
      { step: 'recall', atMs: bench.clock.now(), channel: 'queue' },
    ]);
    await bench.link.stop();
  });
});

describe('an event of another', () => {
  it('channel or device is no step of the command', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.presence(bench.mqtt, { deviceId: otherDeviceId });
    void bench.link.carry(bench.delivery());
    await bench.clock.settle();
    bench.queue.says.gone(deviceId);
    bench.mqtt.says.gone(otherDeviceId);
    bench.presence(bench.mqtt, { deviceId: otherDeviceId });
    await bench.clock.settle();
    expect(bench.stepNames()).toEqual(['sent mqtt']);
    expect(bench.queue.sends).toEqual([]);
    await bench.link.stop();
  });
});

describe('a channel that is lost', () => {
  it('triggers the second copy at once, whether the gateway or the device was disconnected', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(500);
    bench.mqtt.break();
    expect(bench.queue.sends.map(({ command }) => command.id)).toEqual([commandId]);
    await bench.link.stop();
  });

  it('triggers no copy of an accepted command, nor of one without a journal', async () => {
    for (const journal of [journalId, undefined]) {
      const bench = await createLinkBench();
      bench.presence(bench.mqtt, { journalId: journal });
      bench.presence(bench.queue, { journalId: journal });
      void bench.link.carry(bench.delivery({ journalId: journal }));
      await bench.clock.settle();
      if (journal !== undefined) bench.answer(bench.mqtt, 'accepted');
      bench.mqtt.says.gone(deviceId);
      await bench.clock.advance(9_000);
      expect(bench.queue.sends).toEqual([]);
      await bench.link.stop();
    }
  });

  it('or a reboot right after the command ended is no step of it', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.settle();
    bench.answer(bench.mqtt, 'done');
    bench.mqtt.says.gone(deviceId);
    bench.presence(bench.mqtt, { bootId: otherBootId });
    await result;
    expect(bench.stepNames()).toEqual(['sent mqtt', 'answered mqtt done']);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toEqual([]);
  });
});

describe('an unclear send whose journal is lost', () => {
  it('is followed by a Recall at once, because the other channel may not get a copy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'hang';
    void bench.link.carry(bench.delivery());
    bench.presence(bench.queue, { journalId: otherBootId });
    bench.mqtt.fate = 'ok';
    bench.mqtt.hanging[0]?.(new SendUnclear('mqtt'));
    await bench.clock.settle();
    // One because other hardware is there, one because of the send.
    expect(bench.queue.sends.map(({ command }) => command.name)).toEqual(['Recall', 'Recall']);
    await bench.link.stop();
  });
});

describe('other hardware under the same id', () => {
  it('gets no copy: not the first one, nor one beside a copy that may have arrived', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue, { journalId: otherBootId });
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(3_000);
    expect(bench.mqtt.sends.map(({ command }) => command.name)).toEqual(['Pay']);
    expect(bench.queue.sends.map(({ command }) => command.name)).not.toContain('Pay');
    await bench.link.stop();
  });

  it('and if only that is connected, nothing is sent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { journalId: otherBootId });
    const result = await bench.link.carry(bench.delivery());
    expect(result).toEqual({ kind: 'not-sent', reason: 'Other hardware has connected under this DeviceID.' });
    expect(bench.mqtt.sends).toEqual([]);
  });
});

describe('a copy that the broker returns', () => {
  it('makes a command not-sent only if no other copy can have arrived', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.fate = 'absent';
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(3_000);
    expect(bench.stepNames()).toEqual(['sent mqtt', 'not-sent queue']);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(7_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    await bench.link.stop();
  });

  it('is sent on a channel that can detect absent devices, even if the device has sent nothing on it', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'absent';
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    await bench.clock.settle();
    expect(bench.queue.sends.map(({ command }) => command.id)).toEqual([commandId]);
    bench.answer(bench.queue, 'done');
    expect(await result).toMatchObject({ outcome: 'done', channel: 'queue' });
  });

  it('gives the reason why nothing was sent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.break();
    bench.mqtt.fate = 'absent';
    const result = await bench.link.carry(bench.delivery());
    expect(result).toEqual({ kind: 'not-sent', reason: 'The device is not connected on the channel mqtt.' });
    expect(bench.steps).toMatchObject([{ step: 'not-sent', detail: 'The device is not connected on the channel mqtt.' }]);
  });
});

describe('a send that completes late', () => {
  it('as unclear, after the device accepted another copy, changes nothing', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'hang';
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(3_000);
    bench.answer(bench.queue, 'accepted');
    bench.mqtt.fate = 'ok';
    bench.mqtt.hanging[0]?.(new SendUnclear('mqtt'));
    await bench.clock.settle();
    expect(bench.stepNames()).toEqual(['sent queue', 'accepted queue', 'send-unclear mqtt']);
    expect(bench.commandsOn(bench.queue, 'Recall')).toEqual([]);
    expect(await peek(result)).toBe('pending');
    await bench.link.stop();
  });

  it('after the command has ended is no step of it', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'hang';
    const result = bench.link.carry(bench.delivery());
    await bench.link.stop();
    expect(await result).toMatchObject({ kind: 'silent', wasAccepted: false });
    bench.mqtt.hanging[0]?.(new SendUnclear('mqtt'));
    await bench.clock.settle();
    expect(bench.steps).toEqual([]);
    expect(bench.clock.pending).toBe(0);
  });

  it('on a channel that was lost meanwhile is followed by exactly one other copy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'hang';
    void bench.link.carry(bench.delivery());
    bench.mqtt.says.gone(deviceId);
    expect(bench.queue.sends).toEqual([]);
    await bench.clock.advance(0);
    expect(bench.stepNames()).toEqual(['channel-lost mqtt', 'sent queue']);
    bench.mqtt.hanging[0]?.();
    await bench.clock.advance(3_000);
    expect(bench.stepNames()).toEqual(['channel-lost mqtt', 'sent queue', 'sent mqtt']);
    await bench.link.stop();
  });
});

describe('a command that is in progress', () => {
  it('calls onAccepted once, however often the device repeats accepted', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    let accepted = 0;
    void bench.link.carry(
      bench.delivery({
        onAccepted() {
          accepted += 1;
        },
      }),
    );
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'running' });
    bench.answer(bench.mqtt, 'accepted');
    bench.answer(bench.queue, 'accepted');
    expect(accepted).toBe(1);
    expect(bench.stepNames().filter((step) => step.startsWith('accepted'))).toEqual([]);
    await bench.clock.advance(29_999);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    await bench.link.stop();
  });

  it('is reported as accepted when the gateway stops', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    await bench.link.stop();
    expect(await result).toMatchObject({ kind: 'silent', wasAccepted: true });
  });

  it('and was delayed before the send is recalled at its startBy, not ten seconds after the send', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.queue.break();
    const delivery = bench.delivery();
    await bench.clock.advance(7_000);
    void bench.link.carry(delivery);
    await bench.clock.advance(2_999);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    await bench.link.stop();
  });
});

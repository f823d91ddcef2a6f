// carry() when connections break and sends fail, in virtual time.
import { describe, expect, it } from 'vitest';
import { commandId, createLinkBench, deviceId, peek } from '../link-bench.ts';

const done = { outcome: 'done', by: 'answer', kind: 'ended' };

describe('an answer that is lost after accepted', () => {
  it('is fetched by a Recall after 30 s, long before answerBy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(29_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(0);
    await bench.clock.advance(1_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    bench.recalled(bench.mqtt, { state: 'final', outcome: 'done', report: { rrn: '7' } });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'done', report: { rrn: '7' } });
  });

  it('of a command that still runs is recalled once every 30 s, however often the device repeats accepted', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    for (let halfMinute = 1; halfMinute <= 4; halfMinute += 1) {
      await bench.clock.advance(30_000);
      bench.presence(bench.mqtt);
      expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(halfMinute);
      bench.recalled(bench.mqtt, { state: 'running' });
      bench.answer(bench.mqtt, 'accepted');
    }
    bench.answer(bench.mqtt, 'done');
    expect(await result).toMatchObject(done);
  });

  it('is not recalled from a device without a journal', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery({ journalId: undefined }));
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(120_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(0);
    await bench.link.stop();
  });
});

describe('a journal that is lost after the first copy was sent', () => {
  it('prevents a second copy, because the new journal does not have the first', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(1_000);
    bench.presence(bench.queue, { bootId: '66666666-6666-4666-8666-666666666666', journalId: '77777777-7777-4777-8777-777777777777' });
    await bench.clock.advance(9_000);
    expect(bench.commandsOn(bench.mqtt, 'Pay')).toHaveLength(1);
    expect(bench.commandsOn(bench.queue, 'Pay')).toEqual([]);
    expect(bench.commandsOn(bench.queue, 'Recall').length).toBeGreaterThan(0);
    await bench.link.stop();
  });
});

describe('connections that break', () => {
  it('lead to a Recall as soon as the device is back on the channel', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(20_000);
    bench.mqtt.says.gone(deviceId);
    await bench.clock.advance(4_000);
    bench.presence(bench.mqtt);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    bench.recalled(bench.mqtt, { state: 'final', outcome: 'done', report: { rrn: '7' } });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'done', report: { rrn: '7' }, wasAccepted: true });
    expect(bench.stepNames()).toEqual([
      'sent mqtt',
      'accepted mqtt',
      'channel-lost mqtt',
      'seen-again mqtt',
      'recall mqtt',
      'recalled mqtt final done',
    ]);
  });

  it('a command that the broker returned is not-sent, and is not sent on a channel that cannot detect an absent device', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.queue);
    bench.queue.fate = 'returned';
    const result = bench.link.carry(bench.delivery({ preferredChannel: 'queue' }));
    await bench.clock.advance(1_000);
    expect(await peek(result)).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends).toEqual([]);
  });

  it('a command whose send is pending when its channel is lost is sent on the other one', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'hang';
    const result = bench.link.carry(bench.delivery());
    bench.mqtt.says.gone(deviceId);
    await bench.clock.advance(100);
    expect(bench.commandsOn(bench.queue, 'Pay').map(({ id }) => id)).toEqual([commandId]);
    bench.answer(bench.queue, 'done');
    expect(await result).toMatchObject(done);
  });

  it('lead to a Recall when the gateway has reconnected, and to another when the device sends a message', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    bench.mqtt.break();
    await bench.clock.advance(1_000);
    bench.mqtt.mend();
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    bench.presence(bench.mqtt);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(2);
    bench.recalled(bench.mqtt, { state: 'running' });
    await bench.clock.advance(200_000);
    bench.answer(bench.mqtt, 'done');
    expect(await result).toMatchObject(done);
  });

  it('lead to a Recall after a reboot without a will message', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    bench.presence(bench.mqtt);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(0);
    bench.presence(bench.mqtt, { bootId: '66666666-6666-4666-8666-666666666666' });
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    await bench.link.stop();
  });

  it('an accepted command whose device stays offline ends only at answerBy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'accepted');
    bench.mqtt.break();
    bench.mqtt.mend();
    await bench.clock.advance(299_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toEqual({ kind: 'timeout', wasAccepted: true });
    expect(bench.commandsOn(bench.mqtt, 'Recall').length).toBeLessThan(20);
  });

  it('a channel lost before accepted triggers the second copy at once', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery());
    await bench.clock.advance(500);
    bench.mqtt.says.gone(deviceId);
    expect(bench.queue.sends).toMatchObject([{ command: { id: commandId } }]);
    await bench.link.stop();
  });
});

describe('carry() with a failing send', () => {
  it('uses the other channel after a definite failure, also without a journal', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { journalId: undefined });
    bench.presence(bench.queue, { journalId: undefined });
    bench.mqtt.fate = 'down';
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    await bench.clock.settle();
    bench.answer(bench.queue, 'done');
    expect(await result).toMatchObject({ ...done, channel: 'queue' });
    expect(bench.stepNames()).toEqual(['not-sent mqtt', 'sent queue', 'answered queue done']);
  });

  it('returns not-sent at once when both channels failed definitely', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'down';
    bench.queue.fate = 'absent';
    expect(await bench.link.carry(bench.delivery())).toMatchObject({ kind: 'not-sent' });
    expect(bench.clock.pending).toBe(0);
  });

  it('does not resend a definitely unsent command on a channel that cannot detect an absent device', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.queue);
    bench.queue.fate = 'absent';
    expect(await bench.link.carry(bench.delivery({ preferredChannel: 'queue' }))).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends).toEqual([]);
  });

  it('sends nothing to a device that is not live', async () => {
    const bench = await createLinkBench();
    expect(await bench.link.carry(bench.delivery())).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends.length + bench.queue.sends.length).toBe(0);
  });

  it('uses the other channel after an unclear send, or Recalls at once if there is none', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'unclear';
    void bench.link.carry(bench.delivery());
    await bench.clock.settle();
    expect(bench.queue.sends).toMatchObject([{ command: { id: commandId } }]);
    await bench.link.stop();

    const alone = await createLinkBench();
    alone.presence(alone.mqtt);
    alone.queue.break();
    alone.mqtt.fate = 'unclear';
    const result = alone.link.carry(alone.delivery());
    await alone.clock.settle();
    expect(alone.commandsOn(alone.mqtt, 'Recall')).toHaveLength(1);
    alone.recalled(alone.mqtt, { state: 'never' });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'never' });
  });

  it('sends neither a second copy nor a Recall after an unclear send without a journal, and ends as silent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'unclear';
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    await bench.clock.advance(40_000);
    expect(await result).toMatchObject({ kind: 'silent' });
    expect(bench.mqtt.sends.length + bench.queue.sends.length).toBe(1);
  });

  it('treats a send that hangs as possibly sent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'hang';
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(3_000);
    expect(bench.queue.sends).toHaveLength(1);
    bench.answer(bench.queue, 'done');
    expect(await result).toMatchObject(done);
  });
});

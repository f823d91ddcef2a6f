// carry() when connections break and sends fail, in virtual time.
import { describe, expect, it } from 'vitest';
import { commandId, createLinkBench, deviceId, peek } from '../link-bench.ts';

const done = { outcome: 'done', by: 'answer', kind: 'ended' };

describe('an answer that gets lost after accepted', () => {
  it('is fetched by a look in after 30 s, long before answerBy', async () => {
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

  it('and a command that still runs is asked once every 30 s, however often it says so', async () => {
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

  it('is not asked after on a device without a journal', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery({ journalId: undefined }));
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(120_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(0);
    await bench.link.stop();
  });
});

describe('a journal that is lost while the first copy is on its way', () => {
  it('lets no second copy go out: the new journal would not know the first', async () => {
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
  it('Recalls at once when the device is back on the channel', async () => {
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

  it('a command that the broker returned is not-sent, and goes to no channel that cannot tell who is there', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.queue);
    bench.queue.fate = 'returned';
    const result = bench.link.carry(bench.delivery({ preferredChannel: 'queue' }));
    await bench.clock.advance(1_000);
    expect(await peek(result)).toMatchObject({ kind: 'not-sent' });
    expect(bench.mqtt.sends).toEqual([]);
  });

  it('a command still being handed over when its channel is lost goes to the other one', async () => {
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

  it('Recalls when our own connection is back, and once more when the device sends a message', async () => {
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

  it('Recalls after a reboot that no will announced', async () => {
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

  it('an accepted command whose device stays away ends only at answerBy', async () => {
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

  it('a channel lost before accepted brings the second copy forward', async () => {
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

describe('sends that fail', () => {
  it('certainly not sent: the other channel, also without a journal', async () => {
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

  it('certainly not sent anywhere: not-sent, at once', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.fate = 'down';
    bench.queue.fate = 'absent';
    expect(await bench.link.carry(bench.delivery())).toMatchObject({ kind: 'not-sent' });
    expect(bench.clock.pending).toBe(0);
  });

  it('does not turn a certain "not sent" into a shot in the dark on a broker that cannot tell', async () => {
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

  it('unclear: the other channel if there is one, otherwise Recall at once', async () => {
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

  it('unclear without a journal: no second copy, no Recall, silent', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    bench.mqtt.fate = 'unclear';
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    await bench.clock.advance(40_000);
    expect(await result).toMatchObject({ kind: 'silent' });
    expect(bench.mqtt.sends.length + bench.queue.sends.length).toBe(1);
  });

  it('a send that hangs counts as maybe sent', async () => {
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

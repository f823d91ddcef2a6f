// carry(): every row of "What the gateway does" that concerns the link, in virtual time.
import { describe, expect, it } from 'vitest';
import { commandId, createLinkBench, deviceId, journalId, otherDeviceId, peek } from '../link-bench.ts';

const done = { outcome: 'done', by: 'answer', kind: 'ended' };

describe('without failures', () => {
  it('sends on the preferred channel, receives accepted and the final answer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.settle();
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(20_000);
    bench.answer(bench.mqtt, 'done', { report: { rrn: '1' } });
    expect(await result).toMatchObject({ ...done, report: { rrn: '1' }, journalId, channel: 'mqtt', wasAccepted: true });
    expect(bench.stepNames()).toEqual(['sent mqtt', 'accepted mqtt', 'answered mqtt done']);
    expect(bench.queue.sends).toEqual([]);
    expect(bench.clock.pending).toBe(0);
    expect(bench.link.stats()).toMatchObject({ waitingCalls: 0 });
  });

  it('sends on the queue in Fiscal Mode, or on the only live channel', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.presence(bench.queue);
    void bench.link.carry(bench.delivery({ preferredChannel: 'queue' }));
    expect(bench.queue.sends).toHaveLength(1);
    const lonely = await createLinkBench();
    lonely.presence(lonely.queue);
    void lonely.link.carry(lonely.delivery({ preferredChannel: 'mqtt' }));
    expect([lonely.mqtt.sends.length, lonely.queue.sends.length]).toEqual([0, 1]);
  });

  it('accepts an answer that arrives before the send has completed', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    bench.mqtt.onArrival = () => bench.answer(bench.mqtt, 'done');
    expect(await bench.link.carry(bench.delivery())).toMatchObject(done);
  });

  it('writes startBy and answerBy in the device clock and lets the message expire with startBy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { clockMs: bench.clock.now() - 3_600_000 });
    void bench.link.carry(bench.delivery({ answerWithinMs: 60_000 }));
    const [send] = bench.mqtt.sends;
    const now = bench.clock.now();
    expect(send?.command).toMatchObject({
      issuedAt: new Date(now).toISOString(),
      startBy: new Date(now - 3_600_000 + 10_000).toISOString(),
      answerBy: new Date(now - 3_600_000 + 60_000).toISOString(),
      replyTo: 'gateway-1',
    });
    expect(send?.expiresInMs).toBe(10_000);
  });
});

describe('accepted and Recall', () => {
  it('puts the same id on the other channel after 3 s, with what is left of startBy', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(2_999);
    expect(bench.queue.sends).toHaveLength(0);
    await bench.clock.advance(1);
    expect(bench.queue.sends).toMatchObject([{ command: { id: commandId }, expiresInMs: 7_000 }]);
    expect(bench.queue.sends[0]?.command.startBy).toBe(bench.mqtt.sends[0]?.command.startBy);
    bench.answer(bench.queue, 'accepted');
    bench.answer(bench.queue, 'done');
    expect(await result).toMatchObject({ ...done, channel: 'queue' });
  });

  it('never sends a second copy, and no Recall, without a journal', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { journalId: undefined });
    bench.presence(bench.queue, { journalId: undefined });
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    await bench.clock.advance(5_000);
    bench.mqtt.says.gone(deviceId);
    bench.presence(bench.mqtt, { journalId: undefined });
    await bench.clock.advance(34_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toMatchObject({ kind: 'silent', wasAccepted: false });
    expect(bench.mqtt.sends.length + bench.queue.sends.length).toBe(1);
  });

  it('waits until answerBy if accepted comes from a device without a journal', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt, { journalId: undefined });
    const result = bench.link.carry(bench.delivery({ journalId: undefined }));
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(299_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toEqual({ kind: 'timeout', wasAccepted: true });
  });

  it('Recalls at startBy, and keeps waiting after the state running', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(9_999);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toEqual([]);
    await bench.clock.advance(1);
    const [recall] = bench.commandsOn(bench.mqtt, 'Recall');
    expect(recall).toMatchObject({ name: 'Recall', args: { target: commandId } });
    expect(recall).not.toHaveProperty('startBy');
    bench.recalled(bench.mqtt, { state: 'running' });
    await bench.clock.advance(29_000);
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(1);
    bench.answer(bench.mqtt, 'done');
    expect(await result).toMatchObject({ ...done, wasAccepted: true });
  });

  it('ends the command when Recall returns never, and reports the journal of that answer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    const another = '99999999-9999-4999-8999-999999999999';
    bench.recalled(bench.mqtt, { state: 'never' }, { journalId: another });
    expect(await result).toMatchObject({ kind: 'ended', by: 'recall', outcome: 'never', journalId: another, wasAccepted: false });
  });

  it('ends the command with the outcome and report of a Recall that returns final', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'final', outcome: 'refused', report: { why: 'pin' } });
    expect(await result).toMatchObject({ kind: 'ended', by: 'recall', outcome: 'refused', report: { why: 'pin' }, journalId });
    expect(bench.stepNames()).toEqual(['sent mqtt', 'sent queue', 'recall mqtt', 'recalled mqtt final refused']);
  });

  it('ends with the outcome unknown when Recall returns unknown', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'unknown' });
    expect(await result).toMatchObject({ kind: 'ended', by: 'recall', outcome: 'unknown' });
  });

  it('ends as silent after 30 s of unanswered Recalls on every channel', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(39_999);
    expect(await peek(result)).toBe('pending');
    await bench.clock.advance(1);
    expect(await result).toMatchObject({ kind: 'silent', wasAccepted: false });
    expect(bench.commandsOn(bench.mqtt, 'Recall')).toHaveLength(6);
    expect(bench.commandsOn(bench.queue, 'Recall')).toHaveLength(5);
    expect(bench.clock.pending).toBe(0);
  });

  it('ignores an invalid answer to Recall and asks again', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    await bench.clock.advance(10_000);
    bench.recalled(bench.mqtt, { state: 'final' });
    await bench.clock.advance(5_000);
    bench.recalled(bench.mqtt, { state: 'never' });
    expect(await result).toMatchObject({ by: 'recall', outcome: 'never' });
  });
});

describe('answers', () => {
  it('count only from the addressed device', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.mqtt.says.answer(otherDeviceId, {
      v: 1,
      id: commandId,
      device: otherDeviceId,
      clock: new Date(bench.clock.now()).toISOString(),
      outcome: 'done',
    });
    await bench.clock.settle();
    expect(await peek(result)).toBe('pending');
    expect(bench.link.stats().dropped).toEqual({ 'foreign-device': 1 });
    expect(bench.link.dropNotesOf(otherDeviceId)).toMatchObject([{ field: 'id', why: 'the command belongs to another device' }]);
    bench.answer(bench.mqtt, 'refused');
    expect(await result).toMatchObject({ outcome: 'refused' });
  });

  it('give one result; any later one is a late answer', async () => {
    const bench = await createLinkBench();
    const late: string[] = [];
    bench.link.onLateAnswer((device, answer, channel) =>
      late.push(`${device === deviceId} ${answer.id === commandId} ${answer.outcome} ${channel}`),
    );
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'done');
    bench.answer(bench.queue, 'done');
    bench.answer(bench.mqtt, 'accepted');
    bench.answer(bench.mqtt, 'refused');
    expect(await result).toMatchObject(done);
    expect(late).toEqual(['true true done queue', 'true true accepted mqtt', 'true true refused mqtt']);
  });

  it('after a timeout go to onLateAnswer', async () => {
    const bench = await createLinkBench();
    const late: string[] = [];
    bench.link.onLateAnswer((_device, answer) => late.push(answer.outcome));
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery({ answerWithinMs: 5_000 }));
    bench.answer(bench.mqtt, 'accepted');
    await bench.clock.advance(5_000);
    expect(await result).toEqual({ kind: 'timeout', wasAccepted: true });
    bench.answer(bench.mqtt, 'done');
    expect(late).toEqual(['done']);
  });

  it('expired corrects the measured clock from the answer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    const hourAhead = new Date(bench.clock.now() + 3_600_000).toISOString();
    bench.answer(bench.mqtt, 'expired', { clock: hourAhead });
    expect(await result).toMatchObject({ outcome: 'expired' });
    expect(bench.link.presence.of(deviceId)?.clockOffsetMs).toBe(3_600_000);
  });
});

describe('limits', () => {
  it('stop() ends every waiting call once, and leaves no timer', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const carried = bench.link.carry(bench.delivery());
    const asked = bench.link.ask(deviceId, { name: 'Status', args: {}, timeoutMs: 5_000, preferredChannel: 'mqtt' });
    const located = bench.link.locate(otherDeviceId, 'mqtt');
    await bench.link.stop();
    expect(await carried).toMatchObject({ kind: 'silent', reason: 'The gateway is stopping.' });
    expect(await asked).toBeUndefined();
    expect(await located).toBeUndefined();
    expect(bench.clock.pending).toBe(0);
    expect(await bench.link.carry(bench.delivery())).toEqual({ kind: 'not-sent', reason: 'The gateway is stopping.' });
    expect([bench.mqtt.isConnected, bench.queue.isConnected]).toEqual([false, false]);
  });

  it('refuses calls above maxWaiting before anything is sent', async () => {
    const bench = await createLinkBench({ maxWaiting: 1 });
    bench.presence(bench.mqtt);
    void bench.link.carry(bench.delivery());
    const sends = bench.mqtt.sends.length;
    expect(await bench.link.carry(bench.delivery({ id: '77777777-7777-4777-8777-777777777777' }))).toMatchObject({ kind: 'not-sent' });
    await expect(bench.link.ask(deviceId, { name: 'Status', args: {}, timeoutMs: 1_000, preferredChannel: 'mqtt' })).rejects.toMatchObject({
      errorName: 'Too_Many_Requests',
      retryAfterS: 1,
    });
    await expect(bench.link.locate(otherDeviceId, 'mqtt')).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    expect(bench.mqtt.sends).toHaveLength(sends);
    await bench.link.stop();
  });

  it('completes the command even if its timeline cannot be written', async () => {
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(
      bench.delivery({
        onStep() {
          throw new Error('disk full');
        },
      }),
    );
    bench.answer(bench.mqtt, 'done');
    expect(await result).toMatchObject(done);
  });
});

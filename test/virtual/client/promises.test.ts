// The seven promises of docs/device-protocol.md, one by one, in virtual time.
import { describe, expect, it } from 'vitest';
import { benchOfOne, deviceId } from '../bench-of-one.ts';

const pay = { amount: 12.5, currency: 'MDL' };

describe('reading commands', () => {
  it('drops and counts what is no command, and answers nothing', async () => {
    const { clock, deliver, command, sent, device } = await benchOfOne();
    for (const bad of [
      '{',
      '[]',
      '"Pay"',
      command('Pay', pay, { v: 2 }),
      command('Pay', pay, { id: 'x' }),
      command('Pay', pay, { replyTo: 'a/b' }),
      command('Pay', pay, { replyTo: 'a.b' }),
      command('Pay', pay, { replyTo: '#' }),
      command('Pay', pay, { startBy: 'soon' }),
      command('Pay', pay, { answerBy: undefined }),
      command('Pay', pay, { args: [] }),
      command('Pay', { ...pay, filler: 'x'.repeat(1024 * 1024) }),
    ]) {
      deliver(bad);
    }
    await clock.advance(10_000);
    expect(sent).toEqual([]);
    expect(device.bank.entries()).toEqual([]);
  });

  it('ignores unknown fields and answers an unknown command with unsupported', async () => {
    const { ask, outcomesOf } = await benchOfOne();
    expect(outcomesOf(await ask('Pay', pay, 1_000, { colour: 'red' }))).toEqual(['accepted', 'done']);
    expect(outcomesOf(await ask('Dance'))).toEqual(['unsupported']);
    expect(outcomesOf(await ask('MoneyIn', { amount: 5 }))).toEqual(['unsupported']);
  });
});

describe('presence', () => {
  it('is sent on both channels when they connect, and twice a minute', async () => {
    const { clock, presences } = await benchOfOne();
    expect(presences).toHaveLength(2);
    expect(presences[0]).toMatchObject({ v: 1, device: deviceId, online: true, kind: 'terminal', bank: 'MAIB', paper: 'OK' });
    expect(presences[0]?.journalId).toBeTypeOf('string');
    await clock.advance(90_000);
    expect(presences).toHaveLength(8);
  });
});

describe('promise 1: once', () => {
  it('says accepted and then exactly one ending', async () => {
    const { ask, answersTo, device } = await benchOfOne();
    const answers = answersTo(await ask('Pay', pay));
    expect(answers.map((answer) => answer.outcome)).toEqual(['accepted', 'done']);
    expect(answers[1]?.report).toMatchObject({
      amount: 12.5,
      rrn: expect.any(String),
      operationId: expect.any(String),
      authCode: expect.any(String),
    });
    expect(device.bank.netBani()).toBe(1250);
  });

  it('has the id in the journal before accepted is sent', async () => {
    const bench = await benchOfOne();
    const message = bench.command('Pay', pay);
    let wasKnown: boolean | undefined;
    const append = bench.stores.journal.append;
    bench.stores.journal.append = async (record) => {
      if (record.id === message.id && record.state === 'taken') wasKnown = bench.outcomesOf(message.id).length === 0;
      await append(record);
    };
    bench.deliver(message);
    await bench.clock.advance(1_000);
    expect(wasKnown).toBe(true);
    expect(bench.outcomesOf(message.id)).toEqual(['accepted', 'done']);
  });

  it('says nothing when the journal cannot be written', async () => {
    const bench = await benchOfOne();
    bench.stores.journal.append = () => Promise.reject(new Error('disk full'));
    const id = await bench.ask('Pay', pay, 100);
    expect(bench.outcomesOf(id)).toEqual([]);
    expect(bench.device.bank.entries()).toEqual([]);
  });

  it('executes the same id once, on both channels, running or ended', async () => {
    const { clock, deliver, command, outcomesOf, device } = await benchOfOne();
    const message = command('Pay', pay);
    deliver(message, 'mqtt');
    deliver(message, 'queue');
    await clock.advance(50);
    expect(outcomesOf(message.id)).toEqual(['accepted', 'accepted']);
    await clock.advance(1_000);
    deliver(message, 'queue');
    await clock.advance(1_000);
    expect(outcomesOf(message.id)).toEqual(['accepted', 'accepted', 'done', 'done']);
    expect(device.bank.charges()).toHaveLength(1);
  });

  it('answers a known id from the journal even after startBy, after a restart, and while another runs', async () => {
    const { clock, deliver, command, answersTo, device, ask } = await benchOfOne();
    const message = command('Pay', pay);
    deliver(message);
    await clock.advance(1_000);
    await Promise.all([device.crash(), clock.advance(60_000)]);
    const slow = command('Pay', { amount: 10.64, currency: 'MDL' });
    deliver(slow);
    await clock.advance(100);
    deliver(message);
    await clock.advance(100);
    const [, first, again] = answersTo(message.id);
    expect(again?.outcome).toBe('done');
    expect(again?.report).toEqual(first?.report);
    await ask('Status');
    expect(device.bank.charges()).toHaveLength(1);
  });

  it('keeps busy final for that id', async () => {
    const { clock, deliver, command, outcomesOf } = await benchOfOne();
    const first = command('Pay', pay);
    const second = command('Pay', pay);
    deliver(first);
    deliver(second);
    await clock.advance(5_000);
    deliver(second);
    await clock.advance(5_000);
    expect(outcomesOf(second.id)).toEqual(['busy', 'busy']);
  });
});

describe('promise 2: never late', () => {
  it('does not begin after startBy, and stays expired', async () => {
    const { clock, deliver, command, outcomesOf, device } = await benchOfOne();
    const message = command('Pay', pay);
    await clock.advance(10_001);
    deliver(message);
    await clock.advance(1_000);
    expect(outcomesOf(message.id)).toEqual(['expired']);
    deliver({ ...message, startBy: new Date(clock.now() + 10_000).toISOString() });
    await clock.advance(1_000);
    expect(outcomesOf(message.id)).toEqual(['expired', 'expired']);
    expect(device.bank.entries()).toEqual([]);
  });

  it('does not begin when writing the journal took it past startBy', async () => {
    const bench = await benchOfOne();
    const append = bench.stores.journal.append;
    bench.stores.journal.append = async (record) => {
      if (record.state === 'taken') await new Promise<void>((resolve) => bench.clock.after(11_000, resolve));
      await append(record);
    };
    expect(bench.outcomesOf(await bench.ask('Pay', pay, 20_000))).toEqual(['expired']);
    expect(bench.device.bank.entries()).toEqual([]);
  });

  it('ends refused when answerBy comes while it waits for the card', async () => {
    const { ask, answersTo, clock, device } = await benchOfOne();
    const id = await ask('Pay', { amount: 10.64, currency: 'MDL' }, 1_000, { answerBy: new Date(clock.now() + 3_000).toISOString() });
    await clock.advance(60_000);
    expect(answersTo(id).map((answer) => answer.outcome)).toEqual(['accepted', 'refused']);
    expect(device.bank.entries()).toEqual([]);
  });

  it('judges by its own clock', async () => {
    const { ask, outcomesOf } = await benchOfOne({ faults: { clockSkewMs: 3_600_000 } });
    expect(outcomesOf(await ask('Pay', pay))).toEqual(['expired']);
  });
});

describe('promise 3: Recall', () => {
  it('tells running, then final with the outcome and report, and sends the ending to everyone who asked', async () => {
    const { clock, deliver, command, answersTo, sent } = await benchOfOne();
    const message = command('Pay', { amount: 10.64, currency: 'MDL' });
    deliver(message);
    await clock.advance(100);
    const early = command('Recall', { target: message.id }, { replyTo: 'gateway-2' });
    deliver(early, 'queue');
    await clock.advance(100);
    expect(answersTo(early.id)).toMatchObject([{ outcome: 'done', report: { state: 'running' } }]);
    await clock.advance(30_000);
    const endings = sent.filter((item) => item.answer.id === message.id && item.answer.outcome === 'done');
    expect(endings.map((item) => item.replyTo)).toEqual(['gateway-1', 'gateway-2']);
    const late = command('Recall', { target: message.id }, { startBy: undefined, answerBy: undefined });
    deliver(late);
    await clock.advance(100);
    expect(answersTo(late.id)).toMatchObject([
      { outcome: 'done', report: { state: 'final', outcome: 'done', report: endings[0]?.answer.report } },
    ]);
  });

  it('buries an id that it never saw; the command, should it come, is answered never', async () => {
    const { clock, deliver, command, lastAnswer, outcomesOf, device } = await benchOfOne();
    const message = command('Pay', pay);
    expect(await lastAnswer('Recall', { target: message.id })).toMatchObject({ outcome: 'done', report: { state: 'never' } });
    await Promise.all([device.crash(), clock.advance(2_000)]);
    deliver(message);
    await clock.advance(1_000);
    expect(outcomesOf(message.id)).toEqual(['never']);
    expect(await lastAnswer('Recall', { target: message.id })).toMatchObject({ outcome: 'done', report: { state: 'never' } });
    expect(device.bank.entries()).toEqual([]);
  });

  it('tells busy and expired as final', async () => {
    const { clock, deliver, command, lastAnswer } = await benchOfOne();
    const message = command('Pay', pay);
    await clock.advance(20_000);
    deliver(message);
    await clock.advance(100);
    expect(await lastAnswer('Recall', { target: message.id })).toMatchObject({ report: { state: 'final', outcome: 'expired' } });
  });
});

describe('promise 4: one at a time', () => {
  it('is busy for another ledger command and still answers the others', async () => {
    const { clock, deliver, command, outcomesOf, ask, lastAnswer } = await benchOfOne();
    const running = command('Pay', { amount: 10.64, currency: 'MDL' });
    deliver(running);
    await clock.advance(100);
    expect(outcomesOf(await ask('CloseDay', {}, 100))).toEqual(['busy']);
    expect(await lastAnswer('Status', {}, 100)).toMatchObject({
      outcome: 'done',
      report: { online: true, battery: 80, paper: 'OK', bank: 'MAIB', signal: 70 },
    });
    expect(await lastAnswer('LastTransaction', {}, 100)).toMatchObject({
      report: { commandId: running.id, kind: 'Pay', state: 'running' },
    });
    await clock.advance(30_000);
    expect(outcomesOf(running.id)).toEqual(['accepted', 'done']);
    expect(await lastAnswer('LastTransaction', {}, 100)).toMatchObject({
      report: { commandId: running.id, state: 'approved', amount: 10.64 },
    });
    expect(outcomesOf(await ask('CloseDay'))).toEqual(['accepted', 'done']);
  });
});

describe('Abort', () => {
  it('stops a Pay that waits for the card; the Pay says refused itself', async () => {
    const { clock, deliver, command, outcomesOf, lastAnswer, device } = await benchOfOne();
    const message = command('Pay', { amount: 10.64, currency: 'MDL' });
    deliver(message);
    await clock.advance(100);
    expect(await lastAnswer('Abort', { target: message.id }, 10)).toMatchObject({ outcome: 'done' });
    expect(outcomesOf(message.id)).toEqual(['accepted', 'refused']);
    await clock.advance(60_000);
    expect(device.bank.entries()).toEqual([]);
  });

  it('is refused when the bank has been asked', async () => {
    const { clock, deliver, command, outcomesOf, lastAnswer } = await benchOfOne({ timing: { bankMs: 5_000 } });
    const message = command('Pay', pay);
    deliver(message);
    await clock.advance(1_000);
    expect(await lastAnswer('Abort', { target: message.id }, 10)).toMatchObject({ outcome: 'refused' });
    await clock.advance(10_000);
    expect(outcomesOf(message.id)).toEqual(['accepted', 'done']);
  });

  it('buries an id that it never saw', async () => {
    const { clock, deliver, command, outcomesOf, lastAnswer } = await benchOfOne();
    const message = command('Pay', pay);
    expect(await lastAnswer('Abort', { target: message.id })).toMatchObject({ outcome: 'done' });
    deliver(message);
    await clock.advance(1_000);
    expect(outcomesOf(message.id)).toEqual(['never']);
  });
});

describe('promise 6: journal before and after', () => {
  it.each([
    ['before the bank', 10.68, 'refused', 0],
    ['after the bank', 10.69, 'done', 1069],
  ])('a power cut %s ends as the bank says', async (_when, amount, outcome, charged) => {
    const { ask, outcomesOf, device, lastAnswer } = await benchOfOne();
    const id = await ask('Pay', { amount, currency: 'MDL' }, 10_000);
    expect(outcomesOf(id)).toEqual(['accepted', outcome]);
    expect(device.bank.netBani()).toBe(charged);
    expect(await lastAnswer('Recall', { target: id })).toMatchObject({ report: { state: 'final', outcome } });
  });

  it('a power cut while it waits for the card touches nothing', async () => {
    const { clock, ask, outcomesOf, device } = await benchOfOne();
    const id = await ask('Pay', { amount: 10.64, currency: 'MDL' }, 1_000);
    await Promise.all([device.crash(), clock.advance(60_000)]);
    expect(outcomesOf(id)).toEqual(['accepted', 'refused']);
    expect(device.bank.entries()).toEqual([]);
  });

  it('returns with a new bootId and the same journalId', async () => {
    const { clock, device, presences } = await benchOfOne();
    const before = presences.at(-1);
    await Promise.all([device.crash(), clock.advance(5_000)]);
    const after = presences.at(-1);
    expect(after?.bootId).not.toBe(before?.bootId);
    expect(after?.journalId).toBe(before?.journalId);
  });
});

describe('promise 7: answers travel', () => {
  it('uses the other channel when the one it came on is gone, and waits when all are', async () => {
    const { clock, deliver, command, sent, mqtt, queue } = await benchOfOne();
    const first = command('Pay', pay);
    deliver(first, 'mqtt');
    await clock.advance(50);
    mqtt.cut();
    await clock.advance(1_000);
    expect(sent.filter((item) => item.answer.id === first.id).map((item) => [item.channel, item.answer.outcome])).toEqual([
      ['mqtt', 'accepted'],
      ['queue', 'done'],
    ]);
    const second = command('Pay', pay);
    deliver(second, 'queue');
    await clock.advance(50);
    queue.cut();
    await clock.advance(60_000);
    mqtt.mend();
    await clock.advance(10);
    expect(sent.filter((item) => item.answer.id === second.id).map((item) => [item.channel, item.answer.outcome])).toEqual([
      ['queue', 'accepted'],
      ['mqtt', 'done'],
    ]);
  });
});

describe('a device without a journal', () => {
  it('shows no journalId, knows no Recall, and tells its last transaction after a power cut', async () => {
    const { ask, answersTo, presences, lastAnswer } = await benchOfOne({ faults: { noJournal: true } });
    expect(presences[0]).not.toHaveProperty('journalId');
    const id = await ask('Pay', { amount: 10.69, currency: 'MDL' }, 10_000);
    expect(answersTo(id).map((answer) => answer.outcome)).toEqual(['accepted']);
    expect(answersTo(id)[0]).not.toHaveProperty('journalId');
    expect(await lastAnswer('Recall', { target: id })).toMatchObject({ outcome: 'unsupported' });
    expect(await lastAnswer('LastTransaction')).toMatchObject({ report: { commandId: id, state: 'approved', amount: 10.69 } });
  });

  it('charges a repeated command again: that is what a journal is for', async () => {
    const { clock, deliver, command, device } = await benchOfOne({ faults: { noJournal: true } });
    const message = command('Pay', pay);
    deliver(message);
    await clock.advance(1_000);
    deliver(message);
    await clock.advance(1_000);
    expect(device.bank.charges()).toHaveLength(2);
  });
});

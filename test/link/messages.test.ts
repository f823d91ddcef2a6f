// Parsing of device messages: which are accepted, which are dropped and why. No input may throw.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeviceId, isGatewayId, readAnswer, readDeviceFrame, readPresence, readRecallReport } from '../../src/link/messages.ts';
import { deviceId, journalId, otherDeviceId } from './link-bench.ts';

const clock = '2026-01-15T09:00:00.000Z';
const answer = { v: 1, id: journalId, device: deviceId, clock, journalId, outcome: 'done', report: { a: 1 } };
const presence = { v: 1, device: deviceId, online: true, clock, bootId: journalId, battery: 80 };
const read = (value: unknown) => readAnswer(JSON.stringify(value), deviceId);

describe('answers', () => {
  it('are accepted without unknown fields and with ids in lower case', () => {
    expect(read({ ...answer, id: journalId.toUpperCase(), device: deviceId.toUpperCase(), extra: 1 }).message).toEqual(answer);
  });

  it.each([
    ['not JSON', '{', 'not-json'],
    ['no object', '[]', 'not-json'],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not-json'],
    ['another version', JSON.stringify({ ...answer, v: 2 }), 'version', 'v'],
    ['no version', JSON.stringify({ ...answer, v: undefined }), 'version', 'v'],
    ['a wrong id', JSON.stringify({ ...answer, id: 'x' }), 'field', 'id'],
    ['no clock', JSON.stringify({ ...answer, clock: undefined }), 'field', 'clock'],
    ['a clock that is no time', JSON.stringify({ ...answer, clock: 'soon' }), 'field', 'clock'],
    ['a clock beyond the range of date-time', JSON.stringify({ ...answer, clock: '+275760-09-13T00:00:00.000Z' }), 'field', 'clock'],
    ['an unknown outcome', JSON.stringify({ ...answer, outcome: 'maybe' }), 'field', 'outcome'],
    ['a report that is no object', JSON.stringify({ ...answer, report: [1] }), 'field', 'report'],
    ['a journal that is no UUID', JSON.stringify({ ...answer, journalId: 'j' }), 'field', 'journalId'],
    ['another device', JSON.stringify({ ...answer, device: otherDeviceId }), 'foreign-device', 'device'],
    ['no device', JSON.stringify({ ...answer, device: undefined }), 'foreign-device', 'device'],
  ])('are dropped with %s', (_what, bytes, problem, field?: string) => {
    expect(readAnswer(bytes, deviceId)).toMatchObject({ problem, why: expect.any(String), ...(field && { field }) });
  });

  it('may be nested a hundred levels deep, and no deeper', () => {
    const nested = (levels: number) =>
      JSON.stringify(answer).replace('{"a":1}', `${'{"a":['.repeat(levels / 2)}"{["${']}'.repeat(levels / 2)}`);
    expect(readAnswer(nested(98), deviceId).message).toBeDefined();
    expect(readAnswer(nested(100), deviceId)).toEqual({ problem: 'too-deep' });
    expect(readDeviceFrame(`{"answer":${nested(100_000)}}`, deviceId)).toEqual({ problem: 'too-deep' });
    const braces = { ...answer, report: { text: '"{[\\'.repeat(500) } };
    expect(read(braces).message).toEqual(braces);
  });

  it('may hold 20,000 values in total, and no more', () => {
    const counted = (values: number) => JSON.stringify({ ...answer, report: { list: Array(values).fill(1) } });
    // The message, its seven fields, the report and the list; an empty list counts as one value and the comma in front of the next.
    const around = 9;
    expect(readAnswer(counted(20_000 - around), deviceId).message).toBeDefined();
    expect(readAnswer(counted(20_001 - around), deviceId)).toEqual({ problem: 'too-many-values' });
    expect(readPresence(counted(20_001), deviceId)).toEqual({ problem: 'too-many-values' });
    expect(readDeviceFrame(`{"answer":${counted(20_001)}}`, deviceId)).toEqual({ problem: 'too-many-values' });
    const commas = { ...answer, report: { text: ',[{'.repeat(20_001) } };
    expect(read(commas).message).toEqual(commas);
  });

  it('keep numbers beyond the precision of JavaScript, but such a number is no report', () => {
    const exact = readAnswer(JSON.stringify(answer).replace('{"a":1}', '{"a":90071992547409931}'), deviceId);
    expect(JSON.stringify(exact.message)).toContain('{"a":90071992547409931}');
    expect(readAnswer(JSON.stringify(answer).replace('{"a":1}', '90071992547409931'), deviceId)).toMatchObject({ problem: 'field' });
  });

  it('lose characters from a reason that no database can store', () => {
    expect(read({ ...answer, reason: 'a\u0000b\ud800' }).message?.reason).toBe('ab\ufffd');
    expect(readRecallReport({ state: 'unknown', reason: 'a\u0000b' })).toEqual({ state: 'unknown', reason: 'ab' });
  });

  it('may have 1 MiB and not a byte more, also in a frame', () => {
    const frame = JSON.stringify({ ...answer, report: { text: '' } });
    const fill = (bytes: number) => JSON.stringify({ ...answer, report: { text: `ă${'x'.repeat(bytes - Buffer.byteLength(frame) - 2)}` } });
    expect(readAnswer(Buffer.from(fill(1024 * 1024)), deviceId).message).toBeDefined();
    expect(readAnswer(Buffer.from(fill(1024 * 1024 + 1)), deviceId)).toEqual({ problem: 'too-large' });
    expect(readAnswer(fill(1024 * 1024 + 1), deviceId)).toEqual({ problem: 'too-large' });
    expect(readDeviceFrame(`{"answer":${fill(1024 * 1024)}}`, deviceId).message).toBeDefined();
    expect(readDeviceFrame(`{"answer":${fill(1024 * 1024 + 1)}}`, deviceId)).toEqual({ problem: 'too-large' });
  });

  it('never throw, whatever the input', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json(),
          fc.json().map((text) => `{"v":1,"answer":${text},"presence":${text}}`),
        ),
        (bytes) => {
          readAnswer(bytes, deviceId);
          readPresence(bytes, deviceId);
          readDeviceFrame(bytes, deviceId);
        },
      ),
    );
  });
});

describe('presence', () => {
  const readOne = (value: unknown) => readPresence(JSON.stringify(value), deviceId);

  it('is accepted without fields of the wrong type', () => {
    expect(readOne({ ...presence, paper: 5, signal: '70', firmware: 'x'.repeat(5_000) }).message).toEqual({
      ...presence,
      firmware: 'x'.repeat(1_000),
    });
  });

  it('a will needs only online false, but may not name another device', () => {
    expect(readOne({ online: false }).message).toEqual({ v: 1, device: deviceId, online: false });
    expect(readOne({ online: true })).toMatchObject({ problem: 'version' });
    expect(readOne({ v: 1, online: false, device: otherDeviceId })).toMatchObject({ problem: 'foreign-device' });
    expect(readOne({ v: 2, online: false })).toMatchObject({ problem: 'version' });
  });

  it('needs a clock and its own device', () => {
    expect(readOne({ ...presence, clock: undefined })).toMatchObject({ problem: 'field' });
    expect(readOne({ ...presence, device: otherDeviceId })).toMatchObject({ problem: 'foreign-device' });
  });
});

describe('missing and odd fields', () => {
  const readOne = (value: unknown) => readPresence(JSON.stringify(value), deviceId);

  it.each([
    ['online', 'yes'],
    ['online', undefined],
    ['journalId', 'j'],
    ['bootId', 'b'],
    ['clock', 'noon'],
  ])('a presence is dropped with %s %j', (field, value) => {
    expect(readOne({ ...presence, [field]: value })).toMatchObject({ problem: 'field', field, why: expect.stringContaining('must be') });
  });

  it('null counts as absent, for a journal, a boot and a report', () => {
    expect(readOne({ ...presence, journalId: null, bootId: null }).message).not.toHaveProperty('bootId');
    expect(readOne({ ...presence, journalId: null }).message).not.toHaveProperty('journalId');
    const bare = { v: 1, id: journalId, device: deviceId, clock, outcome: 'done' };
    expect(read({ ...answer, journalId: null, report: null }).message).toEqual(bare);
    expect(read(bare).message).toEqual(bare);
  });

  it('all known fields of a presence are accepted, an unknown kind is not', () => {
    const whole = { ...presence, journalId, kind: 'register', paper: 'OK', signal: 70.5, bank: 'B', firmware: 'F 1' };
    expect(readOne(whole).message).toEqual(whole);
    expect(readOne({ ...presence, kind: 'robot' }).message).toEqual(presence);
    expect(readOne({ ...presence, kind: 7 }).message).toEqual(presence);
    expect(readPresence(JSON.stringify(presence).replace('80', '8e999'), deviceId).message).not.toHaveProperty('battery');
  });

  it('a will may have a clock and a device; an invalid clock is ignored', () => {
    expect(readOne({ online: false, clock, device: deviceId.toUpperCase() }).message).toEqual({
      v: 1,
      device: deviceId,
      online: false,
      clock,
    });
    expect(readOne({ v: 1, online: false, clock: 'noon' }).message).toEqual({ v: 1, device: deviceId, online: false });
    expect(readOne({ v: 2, online: true, clock, device: deviceId })).toMatchObject({ problem: 'version' });
  });

  it('a reason is truncated to a thousand characters', () => {
    expect(read({ ...answer, reason: 'x'.repeat(1_001) }).message?.reason).toBe('x'.repeat(1_000));
    expect(read({ ...answer, reason: 7 }).message).toEqual(answer);
  });

  it('a presence in a frame may have 1 MiB as well, and a frame without an object is dropped', () => {
    const sized = (bytes: number) => {
      const bare = JSON.stringify({ ...presence, extra: '' });
      return `{"presence":${JSON.stringify({ ...presence, extra: 'x'.repeat(bytes - bare.length) })}}`;
    };
    expect(readDeviceFrame(sized(1024 * 1024), deviceId).message).toEqual({ presence });
    expect(readDeviceFrame(sized(1024 * 1024 + 1), deviceId)).toEqual({ problem: 'too-large' });
    for (const value of [null, [], 'x', 1]) {
      expect(readDeviceFrame(JSON.stringify({ answer: value, presence: value }), deviceId)).toMatchObject({
        problem: 'field',
        field: 'answer',
      });
    }
    expect(readDeviceFrame(JSON.stringify({ presence: { ...presence, v: 2 } }), deviceId)).toMatchObject({ problem: 'version' });
    expect(readDeviceFrame('{', deviceId)).toMatchObject({ problem: 'not-json' });
  });

  it('the reason says why the message is no JSON object', () => {
    const readings = ['[]', '{', Buffer.from([0xff])].map((bytes) => readPresence(bytes, deviceId));
    expect(readings).toMatchObject([{ why: 'it is JSON, but no object' }, { why: 'it is no JSON' }, { why: 'it is not UTF-8' }]);
    for (const text of ['null', '"x"', '7', '90071992547409931']) expect(readAnswer(text, deviceId)).toMatchObject({ problem: 'not-json' });
  });
});

describe('frames and reports', () => {
  it('a frame holds an answer or a presence', () => {
    expect(readDeviceFrame(JSON.stringify({ answer }), deviceId).message).toEqual({ answer });
    expect(readDeviceFrame(JSON.stringify({ presence }), deviceId).message).toEqual({ presence });
    expect(readDeviceFrame(JSON.stringify({ command: {} }), deviceId)).toMatchObject({ problem: 'field' });
    expect(readDeviceFrame(JSON.stringify({ answer: { ...answer, device: otherDeviceId } }), deviceId)).toMatchObject({
      problem: 'foreign-device',
    });
  });

  it('the report of a Recall needs a state, and final needs a final outcome', () => {
    expect(readRecallReport({ state: 'final', outcome: 'done', report: { rrn: '1' } })).toEqual({
      state: 'final',
      outcome: 'done',
      report: { rrn: '1' },
    });
    expect(readRecallReport({ state: 'running', outcome: 'done' })).toEqual({ state: 'running' });
    expect(readRecallReport({ state: 'never', report: [1], reason: 7 })).toEqual({ state: 'never' });
    expect(readRecallReport({ state: 'final', outcome: 7 })).toBeUndefined();
    expect(readRecallReport({ state: 7 })).toBeUndefined();
    for (const wrong of [undefined, null, [], {}, { state: 'ended' }, { state: 'final' }, { state: 'final', outcome: 'accepted' }]) {
      expect(readRecallReport(wrong)).toBeUndefined();
    }
  });

  it('ids in topics and routing keys may contain neither wildcards nor separators', () => {
    for (const wrong of ['', '+', '#', 'a/b', 'a.b', '*', 'presence', 'x'.repeat(65), undefined]) expect(isGatewayId(wrong)).toBe(false);
    for (const right of [journalId, 'x'.repeat(64), 'Gate_way-1']) expect(isGatewayId(right)).toBe(true);
    for (const wrong of [7, ' a', 'a\n', 'ă']) expect(isGatewayId(wrong)).toBe(false);
    for (const wrong of ['', '+', deviceId.toUpperCase().replace('1', 'A'), 'admin', undefined]) expect(isDeviceId(wrong)).toBe(false);
    expect(isDeviceId(deviceId)).toBe(true);
  });
});

import { describe, expect, it } from 'vitest';
import { boundReport, maxReportLength, quoted, shortened } from '../../src/kernel/device-texts.ts';
import { parseExactJson } from '../../src/kernel/exact-json.ts';

const long = 'x'.repeat(900_000);
const payment = { rrn: '407312908813', operationId: '000147', amount: 150.5 };

describe('a report', () => {
  it('is unchanged up to the bound', () => {
    const report = { ...payment, text: 'x'.repeat(60_000) };
    expect(boundReport(report)).toBe(report);
    const exact = { text: '' };
    exact.text = 'x'.repeat(maxReportLength - JSON.stringify(exact).length);
    expect(boundReport(exact)).toBe(exact);
    exact.text += 'x';
    expect(boundReport(exact)).toEqual({ text: `${'x'.repeat(1_000)}…` });
  });

  it('above it keeps its small fields, with long texts cut', () => {
    const rows = Array.from({ length: 10_000 }, () => 'row 1');
    const kept = boundReport({ rows, slip: long, ...payment, [long]: 1, number: parseExactJson('9'.repeat(900_000)) });
    expect(kept).toEqual({ ...payment, slip: `${'x'.repeat(1_000)}…` });
  });

  it('has the bound also if it has many fields', () => {
    const many = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`field ${at}`, '"'.repeat(20)]));
    const kept = boundReport({ ...many, ...payment });
    expect(kept).toMatchObject(payment);
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(maxReportLength);
    expect(JSON.stringify(boundReport({ ...many, ...payment }, 2_000)).length).toBeLessThanOrEqual(2_000);
    const tiny = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`f${at}`, 0]));
    for (const bound of [maxReportLength, 2_000]) expect(boundReport({ ...tiny, ...payment }, bound)).toMatchObject(payment);
  });
});

describe('a text', () => {
  it('is cut above its bound, and never inside a character', () => {
    expect(shortened('12345', 5)).toBe('12345');
    expect(shortened('123456', 5)).toBe('12345…');
    expect(shortened('1234😀', 5)).toBe('1234\ufffd…');
  });

  it('in a sentence is short, whatever it is', () => {
    expect(quoted('1.00')).toBe('"1.00"');
    expect(quoted(undefined)).toBe('nothing');
    for (const value of [long, [long], { [long]: 1 }, parseExactJson('9'.repeat(900_000))]) expect(quoted(value).length).toBeLessThan(110);
  });
});

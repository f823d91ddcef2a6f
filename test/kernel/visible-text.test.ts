import { expect, it } from 'vitest';
import { visibleJson, visibleLine, visibleText } from '../../src/kernel/visible-text.ts';

const character = (code: number) => String.fromCharCode(code);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_one, place) => character(from + place));
const unsafe = [...range(0, 8), ...range(0x0b, 0x1f), ...range(0x7f, 0x9f), ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)];
const directed = [...unsafe, '\u061c', '\u200e', '\u200f', '\u2028', '\u2029', '\ufeff'];
/** Texts with them look like others: zero width, soft hyphen, fillers, variation selectors, tags. */
const invisible = [
  '\u200b',
  '\u200c',
  '\u200d',
  '\u00ad',
  '\u034f',
  '\u115f',
  '\u180e',
  '\u2060',
  '\u3164',
  '\ufe0f',
  '\ufff9',
  '\u{e0041}',
  '\u{1d173}',
];
const all = [...directed, ...invisible];
const leftOver = new RegExp(`[${all.map((one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join('')}]`, 'u');

it('shows what a terminal would obey as its number', () => {
  expect(visibleText('\x1b]0;owned\x07 \u202etxt\r\n\t\u009b2J')).toBe('\\u001b]0;owned\\u0007 \\u202etxt\\u000d\n\t\\u009b2J');
  for (const one of all) expect(visibleText(`a${one}b`)).toMatch(/^a(?:\\u[\da-f]{4})+b$/);
  expect(visibleLine('a\nok  all\tb')).toBe('a\\u000aok  all\\u0009b');
});

it('leaves texts of all languages alone', () => {
  const text = 'Цукор, ăâîșț, 漢字, עברית, 👩🍳 \\u001b';
  expect(visibleText(text)).toBe(text);
  expect(visibleJson(JSON.stringify({ text }))).toBe(JSON.stringify({ text }));
});

it('keeps the value of a JSON text', () => {
  const value = { name: all.join(''), more: ['\u009b', 'a\nb'] };
  const shown = visibleText(JSON.stringify(value));
  expect(shown).not.toMatch(leftOver);
  expect(JSON.parse(shown)).toEqual(value);
});

it('makes a line of JSON whose decoded strings are visible text', () => {
  for (const one of all) {
    const line = visibleJson(`${JSON.stringify({ [`key${one}`]: [`${one}\\${one}\\\\${one}"`], trace: 'a\n\tb' })}\n`);
    const [first, trace] = Object.entries(JSON.parse(line) as Record<string, string[]>);
    expect(line).not.toMatch(leftOver);
    expect(first?.flat().join()).not.toMatch(leftOver);
    expect(first?.[1]).toEqual([expect.stringMatching(/"$/)]);
    expect(trace).toEqual(['trace', 'a\n\tb']);
  }
  expect(JSON.parse(visibleJson(JSON.stringify('\x1b[2J\\u001b\r')))).toBe('\\u001b[2J\\u001b\\r');
});

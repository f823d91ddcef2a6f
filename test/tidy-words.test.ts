// Plain language [docs/glossary.md]: discouraged words occur neither in sources nor in titles of tests.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findDiscouragedTitles, findDiscouragedWords } from './support/tidy/words.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

function readFiles(...patterns: string[]): Map<string, string> {
  const paths = globSync(patterns, { cwd: root, exclude: ['**/node_modules', '**/dist'] });
  return new Map(paths.sort().map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]));
}

/** Passwords that people choose are no prose. */
const wordLists = ['src/access/people/common-passwords.ts'];

function outside(findings: readonly string[]): string[] {
  return findings.filter((finding) => !wordLists.some((place) => finding.startsWith(place)));
}

describe('sources', () => {
  const findings = findDiscouragedWords(
    readFiles('src/**/*.ts', 'web/src/**/*.{ts,tsx}', 'simulation/**/*.ts', 'exploration/**/*.ts', 'scripts/**/*.{ts,mjs}'),
  );

  it('use no discouraged words', () => {
    expect(outside(findings)).toEqual([]);
  });
});

describe('titles of tests', () => {
  const findings = findDiscouragedTitles(readFiles('test/**/*.test.ts'));

  it('use no discouraged words', () => {
    expect(findings).toEqual([]);
  });
});

describe('the check itself', () => {
  it('finds a word in a comment, a text and a name, not inside another word', () => {
    const text = '// Whoever\nconst told = 1;\nconst untold_at = "the";\nsay("Nobody");\n';
    expect(findDiscouragedWords(new Map([['a.ts', text]])).map((finding) => finding.split(':', 2).join(':'))).toEqual([
      'a.ts:1 has "Whoever"',
      'a.ts:2 has "told"',
      'a.ts:4 has "Nobody"',
    ]);
  });

  it('finds a word in titles alone', () => {
    // In parts, so that the check of this file finds no title here.
    const [name, rowsEnd] = ['it', '])'];
    const text = [
      `${name}('tells somebody', () => say('nobody'));`,
      `${name}.each([\n  1,\n${rowsEnd}('%s is heard', () => {});`,
      'describe.each([1, 2])(\n  `his`, f);',
    ].join('\n');
    expect(findDiscouragedTitles(new Map([['a.ts', text]])).map((finding) => finding.replace(/: .*/, ''))).toEqual([
      'a.ts:1 has "somebody"',
      'a.ts:4 has "heard"',
      'a.ts:5 has "his"',
    ]);
  });
});

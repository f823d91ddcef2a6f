// docs/decisions.md uses each number once, gives a reason in at most five lines, and has every decision that the code refers to.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/decisions.md'), 'utf8');
const entries = page
  .split(/^(?=\*\*D\d+ )/m)
  .slice(1)
  .map((text) => ({ number: Number(/^\*\*D(\d+) /.exec(text)?.[1]), text }));

/** `[D13]`, `[D8, D9]`, `[D12 to D18]`. */
function pointedAt(text: string): number[] {
  return [...text.matchAll(/\[(D\d+(?:(?:, | to )D\d+)*)\]/g)].flatMap(([, numbers = '']) => [...numbers.matchAll(/\d+/g)].map(Number));
}

describe('docs/decisions.md', () => {
  it('uses each number once', () => {
    expect(entries.length).toBeGreaterThanOrEqual(136);
    expect(new Set(entries.map(({ number }) => number)).size).toBe(entries.length);
  });

  it.each(entries)('gives the reason of D$number', ({ text }) => {
    expect(text).toContain('*Why*');
  });

  it('keeps every entry to five lines of 160 characters', () => {
    const linesOf = (text: string) =>
      text
        .split(/^## /m, 1)[0]
        ?.trim()
        .split('\n')
        .reduce((sum, line) => sum + Math.ceil(line.length / 160), 0);
    expect(entries.filter(({ text }) => (linesOf(text) ?? 0) > 5).map(({ number }) => `D${number}`)).toEqual([]);
  });

  it('lists every subject at its beginning', () => {
    const subjects = [...page.matchAll(/^## (.+)$/gm)].map(([, subject]) => subject);
    const contents = [...page.slice(0, page.indexOf('\n## ')).matchAll(/^- \[(.+)\]\(#.+\)$/gm)].map(([, subject]) => subject);
    expect(contents).toEqual(subjects);
  });

  it('has every decision that the code and the pages point at', () => {
    const files = globSync(['{src,test,simulation,scripts}/**/*.ts', 'migrations/*.sql', '*.md', 'docs/*.md'], { cwd: root });
    const pointers = files.flatMap((file) => pointedAt(readFileSync(join(root, file), 'utf8')).map((number) => ({ file, number })));
    expect(pointers.length).toBeGreaterThan(50);
    expect(pointers.filter(({ number }) => !entries.some((entry) => entry.number === number))).toEqual([]);
  });
});

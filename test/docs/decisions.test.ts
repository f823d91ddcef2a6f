// docs/decisions.md uses each number once, gives a reason each time, and has every decision that the code points at.
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

  it('has every decision that the code and the pages point at', () => {
    const files = globSync(['{src,test,simulation,scripts}/**/*.ts', 'migrations/*.sql', 'docs/*.md'], { cwd: root });
    const pointers = files.flatMap((file) => pointedAt(readFileSync(join(root, file), 'utf8')).map((number) => ({ file, number })));
    expect(pointers.length).toBeGreaterThan(50);
    expect(pointers.filter(({ number }) => !entries.some((entry) => entry.number === number))).toEqual([]);
  });
});

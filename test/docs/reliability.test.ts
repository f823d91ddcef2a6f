// docs/reliability.md names tests that exist, by file and title, and every failure on it has one.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/reliability.md', root), 'utf8');
const table = /<!-- failures:[^>]*-->\n([\s\S]*?)\n<!-- end of failures -->/.exec(page)?.[1] ?? '';
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what fails |'))
  .map((row) => {
    const [failure = '', , shown = ''] = row.slice(2, -2).split(' | ');
    const [, file = '', title = ''] = /^`(test\/[^`]+)` "(.+)"$/.exec(shown) ?? [];
    return { failure, file, title };
  });

describe('docs/reliability.md', () => {
  it('has a table to check', () => {
    expect(rows.length).toBeGreaterThan(70);
  });

  it.each(rows)('shows by a test that exists: $failure', ({ file, title }) => {
    expect(existsSync(new URL(file, root)), file).toBe(true);
    expect(readFileSync(new URL(file, root), 'utf8'), `${file} has no test "${title}"`).toContain(title);
  });
});

// SECURITY.md names tests that exist, by file and title, for everything that it says holds, and speaks about each attacker.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('SECURITY.md', root), 'utf8');
const tables = [...page.matchAll(/<!-- claims:[^>]*-->\n([\s\S]*?)\n<!-- end of claims -->/g)].map(([, table = '']) => table);
const claims = tables.flatMap((table) =>
  table
    .split('\n')
    .slice(2)
    .map((row) => {
      const [claim = '', shown = ''] = row.slice(2, -2).split(' | ');
      const [, file = '', title = ''] = /^`(test\/[^`]+)` "(.+)"$/.exec(shown) ?? [];
      return { claim, file, title };
    }),
);

describe('SECURITY.md', () => {
  it.each(['A stranger on the network', 'A merchant', 'A device', 'A thief of a database dump', 'A broker', 'An ERP'])(
    'says of "%s" what holds and what does not',
    (attacker) => {
      const section = page.split(/^### /m).find((text) => text.startsWith(`${attacker}\n`)) ?? '';
      expect(section).toContain('| what holds | shown by |');
      expect(section).toContain('What does not hold:');
    },
  );

  it('is linked from the README', () => {
    expect(readFileSync(new URL('README.md', root), 'utf8')).toContain('](SECURITY.md)');
  });

  it('has claims to check', () => {
    expect(tables).toHaveLength(6);
    expect(claims.length).toBeGreaterThan(35);
  });

  it.each(claims)('shows by a test that exists: $claim', ({ file, title }) => {
    expect(existsSync(new URL(file, root)), file).toBe(true);
    expect(readFileSync(new URL(file, root), 'utf8'), `${file} has no test "${title}"`).toContain(title);
  });
});

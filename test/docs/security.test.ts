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
  it.each(['A client without credentials', 'A merchant', 'A device', 'A thief of a database dump', 'A broker', 'An ERP'])(
    'says of "%s" what is protected and what is not',
    (attacker) => {
      const section = page.split(/^### /m).find((text) => text.startsWith(`${attacker}\n`)) ?? '';
      expect(section).toContain('| protection | shown by |');
      expect(section).toContain('Not protected:');
    },
  );

  it('is linked from the README', () => {
    expect(readFileSync(new URL('README.md', root), 'utf8')).toContain('](SECURITY.md)');
  });

  it('has claims to check', () => {
    expect(tables).toHaveLength(6);
    expect(claims.length).toBeGreaterThan(35);
  });

  it('judges every chapter of OWASP ASVS 5 that applies, and names the others', () => {
    const section = page.split(/^## /m).find((text) => text.startsWith('Measured by OWASP ASVS 5.0')) ?? '';
    const [, table = ''] = /<!-- asvs:[^>]*-->\n([\s\S]*?)\n<!-- end of asvs -->/.exec(section) ?? [];
    const rows = table.split('\n').slice(2);
    for (const row of rows) expect(row).toMatch(/^\| V\d+ [^|]+ \| (?:done|done except|partly) \| [^|]{40,} \|$/);
    const applying = rows.map((row) => /^\| (V\d+)/.exec(row)?.[1]);
    const others = [...(/Not applicable: ([^\n]*)/.exec(section)?.[1] ?? '').matchAll(/V\d+/g)].map(([chapter]) => chapter);
    const chapters = Array.from({ length: 17 }, (_, at) => `V${at + 1}`);
    expect([applying.length + others.length, new Set([...applying, ...others])]).toEqual([17, new Set(chapters)]);
  });

  it.each(claims)('shows by a test that exists: $claim', ({ file, title }) => {
    expect(existsSync(new URL(file, root)), file).toBe(true);
    expect(readFileSync(new URL(file, root), 'utf8'), `${file} has no test "${title}"`).toContain(title);
  });
});

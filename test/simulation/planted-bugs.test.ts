// The table of planted bugs keeps up with the code: each text is found exactly once, and there are enough of every kind.
// That they are caught is shown by `npm run planted-bugs`, which takes long.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeOfEdit, plant } from '../../simulation/planted/planted-bug.ts';
import { plantedBugs } from '../../simulation/planted/planted-bugs.ts';
import { noteOf, rowOf, withRows } from '../../simulation/planted/verdicts.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('planted bugs', () => {
  it.each(plantedBugs)('finds where it goes: $name', ({ edits }) => {
    for (const edit of edits) expect(placeOfEdit(root, edit)).toMatch(/\.(ts|sql)$/);
  });

  it('are at least forty, of every kind, and no two alike', () => {
    const kinds = new Set(plantedBugs.map(({ kind }) => kind));
    expect(plantedBugs.length).toBeGreaterThanOrEqual(40);
    expect(kinds.size).toBe(13);
    expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
  });
});

describe('planting', () => {
  let copy: string;
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'tillgate-planting-'));
    mkdirSync(join(copy, 'src'));
    writeFileSync(join(copy, 'src/one.ts'), 'a();\nb();\n');
    writeFileSync(join(copy, 'src/two.ts'), 'b();\n');
  });
  afterEach(() => rmSync(copy, { recursive: true }));

  const bug = (find: string) => ({ name: 'x', kind: 'guards', harm: 'lie', edits: [{ room: 'src', find, instead: '$& c();' }] }) as const;

  it('changes the one place, to the letter', () => {
    plant(copy, bug('a();'));
    expect(readFileSync(join(copy, 'src/one.ts'), 'utf8')).toBe('$& c();\nb();\n');
  });

  it('fails loudly when the text is gone or is there twice', () => {
    expect(() => plant(copy, bug('gone();'))).toThrow('does not find it');
    expect(() => plant(copy, bug('b();'))).toThrow('finds it 2 times');
  });
});

describe('the table of verdicts', () => {
  const bug = (name: string) => ({ name, kind: 'guards', harm: 'lie' }) as const;
  const page = (...rows: string[]) =>
    [
      'before',
      '<!-- planted bugs: written by npm run planted-bugs -- --write -->',
      '| a gateway that ... | kind | harm | day | caught by |',
      '|---|---|---|---|---|',
      ...rows,
      '<!-- end of planted bugs -->',
      'after',
    ].join('\n');

  it('says in which day and by which sentence, without ids; or by which test; or by nothing', () => {
    const sentence = 'Pay 0b0b0b0b-0000-4000-8000-000000000001 | twice';
    expect(rowOf({ bug: bug('a'), day: 3, sentence })).toBe('| a | guards | lie | 3 | Pay … / twice |');
    expect(rowOf({ bug: bug('a'), tests: 'test/x.test.ts' })).toBe('| a | guards | lie | - | test/x.test.ts |');
    expect(rowOf({ bug: bug('a') })).toBe('| a | guards | lie | - | **nothing** |');
  });

  it('keeps the rows of other bugs, drops those that are gone, and keeps the order', () => {
    const before = page('| c | guards | lie | 9 | then |', '| gone | guards | lie | 1 | x |', '| a | guards | lie | 9 | then |');
    const after = withRows(before, [bug('a'), bug('b'), bug('c')], [{ bug: bug('c'), day: 2, sentence: 'now' }]);
    expect(after).toBe(page('| a | guards | lie | 9 | then |', '| c | guards | lie | 2 | now |'));
  });

  const run = { day: '16 November 2026', commit: 'abc1234', days: { money: '100', others: '20', minutes: '20' } };

  it('says of what code its rows are, and whether all are from one run', () => {
    expect(noteOf(run, 70, 70)).toMatch(
      /^All 70 rows are from one run on 16 November 2026, of the code at abc1234 \(shop-days of 20 minutes, /,
    );
    expect(noteOf(run, 70, 3)).toMatch(
      /^These rows are from several runs; the newest of them, of 3, on 16 November 2026, of the code at abc1234 /,
    );
  });

  it('keeps what it says until a run says something else', () => {
    const bugs = [bug('a')];
    const noted = withRows(page('| a | guards | lie | 9 | then |'), bugs, [], 'One run.');
    expect(noted).toBe(page('| a | guards | lie | 9 | then |', '', 'One run.'));
    expect(withRows(noted, bugs, [])).toBe(noted);
    expect(withRows(noted, bugs, [], 'Another.')).toBe(page('| a | guards | lie | 9 | then |', '', 'Another.'));
  });

  it('has a place in the page, with no row of a bug that is gone', () => {
    const listed = readFileSync(join(root, 'docs/planted-bugs.md'), 'utf8');
    expect(withRows(listed, plantedBugs, [])).toBe(listed);
  });
});

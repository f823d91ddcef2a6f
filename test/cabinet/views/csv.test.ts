// A spreadsheet must take every cell for what it is, whoever wrote it; and an export must not hold more than a page.
import { buffer, text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { csvLine, csvStart } from '../../../src/cabinet/views/csv.ts';
import { exportCsv } from '../../../src/cabinet/views/export.ts';

describe('a line of CSV', () => {
  it('makes text of what a spreadsheet would calculate', () => {
    expect(csvLine(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])).toBe(`"'=1+1","'+1","'-1","'@SUM(A1)","'\t=1","'\r=1"\r\n`);
  });
  it('leaves numbers numbers, and quotes what would break the line', () => {
    expect(csvLine([-412.5, '150.50', null, undefined, 'a,b', 'say "no"', 'two\nlines', 'Pâine'])).toBe(
      '-412.5,150.50,,,"a,b","say ""no""","two\nlines",Pâine\r\n',
    );
  });
});

describe('an export', () => {
  const page = (rows: number[], next?: number) => ({ rows, next: next === undefined ? undefined : { atMs: next, id: String(next) } });

  it('reads page after page, also past an empty one, and ends', async () => {
    const pages = [page([1, 2], 1), page([], 2), page([3])];
    const asked: unknown[] = [];
    const stream = exportCsv(
      ['n'],
      async (after) => {
        asked.push(after?.atMs);
        return pages[asked.length - 1] ?? page([]);
      },
      (n) => [n],
    );
    expect((await buffer(stream)).toString()).toBe(`${csvStart}n\r\n1\r\n2\r\n3\r\n`);
    expect(asked).toEqual([undefined, 1, 2]);
  });

  it('runs beside three others and no more, and makes room when a reader leaves', async () => {
    const start = () =>
      exportCsv(
        ['n'],
        async () => page([1]),
        (n) => [n],
      );
    const running = [start(), start(), start(), start()];
    expect(start).toThrow(/Other exports are running/);
    running[0]?.destroy();
    await new Promise((resolve) => running[0]?.once('close', resolve));
    const fifth = start();
    expect(await readText(fifth)).toContain('1');
    await Promise.all(running.slice(1).map(readText));
  });
});

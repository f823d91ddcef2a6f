// A spreadsheet must take every cell for what it is, whoever wrote it; and an export must not hold more than a page.
import { buffer, text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { csvLine, csvStart } from '../../../src/cabinet/views/lists/csv.ts';
import { createCsvExports } from '../../../src/cabinet/views/lists/export.ts';

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
    const stream = createCsvExports({ maxAtOnce: 1, maxRows: 100 }).start(
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
    const csvExports = createCsvExports({ maxAtOnce: 4, maxRows: 100 });
    const start = () =>
      csvExports.start(
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

  it('ends at its bound and says so, and says nothing where it just fits', async () => {
    const write = async (maxRows: number, pages: ReturnType<typeof page>[]) => {
      let asked = 0;
      const read = async () => pages[(asked += 1) - 1] ?? page([]);
      const text = await readText(createCsvExports({ maxAtOnce: 1, maxRows }).start(['n'], read, (n) => [n]));
      return { lines: text.trim().split('\r\n').slice(1), asked };
    };
    const pages = [page([1, 2], 2), page([3, 4], 4), page([5])];
    const cut = 'Only the first 3 rows; choose a shorter period for the others.';
    expect(await write(3, pages)).toEqual({ lines: ['1', '2', '3', cut], asked: 2 });
    expect((await write(4, pages)).lines.at(-1)).toMatch(/Only the first 4 rows/);
    expect((await write(5, pages)).lines).toEqual(['1', '2', '3', '4', '5']);
  });
});

// CSV cells are safe against formula injection, and an export holds no more than one page in memory.
import type { Readable } from 'node:stream';
import { buffer, text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { csvLine, csvStart } from '../../../src/cabinet/views/lists/csv.ts';
import { createCsvExports, type ExportBounds } from '../../../src/cabinet/views/lists/export.ts';
import type { Viewer } from '../../../src/http/viewer.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

describe('a line of CSV', () => {
  it('escapes formulas', () => {
    expect(csvLine(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])).toBe(`"'=1+1","'+1","'-1","'@SUM(A1)","'\t=1","'\r=1"\r\n`);
  });
  it('quotes it after a semicolon or a new line too, where other settings of a spreadsheet begin a cell', () => {
    expect(csvLine(['a;=1+1', 'a;"=1+1"', 'a\n@b', ' =1', '\uff1d1'])).toBe(`"a;'=1+1","a;'""=1+1""","a\n'@b","' =1","'\uff1d1"\r\n`);
    // These are unchanged, because no spreadsheet starts a cell there.
    expect(csvLine(['2 - 1', 'a, -b', 'a;b'])).toBe('2 - 1,"a, -b","a;b"\r\n');
  });
  it('leaves numbers unchanged, and quotes cells that would break the line', () => {
    expect(csvLine([-412.5, '150.50', null, undefined, 'a,b', 'say "no"', 'two\nlines', 'Pâine'])).toBe(
      '-412.5,150.50,,,"a,b","say ""no""","two\nlines",Pâine\r\n',
    );
  });
});

describe('an export', () => {
  const page = (rows: number[], next?: number) => ({ rows, next: next === undefined ? undefined : { atMs: next, id: String(next) } });
  type Pages = (after?: { atMs: number }) => Promise<ReturnType<typeof page>>;
  const viewer = (userId: string, merchantId?: string): Viewer => ({
    ...{ name: userId, actor: userId, role: 'viewer', confirmedUntilMs: 0 },
    ...{ userId, merchantId, sessionId: `session of ${userId}` },
  });
  /** Exports with their own clock and sessions. */
  function open(bounds: Partial<ExportBounds> = {}) {
    const clock = createVirtualClock();
    const watched = new Map<string, () => void>();
    const people = {
      onSessionEnded(sessionId: string, ended: () => void) {
        watched.set(sessionId, ended);
        return () => void watched.delete(sessionId);
      },
    };
    const csvExports = createCsvExports({ bounds: { maxAtOnce: 1, maxRows: 100, ...bounds }, clock, people });
    const start = (who: Viewer, readPage: Pages = async () => page([1])) =>
      csvExports.start(who, { columns: { n: (n: number) => n }, readPage });
    return { start, clock, watched };
  }
  const closed = (stream: Readable | undefined) => new Promise((resolve) => stream?.once('close', resolve));
  /** Pages without an end. */
  const endless: Pages = async (after) => page(Array(20_000).fill(1), (after?.atMs ?? 0) + 1);

  it('reads page after page, even past an empty one, and ends', async () => {
    const pages = [page([1, 2], 1), page([], 2), page([3])];
    const asked: unknown[] = [];
    const { start, watched } = open();
    const stream = start(viewer('ana'), async (after) => {
      asked.push(after?.atMs);
      return pages[asked.length - 1] ?? page([]);
    });
    expect((await buffer(stream)).toString()).toBe(`${csvStart}n\r\n1\r\n2\r\n3\r\n`);
    expect(asked).toEqual([undefined, 1, 2]);
    expect([...watched]).toEqual([]);
  });

  it('is refused beside four others, and accepted when one of them is closed', async () => {
    const { start } = open({ maxAtOnce: 4 });
    const running = ['ana', 'bob', 'eve', 'dan'].map((name) => start(viewer(name)));
    expect(() => start(viewer('olga'))).toThrow(/Other exports are running/);
    running[0]?.destroy();
    await closed(running[0]);
    expect(await readText(start(viewer('olga')))).toContain('1');
    await Promise.all(running.slice(1).map(readText));
  });

  it.each([
    [1, 1, 1],
    [4, 1, 2],
    [8, 2, 4],
  ])('with a limit of %i is limited to %i per user and %i per merchant', (maxAtOnce, ofUser, ofMerchant) => {
    const { start } = open({ maxAtOnce });
    const startMany = (count: number, who: (n: number) => Viewer) => {
      for (let n = 0; n < count; n += 1) start(who(n));
    };
    startMany(ofUser, () => viewer('ana', 'shop'));
    expect(() => start(viewer('ana', 'shop'))).toThrow(/Your previous export/);
    startMany(ofMerchant - ofUser, (n) => viewer(`colleague ${n}`, 'shop'));
    expect(() => start(viewer('another', 'shop'))).toThrow(/exports of your merchant/);
    startMany(maxAtOnce - ofMerchant, (n) => viewer(`operator ${n}`));
    expect(() => start(viewer('bob', 'bakery'))).toThrow(/Other exports are running/);
  });

  it('ends with the session of its user, and releases its slot', async () => {
    const { start, watched } = open({ maxRows: 1e9 });
    const stream = start(viewer('ana'), endless);
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    watched.get('session of ana')?.();
    await expect(chunks.next()).rejects.toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401 });
    expect(await readText(start(viewer('bob')))).toContain('1');
  });

  it('ends when no further page is read for three minutes, however long it runs otherwise', async () => {
    const { start, clock } = open({ maxRows: 1e9 });
    const stream = start(viewer('ana'), endless);
    const ended = closed(stream);
    const chunks = stream[Symbol.asyncIterator]();
    for (let n = 0; n < 5; n += 1) {
      expect((await chunks.next()).done).toBe(false);
      // The next page has been read ahead by now.
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(120_000);
      expect(stream.destroyed).toBe(false);
    }
    await clock.advance(60_000);
    await ended;
    expect(await readText(start(viewer('bob')))).toContain('1');
  });

  it('ends at its row limit with a notice, and without one if all rows fit', async () => {
    const write = async (maxRows: number, pages: ReturnType<typeof page>[]) => {
      let asked = 0;
      const read = async () => pages[(asked += 1) - 1] ?? page([]);
      const text = await readText(open({ maxRows }).start(viewer('ana'), read));
      return { lines: text.trim().split('\r\n').slice(1), asked };
    };
    const pages = [page([1, 2], 2), page([3, 4], 4), page([5])];
    const cut = '"Only the first 3 rows; choose a shorter period for the others."';
    expect(await write(3, pages)).toEqual({ lines: ['1', '2', '3', cut], asked: 2 });
    expect((await write(4, pages)).lines.at(-1)).toMatch(/Only the first 4 rows/);
    expect((await write(5, pages)).lines).toEqual(['1', '2', '3', '4', '5']);
  });
});

// A list as one long CSV: page by page as the reader takes it, so that a million rows need no more memory than one page.
// Always holds: only a few exports run at once, each asks the database one short question at a time; one that reaches its bound says so in
// its last line, because a file that looks whole and is not would be believed.
import { Readable } from 'node:stream';
import { GatewayError } from '../../../kernel/error-codes.ts';
import { type Cell, csvLine, csvStart } from './csv.ts';
import type { Place } from './cursor.ts';

export interface ExportBounds {
  maxAtOnce: number;
  maxRows: number;
}

export interface ExportPage<Row> {
  rows: Row[];
  next: Place | undefined;
}

export interface CsvExports {
  /** Throws Too_Many_Requests when too many run. */
  start<Row>(
    head: readonly string[],
    readPage: (after: Place | undefined) => Promise<ExportPage<Row>>,
    cellsOf: (row: Row) => Cell[],
  ): Readable;
}

export function createCsvExports({ maxAtOnce, maxRows }: ExportBounds): CsvExports {
  let running = 0;
  return {
    start(head, readPage, cellsOf) {
      if (running >= maxAtOnce) {
        throw new GatewayError('Too_Many_Requests', 'Other exports are running; try again shortly.', { retryAfterS: 10 });
      }
      running += 1;
      const stream = Readable.from(pages(head, readPage, cellsOf, maxRows), { objectMode: false });
      // Also when the reader goes away before the first page.
      stream.once('close', () => {
        running -= 1;
      });
      return stream;
    },
  };
}

async function* pages<Row>(
  head: readonly string[],
  readPage: (after: Place | undefined) => Promise<ExportPage<Row>>,
  cellsOf: (row: Row) => Cell[],
  maxRows: number,
): AsyncGenerator<Buffer> {
  let text = csvStart + csvLine(head);
  let after: Place | undefined;
  let count = 0;
  do {
    const page = await readPage(after);
    const rows = page.rows.slice(0, maxRows - count);
    count += rows.length;
    for (const row of rows) text += csvLine(cellsOf(row));
    const isCut = rows.length < page.rows.length || (count >= maxRows && page.next !== undefined);
    if (isCut) text += csvLine([`Only the first ${maxRows} rows; choose a shorter period for the others.`]);
    // A page may be empty and still have a next one.
    if (text !== '') yield Buffer.from(text);
    text = '';
    after = isCut ? undefined : page.next;
  } while (after !== undefined);
}

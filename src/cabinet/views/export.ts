// A list as one long CSV: page by page as the reader takes it, so that a million rows need no more memory than one page.
// Always holds: only a few exports run at once, each asks the database one short question at a time.
import { Readable } from 'node:stream';
import { GatewayError } from '../../kernel/error-codes.ts';
import { type Cell, csvLine, csvStart } from './csv.ts';
import type { Place } from './cursor.ts';

const maxExports = 4;
let running = 0;

export interface ExportPage<Row> {
  rows: Row[];
  next: Place | undefined;
}

export function exportCsv<Row>(
  head: readonly string[],
  readPage: (after: Place | undefined) => Promise<ExportPage<Row>>,
  cellsOf: (row: Row) => Cell[],
): Readable {
  if (running >= maxExports) {
    throw new GatewayError('Too_Many_Requests', 'Other exports are running; try again shortly.', { retryAfterS: 10 });
  }
  running += 1;
  const stream = Readable.from(pages(head, readPage, cellsOf), { objectMode: false });
  // Also when the reader goes away before the first page.
  stream.once('close', () => {
    running -= 1;
  });
  return stream;
}

async function* pages<Row>(
  head: readonly string[],
  readPage: (after: Place | undefined) => Promise<ExportPage<Row>>,
  cellsOf: (row: Row) => Cell[],
): AsyncGenerator<Buffer> {
  let text = csvStart + csvLine(head);
  let after: Place | undefined;
  do {
    const page = await readPage(after);
    for (const row of page.rows) text += csvLine(cellsOf(row));
    // A page may be empty and still have a next one.
    if (text !== '') yield Buffer.from(text);
    text = '';
    after = page.next;
  } while (after !== undefined);
}

// A list as one CSV file, read page by page as the client reads, so that a million rows need the memory of one page.
// Invariants: only a few exports run at once, at most a quarter of them for one user and half for one merchant, but at least one. Each runs one
// short query at a time, and ends with its session, or when the client reads no further page for three minutes. An export that reaches its
// row limit says so in its last line, because a truncated file would look complete.
import { Readable } from 'node:stream';
import { sessionOver } from '../../../access/people/sign-in.ts';
import type { Viewer } from '../../../http/viewer.ts';
import type { Cancel, Clock } from '../../../kernel/clock.ts';
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

export interface CsvList<Row> {
  /** By the names in the first line. */
  columns: Readonly<Record<string, (row: Row) => Cell>>;
  readPage: (after: Place | undefined) => Promise<ExportPage<Row>>;
}

export type CsvExports = ReturnType<typeof createCsvExports>;

interface Deps {
  bounds: ExportBounds;
  clock: Clock;
  /** Calls `ended` when the session ends, on this gateway or another one. */
  people: { onSessionEnded: (sessionId: string, ended: () => void) => Cancel };
}

/** Buffers refill only after much was read: with a slow connection the next page may be requested half a minute later. */
const maxPauseMs = 180_000;
const tooMany = (message: string) => new GatewayError('Too_Many_Requests', message, { retryAfterS: 10 });

export function createCsvExports({ bounds, clock, people }: Deps) {
  const { maxAtOnce, maxRows } = bounds;
  const maxPerUser = Math.max(1, Math.floor(maxAtOnce / 4));
  const maxPerMerchant = Math.max(1, Math.floor(maxAtOnce / 2));
  const running = new Set<{ user: string; merchantId: string | undefined }>();

  function takePlace({ userId, actor, merchantId }: Viewer): Cancel {
    const place = { user: userId ?? actor, merchantId };
    const others = [...running];
    if (others.filter(({ user }) => user === place.user).length >= maxPerUser) {
      throw tooMany('Your previous export is still running; try again when it has ended.');
    }
    // A viewer of all merchants has no merchantId.
    if (merchantId !== undefined && others.filter((other) => other.merchantId === merchantId).length >= maxPerMerchant) {
      throw tooMany('Other exports of your merchant are running; try again shortly.');
    }
    if (others.length >= maxAtOnce) throw tooMany('Other exports are running; try again shortly.');
    running.add(place);
    return () => running.delete(place);
  }

  return {
    /** Throws Too_Many_Requests if this viewer, or all together, run too many. */
    start<Row>(viewer: Viewer, list: CsvList<Row>): Readable {
      const freePlace = takePlace(viewer);
      const waitForReader = () =>
        clock.after(maxPauseMs, () => void stream.destroy(tooMany('The export was not read any further; begin again.')));
      const stream = Readable.from(pages(list, maxRows, waitForReader), { objectMode: false });
      const { sessionId } = viewer;
      const stopWatching = sessionId === undefined ? () => {} : people.onSessionEnded(sessionId, () => void stream.destroy(sessionOver()));
      // The session may end before the stream has another listener.
      stream.on('error', () => {});
      // Also if the client disconnects before the first page.
      stream.once('close', () => {
        freePlace();
        stopWatching();
      });
      return stream;
    },
  };
}

/** `waitForReader`: called with each page; the returned function is called when the client reads on. */
async function* pages<Row>({ columns, readPage }: CsvList<Row>, maxRows: number, waitForReader: () => Cancel): AsyncGenerator<Buffer> {
  const cells = Object.values(columns);
  let text = csvStart + csvLine(Object.keys(columns));
  let after: Place | undefined;
  let count = 0;
  do {
    const page = await readPage(after);
    const rows = page.rows.slice(0, maxRows - count);
    count += rows.length;
    for (const row of rows) text += csvLine(cells.map((cellOf) => cellOf(row)));
    const isCut = rows.length < page.rows.length || (count >= maxRows && page.next !== undefined);
    if (isCut) text += csvLine([`Only the first ${maxRows} rows; choose a shorter period for the others.`]);
    // A page may be empty and still have a next one.
    if (text !== '') {
      const stopWaiting = waitForReader();
      try {
        yield Buffer.from(text);
      } finally {
        stopWaiting();
      }
    }
    text = '';
    after = isCut ? undefined : page.next;
  } while (after !== undefined);
}

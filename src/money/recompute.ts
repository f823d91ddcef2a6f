// Looks at the stored rows of the last days again, for `tillgate doctor`: everything that follows from the states of operations is computed by
// the function that every decision ends with (rules/differences.ts). Only reads, one small batch after the other, each from one state of the
// database, so a gateway may run beside it. A difference counts if a second look, a moment later, finds it again.
import { type RawBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Id } from './case.ts';
import { CaseTooLarge, loadAround } from './load.ts';
import { type Difference, differencesIn } from './rules/differences.ts';
import type { Subjects } from './wanted.ts';

export interface Recomputed {
  operations: number;
  devices: number;
  invoices: number;
  differences: readonly Difference[];
  /** False: it ended early, because there are so many differences. */
  isComplete: boolean;
}

interface Deps {
  database: Pick<Database, 'engine' | 'queries' | 'snapshot'>;
  clock: Clock;
  /** After each batch. */
  onProgress?(seen: Omit<Recomputed, 'differences'>): void;
}

export const recomputedDays = 31;
const perBatch = 50;
const maxDifferences = 100;
/** Commits that were under way have ended then. */
const lookAgainAfterMs = 300;

export async function recompute({ database, clock, onProgress }: Deps): Promise<Recomputed> {
  const { queries } = database;
  const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
  const span: Span = { queries, from: now - recomputedDays * 24 * 60 * 60_000, to: now };
  const found = new Map<string, Difference>();
  const seen = { operations: 0, devices: 0, invoices: 0, isComplete: true };
  const parts = [
    ['operations', 'ops', operations(span, 'POS')],
    ['operations', 'ops', operations(span, 'Fiscal')],
    ['operations', 'ops', operations(span, 'Abort')],
    ['devices', 'devices', devices(span)],
    ['invoices', 'invoices', invoices(span, 'created_at', sql`1 = 1`)],
    ['invoices', 'invoices', invoices(span, 'ended_at', sql`removed_at is null and created_at < cast(${span.from} as bigint)`)],
    ['invoices', 'invoices', orphans(span)],
  ] as const;
  for (const [counted, what, pages] of parts)
    for await (const ids of pages) {
      for (const one of await lookTwice(database, clock, what, ids)) found.set(`${one.kind} ${one.id}`, one);
      seen[counted] += ids.length;
      seen.isComplete = found.size < maxDifferences;
      onProgress?.(seen);
      if (!seen.isComplete) return { ...seen, differences: [...found.values()] };
    }
  return { ...seen, differences: [...found.values()] };
}

async function lookTwice(
  database: Deps['database'],
  clock: Clock,
  what: keyof Subjects,
  ids: readonly Id[],
): Promise<readonly Difference[]> {
  const first = await look(database, what, ids);
  if (first.length === 0) return [];
  await sleep(clock, lookAgainAfterMs);
  const texts = new Set(first.map((one) => JSON.stringify(one)));
  return (await look(database, what, ids)).filter((one) => texts.has(JSON.stringify(one)));
}

async function look(database: Deps['database'], what: keyof Subjects, ids: readonly Id[]): Promise<Difference[]> {
  try {
    return differencesIn(await loadAround(database, { [what]: ids }));
  } catch (error) {
    if (!(error instanceof CaseTooLarge)) throw error;
    const [id, ...more] = ids;
    if (id === undefined) return [];
    // No call about it is carried out, either.
    if (more.length === 0) return [{ kind: 'state', id, stored: 'more rows than a call may load', derived: 'fewer' }];
    const found: Difference[] = [];
    for (const one of ids) found.push(...(await look(database, what, [one])));
    return found;
  }
}

interface Span {
  queries: Queries;
  from: number;
  to: number;
}

type Pages = AsyncGenerator<readonly Id[]>;
interface Place {
  at: number;
  id: Id;
}

/** `next`: the rows after a place, in the order of their places. */
async function* pages(first: Place, next: (after: Place) => RawBuilder<Place>, queries: Queries): Pages {
  for (let after: Place | undefined = first; after; ) {
    const { rows }: { rows: Place[] } = await next(after).execute(queries);
    if (rows.length > 0) yield [...new Set(rows.map(({ id }) => id))];
    after = rows.length < perBatch ? undefined : rows.at(-1);
  }
}

const within = ({ to }: Span, column: string, { at, id }: Place, key: string) =>
  sql`(${sql.ref(column)}, ${sql.ref(key)}) > (cast(${at} as bigint), ${id}) and ${sql.ref(column)} <= cast(${to} as bigint)
    order by ${sql.ref(column)}, ${sql.ref(key)} limit ${sql.lit(perBatch)}`;

const operations = (span: Span, mode: 'POS' | 'Fiscal' | 'Abort'): Pages =>
  pages(
    { at: span.from, id: '' },
    (after) => sql<Place>`select id, issued_at as at from commands where mode = ${mode} and ${within(span, 'issued_at', after, 'id')}`,
    span.queries,
  );

const devices = ({ queries }: Span): Pages =>
  pages(
    { at: 0, id: '' },
    ({ id }) =>
      sql<Place>`select device_id as id, 0 as at from device_locks where device_id > ${id} order by device_id limit ${sql.lit(perBatch)}`,
    queries,
  );

const invoices = (span: Span, column: 'created_at' | 'ended_at', also: RawBuilder<unknown>): Pages =>
  pages(
    { at: span.from, id: '' },
    (after) => sql<Place>`select oid as id, ${sql.ref(column)} as at from invoices where ${also} and ${within(span, column, after, 'oid')}`,
    span.queries,
  );

/** All of them: there are few, and no index knows their times. */
const orphans = ({ queries }: Span): Pages =>
  pages(
    { at: 0, id: '' },
    ({ at }) => sql<Place>`select oid as id, id as at from orphan_payments where id > ${at} order by id limit ${sql.lit(perBatch)}`,
    queries,
  );

// The list of ledger commands, newest first, by keyset: (issued_at, id) of the last row shown is where the next page begins.
// Always holds: one statement walks at most `walkAtOnce` rows of one index, so that no filter, however rare its hits, keeps the
// database from a payment; a page may therefore be short and still have a next one.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { type CommandFilter, sievedBy, walkedBy } from './command-filter.ts';
import { type Lookup, lookupsOf } from './command-lookup.ts';
import type { Place } from './cursor.ts';
import type { Scope } from './scope.ts';

export interface ListedCommand {
  id: string;
  merchantId: string;
  merchantName: string;
  deviceId: string;
  deviceName: string;
  bank: string | null;
  shop: string | null;
  name: string;
  state: 'sent' | 'unknown' | 'done' | 'refused' | 'never';
  outcome: string | null;
  amountBani: number | null;
  refundedBani: number;
  documentNr: string | null;
  operationId: string | null;
  rrn: string | null;
  receiptUid: string | null;
  receiptId: string | null;
  targetId: string | null;
  issuedAtMs: number;
  settledAtMs: number | null;
  settledBy: string | null;
  documentState: 'open' | 'closed' | 'voided' | null;
  reviewSinceMs: number | null;
  reviewReason: string | null;
}

export interface CommandPage {
  commands: ListedCommand[];
  next: Place | undefined;
}

const walkAtOnce = 5_000;
const walksPerPage = 20;
/** A bank or shop with more devices than this is walked by time: so many devices are met often enough. */
const mostDevicesApart = 100;

type Condition = RawBuilder<SqlBool>;

interface Walked {
  id: string;
  issued_at: number;
}

export async function listCommands(
  queries: Queries,
  scope: Scope,
  filter: CommandFilter,
  page: { limit: number; after?: Place | undefined },
): Promise<CommandPage> {
  const sources = await sourcesOf(queries, scope, filter);
  if (sources.length === 0) return { commands: [], next: undefined };
  const sieve = sievedBy(filter);
  const found: Place[] = [];
  let after = page.after;
  for (let walks = 0; walks < walksPerPage; walks += 1) {
    const wanted = page.limit + 1 - found.length;
    const size = sieve.length === 0 ? wanted : Math.ceil(walkAtOnce / sources.length);
    const walk = walkOf(sources, walkedBy(filter), size, after);
    found.push(...(await sieved(queries, walk, sieve, wanted)));
    if (found.length > page.limit || sieve.length === 0) {
      after = undefined;
      break;
    }
    after = await endOf(queries, walk, size);
    if (after === undefined) break;
  }
  const shown = found.slice(0, page.limit);
  const commands = await readListed(
    queries,
    scope,
    shown.map(({ id }) => id),
  );
  return { commands, next: found.length > page.limit ? shown.at(-1) : after };
}

/** Conditions of which each has an index of its own; together they find all that the filter names. None: there is nothing to find. */
async function sourcesOf(queries: Queries, scope: Scope, filter: CommandFilter): Promise<Lookup[]> {
  const deviceIds = await devicesOf(queries, scope, filter);
  if (deviceIds?.length === 0) return [];
  const within = scope.merchantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`c.merchant_id = ${scope.merchantId}`;
  const inDevices = deviceIds && sql<SqlBool>`c.device_id in (${sql.join(deviceIds)})`;
  if (filter.q !== undefined) {
    const lookups = lookupsOf(scope, filter.q);
    return inDevices ? lookups.map((lookup) => ({ ...lookup, where: sql<SqlBool>`${lookup.where} and ${inDevices}` })) : lookups;
  }
  if (inDevices === undefined || deviceIds === undefined) return [{ where: within, isOrdered: true }];
  if (deviceIds.length > mostDevicesApart) return [{ where: sql<SqlBool>`${within} and ${inDevices}`, isOrdered: true }];
  return deviceIds.map((id) => ({ where: sql<SqlBool>`${within} and c.device_id = ${id}`, isOrdered: true }));
}

/** Undefined: of any device. */
async function devicesOf(queries: Queries, scope: Scope, { deviceId, bank, shop }: CommandFilter): Promise<string[] | undefined> {
  if (bank === undefined && shop === undefined) return deviceId === undefined ? undefined : [deviceId];
  const rows = await queries
    .selectFrom('devices')
    .select('id')
    .$if(scope.merchantId !== undefined, (query) => query.where('merchant_id', '=', scope.merchantId ?? ''))
    .$if(bank !== undefined, (query) => query.where('bank', '=', bank ?? ''))
    .$if(shop !== undefined, (query) => query.where('point_of_sales_code', '=', shop ?? ''))
    .$if(deviceId !== undefined, (query) => query.where('id', '=', deviceId ?? ''))
    .execute();
  return rows.map(({ id }) => id);
}

/** The `size` newest rows after the place. Each source gives as many: the newest of all are among them. */
function walkOf(sources: Lookup[], conditions: Condition[], size: number, after?: Place): RawBuilder<Walked> {
  const shared = [
    ...conditions,
    // Written out rather than as a comparison of rows: an index that ends with the time serves it on both engines.
    ...(after === undefined
      ? []
      : [
          sql<SqlBool>`c.issued_at <= cast(${after.atMs} as bigint)`,
          sql<SqlBool>`(c.issued_at < cast(${after.atMs} as bigint) or c.id < ${after.id})`,
        ]),
  ];
  const walks = sources.map(({ where, isOrdered }) => {
    const time = isOrdered ? sql`c.issued_at` : sql`c.issued_at + 0`;
    return sql<Walked>`select c.id, c.issued_at from commands c where ${sql.join([where, ...shared], sql` and `)}
      order by ${time} desc, c.id desc limit ${sql.lit(size)}`;
  });
  const [only] = walks;
  if (only !== undefined && walks.length === 1) return only;
  // A row that two sources find counts once.
  const union = sql.join(
    walks.map((walk) => sql`select * from (${walk}) as source`),
    sql` union `,
  );
  return sql<Walked>`select id, issued_at from (${union}) as found order by issued_at desc, id desc limit ${sql.lit(size)}`;
}

async function sieved(queries: Queries, walk: RawBuilder<Walked>, sieve: Condition[], limit: number): Promise<Place[]> {
  const statement =
    sieve.length === 0
      ? walk
      : sql<Walked>`select w.id, w.issued_at from (${walk}) as w join commands c on c.id = w.id
          where ${sql.join(sieve, sql` and `)} order by w.issued_at desc, w.id desc limit ${sql.lit(limit)}`;
  const { rows } = await statement.execute(queries);
  return rows.map((row) => ({ atMs: row.issued_at, id: row.id }));
}

/** The last row that was walked, if the walk was cut there. */
async function endOf(queries: Queries, walk: RawBuilder<Walked>, size: number): Promise<Place | undefined> {
  const { rows } = await sql<Walked & { count: number }>`
    select w.id, w.issued_at, cast(count(*) over () as bigint) as count from (${walk}) as w order by w.issued_at, w.id limit 1`.execute(
    queries,
  );
  const [last] = rows;
  return last !== undefined && last.count >= size ? { atMs: last.issued_at, id: last.id } : undefined;
}

/** Rows of a list by their ids, newest first. */
export async function readListed(queries: Queries, scope: Scope, ids: readonly string[]): Promise<ListedCommand[]> {
  if (ids.length === 0) return [];
  const rows = await queries
    .selectFrom('commands as c')
    .innerJoin('devices as d', 'd.id', 'c.device_id')
    .innerJoin('merchants as m', 'm.id', 'c.merchant_id')
    .select(['c.id', 'c.merchant_id as merchantId', 'm.name as merchantName', 'c.device_id as deviceId', 'd.name as deviceName'])
    .select(['d.bank', 'd.point_of_sales_code as shop', 'c.name', 'c.state', 'c.outcome', 'c.amount_bani as amountBani'])
    .select(['c.document_nr as documentNr', 'c.operation_id as operationId', 'c.rrn', 'c.receipt_uid as receiptUid'])
    .select(['c.receipt_id as receiptId', 'c.target_id as targetId', 'c.issued_at as issuedAtMs', 'c.settled_at as settledAtMs'])
    .select(['c.settled_by as settledBy', 'c.document_state as documentState', 'c.reviewed_at as reviewedAtMs'])
    .select(['c.review_since as reviewSinceMs', 'c.review_reason as reviewReason'])
    .select(
      sql<number>`(select cast(coalesce(sum(r.amount_bani), 0) as bigint) from commands r where r.target_id = c.id and r.name = 'Refund' and r.state = 'done')`.as(
        'refundedBani',
      ),
    )
    .where('c.id', 'in', [...ids])
    .$if(scope.merchantId !== undefined, (query) => query.where('c.merchant_id', '=', scope.merchantId ?? ''))
    .orderBy('c.issued_at', 'desc')
    .orderBy('c.id', 'desc')
    .execute();
  return rows.map(({ reviewedAtMs, reviewSinceMs, reviewReason, ...row }) => {
    const isInReview = reviewSinceMs !== null && reviewedAtMs === null;
    return { ...row, reviewSinceMs: isInReview ? reviewSinceMs : null, reviewReason: isInReview ? reviewReason : null };
  });
}

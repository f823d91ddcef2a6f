// The first page, built from the hours, the devices, the callbacks and Attention.
// The result is cached for a few seconds, so that many open pages cost one read.
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { BoundedMap } from '../../../kernel/bounded-map.ts';
import { conditionOfMode } from '../lists/command-filter.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { readAttention } from './attention.ts';
import { addUp, countOpen, durationStepMs, emptyHour, type HourFigures, hourMs } from './hour-figures.ts';
import { createHourSums, type HourSums, type Reading } from './hour-sums.ts';
import type { Mismatches } from './mismatches.ts';
import {
  banksOf,
  earlierOf,
  modesOf,
  type Percentiles,
  percentileOf,
  percentilesOf,
  settledAloneOf,
  successOf,
  totalOf,
} from './overview-figures.ts';
import { type PeriodName, periodOf, startOfDay } from './period.ts';

export type Overview = Awaited<ReturnType<typeof readPage>>;

const freshForMs = 3_000;
const maxKept = 200;

export function createOverviewBook(mismatches: Mismatches) {
  const sums = createHourSums();
  const kept = new BoundedMap<string, { atMs: number; page: Promise<Overview> }>(maxKept);

  return {
    read(database: Reading, scope: Scope, period: PeriodName, zone: string, nowMs: number): Promise<Overview> {
      const name = `${scope.merchantId ?? '*'} ${period} ${zone}`;
      const known = kept.get(name);
      if (known && nowMs - known.atMs < freshForMs) return known.page;
      const page = readPage({ database, sums, mismatches, scope, name: period, zone, nowMs });
      kept.delete(name);
      kept.set(name, { atMs: nowMs, page });
      // A failure is not cached.
      page.catch(() => kept.delete(name));
      return page;
    },
  };
}

interface Asked {
  database: Reading;
  sums: HourSums;
  mismatches: Mismatches;
  scope: Scope;
  name: PeriodName;
  zone: string;
  nowMs: number;
}

async function readPage({ database, sums, mismatches, scope, name, zone, nowMs }: Asked) {
  const { pages: queries } = database;
  const { fromMs, toMs, before } = periodOf(name, nowMs, zone);
  const hours = await sums.read(database, scope, fromMs, toMs, nowMs);
  const earlier = await sums.read(database, scope, before.fromMs, before.toMs, nowMs);
  const dayEndMs = before.fromMs + (startOfDay(nowMs, zone, 1) - fromMs);
  const dayBefore = name === 'today' ? await sums.read(database, scope, before.fromMs, dayEndMs, nowMs) : earlier;
  const whole = addUp(hours);
  const devices = await readDevices(queries, scope);
  const { counts, sumsBani, sales, isCut, items } = await readAttention(queries, scope, nowMs, mismatches);
  return {
    // No operation and no invoice yet: the page shows how to start.
    isNew: await hasNothing(queries, scope),
    fromMs,
    toMs,
    total: totalOf(hours),
    before: totalOf(earlier),
    earlier: earlierOf([whole], fromMs),
    modes: modesOf(hours),
    // Today includes its coming hours, with the figures of the same day of last week.
    hours: hoursOf(fromMs, hours, dayBefore),
    banks: banksOf([whole]),
    success: successOf(whole.cards, await countOpen(queries, scope, fromMs, toMs)),
    answers: percentilesOf(whole.durations),
    ownShare: await readOwnShare(queries, scope),
    histogram: histogramOf(whole.durations),
    devices,
    callbacks: { ...(await readCallbackCounts(queries, scope)), delivered: await countDelivered(queries, scope, fromMs, toMs) },
    attention: { counts, sumsBani, sales, isCut, oldestSinceMs: items[0]?.sinceMs },
    settledAlone: settledAloneOf([whole]),
  };
}

/** Each query has its own index: for a merchant without rows it must not scan the rows of all merchants. */
async function hasNothing(queries: Queries, { merchantId }: Scope): Promise<boolean> {
  const own = (column: string) => (merchantId === undefined ? sql`` : sql`and ${sql.ref(column)} = ${merchantId}`);
  const sources = [
    sql`select c.id from commands c where ${conditionOfMode.cards} ${own('c.merchant_id')} order by c.issued_at limit 1`,
    sql`select c.id from commands c where ${conditionOfMode.fiscal} ${own('c.merchant_id')} order by c.issued_at limit 1`,
    sql`select i.oid from invoices i where true ${own('i.merchant_id')} order by i.created_at limit 1`,
  ];
  for (const source of sources) if ((await source.execute(queries)).rows.length > 0) return false;
  return true;
}

function hoursOf(fromMs: number, hours: readonly HourFigures[], before: readonly HourFigures[]) {
  const triesOf = (hour: HourFigures) => {
    const { paid, declined } = successOf(hour.cards);
    return { paid, declined };
  };
  return Array.from({ length: Math.max(hours.length, before.length) }, (_, index) => {
    const hour = hours[index] ?? emptyHour();
    const then = before[index] ?? emptyHour();
    const { card, qr, cash } = modesOf([hour]);
    return {
      atMs: fromMs + index * hourMs,
      card: card.amount,
      qr: qr.amount,
      cash: cash.amount,
      before: totalOf([then]).amount,
      tries: triesOf(hour),
      triesBefore: triesOf(then),
    };
  });
}

const maxBars = 16;

/** For a chart: bars of equal width from zero to nearly the slowest answer; the few slower ones are in the last bar. */
function histogramOf(durations: readonly { step: number; count: number }[]): { fromMs: number; count: number }[] {
  const lastMs = percentileOf(durations, 0.99);
  if (lastMs === undefined) return [];
  const lastStep = Math.floor(lastMs / durationStepMs);
  const wide = Math.ceil((lastStep + 1) / maxBars);
  const counts = Array.from({ length: Math.floor(lastStep / wide) + 1 }, () => 0);
  for (const { step, count } of durations) {
    const bar = Math.min(counts.length - 1, Math.floor(step / wide));
    counts[bar] = (counts[bar] ?? 0) + count;
  }
  return counts.map((count, bar) => ({ fromMs: bar * wide * durationStepMs, count }));
}

async function readDevices(queries: Queries, scope: Scope) {
  return await queries
    .selectFrom('devices')
    .select(['id', 'name', 'kind', 'bank', 'point_of_sales_code as shop', 'last_seen_at as lastSeenAtMs'])
    .where('disabled_at', 'is', null)
    .$if(scope.merchantId !== undefined, (query) => query.where('merchant_id', '=', scope.merchantId ?? ''))
    .orderBy('point_of_sales_code')
    .orderBy('name')
    .limit(5_000)
    .execute();
}

const sampleSize = 200;

/** The gateway's own time in the last answers: from the row to the first copy, and from the answer to the settlement. */
async function readOwnShare(queries: Queries, scope: Scope): Promise<Percentiles> {
  const own = scope.merchantId === undefined ? sql`` : sql` and c.merchant_id = ${scope.merchantId}`;
  const { rows } = await sql<{ own_ms: number }>`
    select (select min(e.at) from command_events e where e.command_id = s.id and e.step = 'sent') - s.issued_at
      + s.settled_at - (select max(e.at) from command_events e where e.command_id = s.id and e.step = 'answered') as own_ms
    from (select c.id, c.issued_at, c.settled_at from commands c
      where c.mode = 'POS' and c.is_payment = 1 and c.settled_by = 'answer'${own}
      order by c.issued_at desc, c.id desc limit ${sql.lit(sampleSize)}) as s`.execute(queries);
  const sorted = rows.flatMap(({ own_ms }) => (own_ms === null ? [] : [Math.max(0, own_ms)])).sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
  return sorted.length === 0 ? {} : { p50Ms: at(0.5), p95Ms: at(0.95) };
}

/** All of the period minus pending and dead ones, which have their own indexes: nearly all callbacks are delivered. */
async function countDelivered(queries: Queries, scope: Scope, fromMs: number, toMs: number): Promise<number> {
  const span = sql`k.created_at >= cast(${fromMs} as bigint) and k.created_at < cast(${toMs} as bigint)`;
  const within = scope.merchantId === undefined ? sql`` : sql` and k.merchant_id = ${scope.merchantId}`;
  const own = ownedBy(scope, sql`k.merchant_id`);
  const { rows } = await sql<{ count: number }>`
    select (select cast(count(*) as bigint) from callbacks k where ${span}${within})
      - (select cast(count(*) as bigint) from callbacks k where k.state = 'pending' and ${span} and ${own})
      - (select cast(count(*) as bigint) from callbacks k where k.state = 'dead' and ${span} and ${own}) as count`.execute(queries);
  return rows[0]?.count ?? 0;
}

async function readCallbackCounts(queries: Queries, scope: Scope) {
  const own = sql` and ${ownedBy(scope, sql`k.merchant_id`)}`;
  const { rows: steps } = await sql<{ attempts: number; count: number; next: number | null }>`
    select k.attempts, cast(count(*) as bigint) as count, min(k.next_attempt_at + 0) as next from callbacks k where k.state = 'pending'${own} group by k.attempts order by k.attempts`.execute(
    queries,
  );
  const { rows: dead } = await sql<{
    count: number;
  }>`select cast(count(*) as bigint) as count from callbacks k where k.state = 'dead'${own}`.execute(queries);
  const nexts = steps.flatMap(({ next }) => (next === null ? [] : [next]));
  return {
    dead: dead[0]?.count ?? 0,
    waiting: steps.reduce((sum, { count }) => sum + count, 0),
    steps: steps.map(({ attempts, count }) => ({ attempts, count })),
    nextAttemptAtMs: nexts.length === 0 ? undefined : Math.min(...nexts),
  };
}

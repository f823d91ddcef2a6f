// The list of ledger commands, newest first: the indexes to use for a filter, and the rows of the list.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import type { OperationName } from '../../../kernel/operations.ts';
import { isInReview } from '../../../ledger/command.ts';
import { contactLost, kindConditions } from '../../../ledger/standing-sql.ts';
import type { EndingOutcome } from '../../../link/protocol.ts';
import { moneySql } from '../money-sql.ts';
import { ownNumbers } from '../own-numbers.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { shownStateOf } from '../shown-state.ts';
import { type CommandFilter, conditionOfMode, fewOf, sieveOf, spanOf } from './command-filter.ts';
import { lookupsOf } from './command-lookup.ts';
import { type PageWanted, type Walk, type Walkable, walk } from './walk.ts';

export type ListedCommand = Awaited<ReturnType<typeof readListed>>[number];

/** A bank or shop with more devices than this is scanned by time: its rows are frequent enough. */
const maxDevicesApart = 100;

const commandRows: Walkable = { table: sql`commands c`, time: sql`c.issued_at`, id: sql`c.id` };

export async function listCommands(queries: Queries, scope: Scope, filter: CommandFilter, page: PageWanted) {
  const { ids, next } = await walk(queries, commandRows, await readPlan(queries, scope, filter), page);
  return { commands: await readListed(queries, scope, ids), next };
}

/** How the rows of a filter are found. */
export async function readPlan(queries: Queries, scope: Scope, filter: CommandFilter): Promise<Walk> {
  return planOf(scope, filter, await devicesOf(queries, scope, filter));
}

/** The index to scan for the filter, and the conditions to check row by row. `deviceIds`: undefined means all. */
function planOf(scope: Scope, filter: CommandFilter, deviceIds: string[] | undefined): Walk {
  const { mode, q } = filter;
  const walked = spanOf(filter);
  const own = ownedBy(scope, sql`c.merchant_id`);
  const inDevices = deviceIds && deviceIds.length > 0 ? [sql<SqlBool>`c.device_id in (${sql.join(deviceIds)})`] : [];
  const few = fewOf(filter);
  const sieve = sieveOf(filter, false);

  if (deviceIds?.length === 0) return { sources: [], walked, sieve: [] };
  if (q !== undefined) return { sources: lookupsOf(scope, q), walked, sieve: [own, ...inDevices, ...sieve] };
  if (few) {
    const sources = few.map((place) => ({ where: sql<SqlBool>`${sql.join([place, own, ...inDevices], sql` and `)}`, isOrdered: false }));
    return { sources, walked, sieve };
  }
  if (deviceIds && deviceIds.length <= maxDevicesApart) {
    return {
      sources: deviceIds.map((id) => ({ where: sql<SqlBool>`c.device_id = ${id}`, isOrdered: true })),
      walked,
      sieve: [own, ...sieve],
    };
  }
  const within = scope.merchantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`c.merchant_id = ${scope.merchantId}`;
  // The indexes by time begin with the mode: a list of both modes scans both.
  const modes = mode === undefined ? (['cards', 'fiscal'] as const) : [mode];
  const sources = modes.map((one) => ({ where: sql<SqlBool>`${within} and ${conditionOfMode[one]}`, isOrdered: true }));
  return { sources, walked, sieve: [...inDevices, ...sieveOf(filter, true)] };
}

/** Undefined: all devices. Empty: the device does not exist, belongs to another merchant, or its kind does not serve this mode. */
async function devicesOf(queries: Queries, scope: Scope, { mode, deviceId, bank, shop }: CommandFilter): Promise<string[] | undefined> {
  if (bank === undefined && shop === undefined && deviceId === undefined) return undefined;
  const rows = await queries
    .selectFrom('devices')
    .select('id')
    .$if(scope.merchantId !== undefined, (query) => query.where('merchant_id', '=', scope.merchantId ?? ''))
    .$if(mode !== undefined, (query) => query.where('kind', '=', mode === 'cards' ? 'terminal' : 'register'))
    .$if(bank !== undefined, (query) => query.where('bank', '=', bank ?? ''))
    .$if(shop !== undefined, (query) => query.where('point_of_sales_code', '=', shop ?? ''))
    .$if(deviceId !== undefined, (query) => query.where('id', '=', deviceId ?? ''))
    .execute();
  return rows.map(({ id }) => id);
}

/** Rows of a list by their ids, newest first. */
export async function readListed(queries: Queries, scope: Scope, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const is = moneySql().of('c');
  const rows = await queries
    .selectFrom('commands as c')
    .innerJoin('devices as d', 'd.id', 'c.device_id')
    .innerJoin('merchants as m', 'm.id', 'c.merchant_id')
    .select(['c.id', 'c.merchant_id as merchantId', 'm.name as merchantName', 'c.device_id as deviceId', 'd.name as deviceName'])
    .select(['d.bank', 'd.point_of_sales_code as shop', 'c.name', 'c.state', 'c.outcome', 'c.amount_bani as amountBani'])
    .select(['c.document_nr as documentNr', 'c.operation_id as operationId', 'c.rrn', 'c.receipt_uid as receiptUid'])
    .select(['c.receipt_id as receiptId', 'c.target_id as targetId', 'c.issued_at as issuedAtMs', 'c.settled_at as settledAtMs'])
    // When its caller left without the outcome, and when a caller received it; null if unknown.
    .select([
      'c.outcome_missed_at as outcomeMissedAtMs',
      'c.outcome_received_at as outcomeReceivedAtMs',
      'c.settled_by as settledBy',
      'c.document_state as documentState',
      'c.reviewed_at as reviewedAtMs',
    ])
    .select(['c.review_since as reviewSinceMs', 'c.review_reason as reviewReason', 'c.contradiction'])
    .select(sql<string | null>`case when ${kindConditions('c').refund} then c.report end`.as('refundReport'))
    .select([is.standing.as('standing'), is.refundedBani.as('refundedBani')])
    .select(sql<number>`case when ${is.open} and ${contactLost('c')} then 1 else 0 end`.as('isOutOfContact'))
    .where('c.id', 'in', [...ids])
    .where(ownedBy(scope, sql`c.merchant_id`))
    .orderBy(sql`c.issued_at + 0`, 'desc')
    .orderBy('c.id', 'desc')
    .execute();
  return rows.map(({ reviewedAtMs, reviewSinceMs, reviewReason, refundReport, ...row }) => {
    const review = isInReview({ reviewSinceMs, reviewedAtMs })
      ? { reviewSinceMs, reviewReason }
      : { reviewSinceMs: null, reviewReason: null };
    const facts = {
      ...row,
      name: row.name as OperationName,
      ...ownNumbers({ ...row, name: row.name as OperationName, report: refundReport }),
      outcome: row.outcome as EndingOutcome | null,
      isOutOfContact: row.isOutOfContact === 1,
    };
    const shownState = shownStateOf({ ...facts, isInReview: review.reviewSinceMs !== null });
    return { ...facts, ...review, shownState };
  });
}

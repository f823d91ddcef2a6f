// Unmatched reports [D295]: a device reports money for a command or an invoice that has no row, after a restored backup or a fail-over that
// lost commits, or because the device belonged to another gateway. No row can be settled, so the report itself is kept for an operator:
// once for each id, with its numbers, for the merchant of the device that sent it. A device can invent ids, so its open rows are bounded.
//
// If the process dies before the commit, the report is lost here; the device's journal and the bank still have it.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { type Bani, parseAmount } from '../kernel/money.ts';
import { isPlainText } from '../kernel/receipt.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import type { JsonObject, Outcome } from '../link/protocol.ts';
import { isQuestionId } from '../link/question-ids.ts';

/** Without a note; more are only logged. */
export const maxUnmatchedPerDevice = 100;
const maxNumberLength = 128;

export interface UnmatchedReport {
  kind: 'command' | 'invoice';
  /** The id of the command, or the OID in the invoice's QR. */
  id: string;
  deviceId: string;
  /** Undefined: the merchant of the device. */
  merchantId?: string | undefined;
  outcome: 'done' | 'unknown';
  /** Of an invoice. */
  receiptId?: string | undefined;
  rrn?: string | undefined;
  operationId?: string | undefined;
  amountBani?: Bani | undefined;
}

export interface UnmatchedReports {
  /** An answer that may have moved money is kept; another one is ignored. `amountBani`: what was asked for, if that is known. */
  keepAnswer(answered: Answered, amountBani?: Bani | null): Promise<void>;
  keep(report: UnmatchedReport): Promise<void>;
}

interface Answered {
  id: string;
  deviceId: string;
  outcome: Outcome;
  report: JsonObject | undefined;
}

interface Deps {
  database: Pick<Database, 'queries'>;
  clock: Clock;
  logger: Logger;
}

/** Condition on a row `u` of unmatched_reports. */
export const isOpenReport = sql<SqlBool>`not exists
  (select 1 from notes n where n.kind = 'unmatched' and n.subject_id = cast(u.id as text))`;

export function createUnmatchedReports({ database, clock, logger }: Deps): UnmatchedReports {
  const restrained = restrainLogger(logger, clock);

  async function keep(report: UnmatchedReport): Promise<void> {
    const place = await insert(database.queries, report);
    if (place === 'known') return;
    if (place === 'new') logger.error(report, 'a device reported money that no record has; Attention lists it');
    else restrained.error(report, 'a device reported money that no record has, and the list of its device has no room for it');
  }

  return {
    keep,
    async keepAnswer({ id, deviceId, outcome, report = {} }, amountBani) {
      if ((outcome !== 'done' && outcome !== 'unknown') || isQuestionId(id) || isOfQuestion(report)) return;
      const numbers = numbersOf(report);
      await keep({ deviceId, kind: 'command', id, outcome, ...numbers, amountBani: numbers.amountBani ?? amountBani ?? undefined });
    },
  };
}

/** What an operator needs to find the money at the bank or in the fiscal memory. */
export function numbersOf(report: JsonObject = {}): Pick<UnmatchedReport, 'rrn' | 'operationId' | 'amountBani'> {
  return {
    rrn: numberIn(report, ['rrn']),
    operationId: numberIn(report, operationFields),
    amountBani: parseAmount(report['amount'] ?? report['total']) ?? undefined,
  };
}

const operationFields = ['operationId', 'receiptId', 'documentNumber', 'number'] as const;

/**
 * Answers to questions of gateways of 0.2.3 and before, whose ids do not show it: Recall and Status report no numbers of their own,
 * LastTransaction those of the command that it names.
 */
function isOfQuestion(report: JsonObject): boolean {
  const hasNumbers = numberIn(report, ['rrn', ...operationFields]) !== undefined;
  if (hasNumbers) return typeof report['state'] === 'string' && typeof report['kind'] === 'string';
  return typeof report['state'] === 'string' || typeof report['online'] === 'boolean';
}

/** Bounded, and storable in both databases; other texts are left out. */
function numberIn(report: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = report[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, maxNumberLength).toWellFormed() : '';
    if (text !== '' && isPlainText(text)) return text;
  }
  return undefined;
}

/** 'full': its device has too many open rows, or the report's merchant is unknown. */
async function insert(queries: Queries, report: UnmatchedReport): Promise<'new' | 'known' | 'full'> {
  const { kind, id, deviceId, outcome, receiptId = '', rrn = null, operationId = null, amountBani = null } = report;
  const owner = await ownerOf(queries, deviceId);
  const merchantId = report.merchantId ?? owner;
  if (merchantId === undefined) return 'full';
  const before = await queries
    .selectFrom('unmatched_reports')
    .select(['id', 'outcome'])
    .where('merchant_id', '=', merchantId)
    .where('device_id', '=', deviceId)
    .where('subject_id', '=', id)
    .where('receipt_id', '=', receiptId)
    .executeTakeFirst();
  if (before && (before.outcome === outcome || before.outcome === 'done')) return 'known';
  const ofDevice = { merchantId, kind, deviceId: owner === merchantId ? deviceId : undefined };
  if (!before && (await countOpen(queries, ofDevice)) >= maxUnmatchedPerDevice) return 'full';
  const numbers = { outcome, rrn, operation_id: operationId, amount_bani: amountBani };
  const row = await queries
    .insertInto('unmatched_reports')
    .values({
      merchant_id: merchantId,
      device_id: deviceId,
      subject_kind: kind,
      subject_id: id,
      receipt_id: receiptId,
      ...numbers,
      at: nowMs,
    })
    // "unknown" first, and now "done".
    .onConflict((conflict) =>
      conflict
        .columns(['merchant_id', 'device_id', 'subject_id', 'receipt_id'])
        .doUpdateSet(numbers)
        .where('unmatched_reports.outcome', '!=', outcome),
    )
    .returning('id')
    .executeTakeFirst();
  if (!row) return 'known';
  // A note about the earlier report does not hide this one; the audit log keeps it.
  if (before) await queries.deleteFrom('notes').where('kind', '=', 'unmatched').where('subject_id', '=', String(row.id)).execute();
  return 'new';
}

async function ownerOf(queries: Queries, deviceId: string): Promise<string | undefined> {
  const device = await queries.selectFrom('devices').select('merchant_id').where('id', '=', deviceId).executeTakeFirst();
  return device?.merchant_id;
}

interface OfDevice {
  merchantId: string;
  kind: UnmatchedReport['kind'];
  /** Undefined: of all devices that the merchant does not have, because a caller with its key may name any. */
  deviceId: string | undefined;
}

async function countOpen(queries: Queries, { merchantId, kind, deviceId }: OfDevice): Promise<number> {
  const { count } = await queries
    .selectFrom('unmatched_reports as u')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('u.merchant_id', '=', merchantId)
    .where('u.subject_kind', '=', kind)
    .where(
      deviceId === undefined
        ? sql<SqlBool>`not exists (select 1 from devices d where d.id = u.device_id and d.merchant_id = u.merchant_id)`
        : sql<SqlBool>`u.device_id = ${deviceId}`,
    )
    .where(isOpenReport)
    .executeTakeFirstOrThrow();
  return count;
}

// One story per sale: everything that happened to an invoice, in the order of time: its own states, the card payments
// made for it (documentNr = OID [D19]) and every try to tell the ERP. And the orphan board: money without an invoice to show for it.
import type { Queries } from '../database/database.ts';
import type { State } from '../invoices/rules.ts';
import { hideLogin } from './views/hidden-login.ts';

export interface StoredInvoice {
  oid: string;
  merchantId: string;
  state: State;
  receipt: string;
  callbackUri: string | undefined;
  validToMs: number | undefined;
  pointOfSalesCode: string | undefined;
  preferredDeviceId: string | undefined;
  receiptId: string | undefined;
  paidDeviceId: string | undefined;
  createdAtMs: number;
  /** Its receipt and history were removed after their time [D66]. */
  removedAtMs: number | undefined;
}

export interface StoryLine {
  atMs: number;
  /** What it happened to. */
  about: 'invoice' | 'command' | 'callback';
  /** The id of that invoice, command or callback. */
  id: string;
  event: string;
  detail: Record<string, unknown>;
}

export async function readInvoice(queries: Queries, oid: string): Promise<StoredInvoice | undefined> {
  const row = await queries
    .selectFrom('invoices')
    .select(['oid', 'merchant_id', 'state', 'receipt', 'callback_uri', 'valid_to', 'point_of_sales_code', 'preferred_device_id'])
    .select(['receipt_id', 'paid_device_id', 'created_at', 'removed_at'])
    .where('oid', '=', oid)
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    oid: row.oid,
    merchantId: row.merchant_id,
    state: row.state as State,
    receipt: row.receipt,
    callbackUri: row.callback_uri ?? undefined,
    validToMs: row.valid_to ?? undefined,
    pointOfSalesCode: row.point_of_sales_code ?? undefined,
    preferredDeviceId: row.preferred_device_id ?? undefined,
    receiptId: row.receipt_id ?? undefined,
    paidDeviceId: row.paid_device_id ?? undefined,
    createdAtMs: row.created_at,
    removedAtMs: row.removed_at ?? undefined,
  };
}

/** At most this much of one source is told: a story is for reading. */
const longestPart = 1_000;

export async function tellStory(queries: Queries, invoice: StoredInvoice): Promise<StoryLine[]> {
  const parts = await Promise.all([
    invoiceLines(queries, invoice),
    commandLines(queries, invoice),
    callbackLines(queries, invoice),
    attemptLines(queries, invoice),
  ]);
  // The sort is stable, so lines of one moment stay in the order of their source.
  return parts.flat().sort((one, other) => one.atMs - other.atMs);
}

async function invoiceLines(queries: Queries, { oid }: StoredInvoice): Promise<StoryLine[]> {
  const rows = await queries
    .selectFrom('invoice_events')
    .select(['at', 'event', 'detail'])
    .where('oid', '=', oid)
    .orderBy('id')
    .limit(longestPart)
    .execute();
  return rows.map((row) => ({ atMs: row.at, about: 'invoice', id: oid, event: row.event, detail: readDetail(row.detail) }));
}

async function commandLines(queries: Queries, { oid, merchantId }: StoredInvoice): Promise<StoryLine[]> {
  const rows = await queries
    .selectFrom('command_events as event')
    .innerJoin('commands as command', 'command.id', 'event.command_id')
    .select(['event.at', 'event.step', 'event.channel', 'event.detail', 'command.id', 'command.name', 'command.device_id'])
    .where('command.document_nr', '=', oid)
    .where('command.merchant_id', '=', merchantId)
    .orderBy('event.id')
    .limit(longestPart)
    .execute();
  return rows.map((row) => ({
    atMs: row.at,
    about: 'command',
    id: row.id,
    event: row.step,
    detail: {
      command: row.name,
      deviceId: row.device_id,
      ...(row.channel !== null && { channel: row.channel }),
      ...(row.detail !== null && { text: row.detail }),
    },
  }));
}

async function callbackLines(queries: Queries, { oid }: StoredInvoice): Promise<StoryLine[]> {
  const rows = await queries
    .selectFrom('callbacks')
    .select(['id', 'created_at', 'sequence', 'url', 'state', 'attempts'])
    .where('subject_id', '=', oid)
    .orderBy('sequence')
    .limit(longestPart)
    .execute();
  return rows.map(({ id, created_at, url, ...rest }) => ({
    atMs: created_at,
    about: 'callback',
    id,
    event: 'written',
    detail: { ...rest, url: hideLogin(url) },
  }));
}

async function attemptLines(queries: Queries, { oid }: StoredInvoice): Promise<StoryLine[]> {
  const rows = await queries
    .selectFrom('callback_attempts as attempt')
    .innerJoin('callbacks as callback', 'callback.id', 'attempt.callback_id')
    .select(['callback.id', 'attempt.at', 'attempt.attempt', 'attempt.status', 'attempt.error', 'attempt.duration_ms'])
    .where('callback.subject_id', '=', oid)
    .orderBy('attempt.id')
    .limit(longestPart)
    .execute();
  return rows.map((row) => ({
    atMs: row.at,
    about: 'callback',
    id: row.id,
    event: 'attempt',
    detail: {
      attempt: row.attempt,
      durationMs: row.duration_ms,
      ...(row.status !== null && { status: row.status }),
      ...(row.error !== null && { error: row.error }),
    },
  }));
}

function readDetail(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

export interface Orphan {
  id: number;
  merchantId: string;
  oid: string;
  receiptId: string;
  deviceId: string;
  reason: string;
  atMs: number;
}

/** Newest first. */
export async function listOrphans(queries: Queries, limit: number, merchantId?: string): Promise<Orphan[]> {
  let query = queries
    .selectFrom('orphan_payments')
    .select(['id', 'merchant_id as merchantId', 'oid', 'receipt_id as receiptId', 'device_id as deviceId', 'reason', 'at as atMs'])
    .orderBy('id', 'desc')
    .limit(limit);
  if (merchantId !== undefined) query = query.where('merchant_id', '=', merchantId);
  return await query.execute();
}

// Reads all data of one sale: the command, refunds and other commands that refer to it, receipts and payments under the same document, its
// invoice, and every callback attempt. The steps come from the rooms that write them. Each source is bounded.
import { type SqlBool, sql } from 'kysely';
import { readKeyNames } from '../../../access/keys.ts';
import { listAttemptsOf, listCallbacksOf } from '../../../callbacks/delivery-log.ts';
import type { Queries } from '../../../database/database.ts';
import { listInvoiceEvents } from '../../../invoices/store.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { commandColumns, toCommand } from '../../../ledger/command.ts';
import type { CommandEvent } from '../../../ledger/command-event.ts';
import { kindConditions } from '../../../ledger/standing-sql.ts';
import { ownedBy, type Scope } from '../scope.ts';
import type { FoundSale, StoryAbort, StoryAttempt, StoryCallback, StoryCommand, StoryEvent, StoryInvoice } from './sale-model.ts';

const maxRelated = 200;
const maxEvents = 1_000;

/** Undefined: no such command, or of another merchant. */
export async function readSale(
  queries: Queries,
  scope: Scope,
  commandId: string,
  events: readonly CommandEvent[],
): Promise<FoundSale | undefined> {
  const [command] = await readCommands(queries, scope, sql<SqlBool>`c.id = ${commandId}`);
  if (!command) return undefined;
  const own: Scope = { merchantId: command.merchantId };
  const [payment] = command.targetId === null ? [] : await readCommands(queries, own, sql<SqlBool>`c.id = ${command.targetId}`);
  const referring = sql<SqlBool>`c.target_id = ${command.id}`;
  const isPayment = operationOf(command.name).isPayment === true;
  const linked = await readLinked(queries, own, command);
  const invoice = await readInvoiceOf(queries, own, command.documentNr ?? command.receiptUid);
  const subjects = [command.id, ...linked.map(({ id }) => id), ...(invoice ? [invoice.oid] : [])];
  const callbacks = await readCallbacks(queries, own, subjects);
  return {
    command,
    payment,
    followers: isPayment ? await readCommands(queries, own, referring) : [],
    aborts: isPayment ? await readAborts(queries, own, referring) : [],
    linked,
    invoice,
    invoiceEvents: invoice ? await readInvoiceEvents(queries, invoice) : [],
    // Only of the command itself; each related command is one step.
    events: storyEvents(events),
    callbacks,
    attempts: await readAttempts(queries, callbacks),
  };
}

/** On the new core: a payment under the number whose money the shop may have. */
export async function hasStandingPayment(queries: Queries, merchantId: string, documentNr: string): Promise<boolean> {
  const payments = queries.selectFrom('commands').select('id').where('merchant_id', '=', merchantId).where('document_nr', '=', documentNr);
  const standing = payments.where('is_payment', '=', 1).where('standing', 'in', ['Open', 'Disputed', 'Done', 'Closed']);
  return (await standing.limit(1).executeTakeFirst()) !== undefined;
}

const isAbort = sql<SqlBool>`c.name = 'Abort'`;

/** Requests to stop a payment, oldest first: they are no operations of a device [D315]. */
export async function readAborts(queries: Queries, scope: Scope, where: ReturnType<typeof sql<SqlBool>>): Promise<StoryAbort[]> {
  return await queries
    .selectFrom('commands as c')
    .innerJoin('devices as d', 'd.id', 'c.device_id')
    .select(['c.id', 'c.caller', 'c.issued_at as issuedAtMs', 'c.state', 'd.name as deviceName', 'c.target_id as targetId'])
    .where(where)
    .where(isAbort)
    .where(ownedBy(scope, sql`c.merchant_id`))
    .orderBy(sql`c.issued_at + 0`)
    .limit(maxRelated)
    .execute();
}

/** Oldest first. */
export async function readCommands(queries: Queries, scope: Scope, where: ReturnType<typeof sql<SqlBool>>): Promise<StoryCommand[]> {
  const rows = await queries
    .selectFrom('commands as c')
    .innerJoin('devices as d', 'd.id', 'c.device_id')
    .select(commandColumns.map((column) => `c.${column}` as const))
    .select(['c.caller', 'c.request', 'c.receipt_id', 'c.cash_bani', 'c.card_bani', 'd.name as device_name'])
    .where(where)
    .where(sql<SqlBool>`not ${isAbort}`)
    .where(ownedBy(scope, sql`c.merchant_id`))
    .orderBy(sql`c.issued_at + 0`)
    .limit(maxRelated)
    .execute();
  return rows.map((row) => ({
    ...toCommand(row),
    caller: row.caller,
    request: row.request,
    receiptId: row.receipt_id,
    cashBani: row.cash_bani,
    cardBani: row.card_bani,
    deviceName: row.device_name,
  }));
}

/** A receipt whose Uid is the payment's documentNr, and vice versa [D80]. The Uid is stored as the ERP wrote it, perhaps in capitals. */
async function readLinked(queries: Queries, scope: Scope, { name, documentNr, receiptUid }: StoryCommand): Promise<StoryCommand[]> {
  const { isPayment, prints } = operationOf(name);
  if (isPayment && documentNr !== null) {
    const isPrint = sql<SqlBool>`c.merchant_id = ${scope.merchantId} and c.receipt_uid is not null and c.receipt_uid in (${documentNr}, ${documentNr.toUpperCase()}) and ${kindConditions('c').print}`;
    return await readCommands(queries, scope, isPrint);
  }
  if (prints && receiptUid !== null) {
    const isItsPayment = sql<SqlBool>`c.merchant_id = ${scope.merchantId} and c.document_nr is not null and c.document_nr = ${receiptUid.toLowerCase()} and ${kindConditions('c').payment}`;
    return await readCommands(queries, scope, isItsPayment);
  }
  return [];
}

async function readInvoiceOf(queries: Queries, { merchantId = '' }: Scope, documentNr: string | null): Promise<StoryInvoice | undefined> {
  if (documentNr === null) return undefined;
  return await queries
    .selectFrom('invoices')
    .select(['oid', 'state', 'amount_bani as amountBani', 'created_at as createdAtMs'])
    .where('oid', '=', documentNr.toLowerCase())
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst();
}

function channelOf(name: string | undefined): StoryEvent['channel'] {
  return name === 'mqtt' || name === 'queue' ? name : undefined;
}

/** Events are written in batches: an earlier event may have been written later. */
function storyEvents(events: readonly CommandEvent[]): StoryEvent[] {
  return events
    .slice(0, maxEvents)
    .map(({ commandId, atMs, step, channel, detail, further }) => ({
      commandId,
      atMs,
      step,
      channel: channelOf(channel),
      detail,
      further,
    }))
    .sort((one, other) => one.atMs - other.atMs);
}

export async function readInvoiceEvents(
  queries: Queries,
  { oid, createdAtMs }: Pick<StoryInvoice, 'oid' | 'createdAtMs'>,
): Promise<FoundSale['invoiceEvents']> {
  return [{ atMs: createdAtMs, event: 'NewItem', detail: {} }, ...(await listInvoiceEvents(queries, oid, maxEvents))];
}

export async function readCallbacks(queries: Queries, { merchantId = '' }: Scope, subjectIds: string[]): Promise<StoryCallback[]> {
  return await listCallbacksOf(queries, merchantId, subjectIds, maxRelated);
}

export async function readAttempts(queries: Queries, callbacks: StoryCallback[]): Promise<StoryAttempt[]> {
  return await listAttemptsOf(
    queries,
    callbacks.map(({ id }) => id),
    maxEvents,
  );
}

/** Names of the callers' keys, by id. */
export async function readNamesOfCallers(queries: Queries, callers: readonly (string | null)[]): Promise<Map<string, string>> {
  return await readKeyNames(
    queries,
    callers.flatMap((caller) => (caller?.startsWith('key ') ? [caller.slice('key '.length)] : [])),
  );
}

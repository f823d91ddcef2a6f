// Attention: items that need a person, each with its age, amount and safe next step. Each kind is one query on a small index.
// A note of a person (notes.ts) removes an item that no other step can settle.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { paidByCardToo } from '../../../invoices/store.ts';
import { isOpen } from '../../../ledger/command.ts';
import { isOpenReport } from '../../../ledger/unmatched.ts';
import type { Attention as StoredKind } from '../../../money/case.ts';
import { type ListedCommand, listCommands, readListed } from '../lists/commands-list.ts';
import { moneySql } from '../money-sql.ts';
import { lacksNumbers, reviewStep } from '../sale/next-steps.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { type Text, text } from '../texts.ts';
import { type AttentionKind, attentionKinds } from './attention-kinds.ts';
import { findMismatchesOf, type Mismatches, type MismatchKind, searchedForMs } from './mismatches.ts';
import { unnoted } from './notes.ts';

/** Only items about these. */
export interface About {
  commandIds: readonly string[];
  oids: readonly string[];
}

export interface AttentionItem {
  kind: AttentionKind;
  /** The subject of a note about the item. */
  subjectId: string;
  commandId?: string | undefined;
  oid?: string | undefined;
  /** Equal for a payment, its receipt and its invoice, which one document links [D80]. */
  saleKey: string;
  callbackId?: string | undefined;
  merchantId: string;
  sinceMs: number;
  amountBani: number | null;
  deviceId?: string | null;
  deviceName?: string | null;
  known: Text;
  unknown: Text;
  nextStep: {
    /** open: its page has the step. */
    action: 'ask' | 'decide' | 'close' | 'note' | 'resend' | 'open';
    closesReview?: boolean;
    keepsSettlement?: boolean | undefined;
    contradiction?: string | undefined;
    asksNumbers?: true | undefined;
    consequence: Text;
  };
}

export interface Attention {
  items: AttentionItem[];
  counts: Record<AttentionKind, number>;
  sumsBani: Record<AttentionKind, number>;
  /** Each sale once, however many kinds list it. */
  sales: { count: number; bani: number };
  /** Some kind has more items than the list shows. */
  isCut: boolean;
}

const maxOfEach = 200;
/** A document is open for a short time after every payment. */
export const closeWithinMs = 5 * 60_000;

export async function readAttention(queries: Queries, scope: Scope, nowMs: number, mismatches: Mismatches): Promise<Attention> {
  const ofNumbers = itemsOfNumbers(queries, scope, nowMs, mismatches);
  const parts = await Promise.all([
    stateItems(queries, scope, nowMs),
    unmatchedItems(queries, scope),
    orphanItems(queries, scope),
    paidByCardItems(queries, scope),
    deadCallbackItems(queries, scope),
    ofNumbers.then(({ items }) => items),
  ]);
  const { isCut } = await ofNumbers;
  const seen = new Set<string>();
  const items = parts
    .flat()
    .filter((item) => !seen.has(`${item.kind} ${item.subjectId}`) && seen.add(`${item.kind} ${item.subjectId}`))
    .sort((one, other) => one.sinceMs - other.sinceMs);
  return { items, ...sumUp(items), sales: salesOf(items), isCut: isCut || parts.some((part) => part.length >= maxOfEach) };
}

/** A sale with several items counts once, and so does its amount. */
export function salesOf(items: readonly Pick<AttentionItem, 'merchantId' | 'saleKey' | 'amountBani'>[]): Attention['sales'] {
  const sums = new Map<string, number>();
  for (const { merchantId, saleKey, amountBani } of items) {
    const key = `${merchantId} ${saleKey}`;
    sums.set(key, Math.max(sums.get(key) ?? 0, amountBani ?? 0));
  }
  return { count: sums.size, bani: [...sums.values()].reduce((sum, bani) => sum + bani, 0) };
}

/** The items of one sale or invoice: the same conditions, looked up by ids. */
export async function readAttentionAbout(queries: Queries, scope: Scope, about: About, nowMs: number): Promise<AttentionKind[]> {
  const commands = await readListed(queries, scope, about.commandIds);
  const parts = await Promise.all([
    orphanItems(queries, scope, about),
    paidByCardItems(queries, scope, about),
    deadCallbackItems(queries, scope, about),
    itemsOfNumbersAbout(queries, scope, about),
  ]);
  const ofStates = commands.flatMap((command) => itemOfState(command, nowMs) ?? []);
  const kinds = new Set([...ofStates, ...parts.flat()].map(({ kind }) => kind));
  return attentionKinds.filter((kind) => kinds.has(kind));
}

export function sumUp(items: readonly Pick<AttentionItem, 'kind' | 'amountBani'>[]): Pick<Attention, 'counts' | 'sumsBani'> {
  const zero = () => Object.fromEntries(attentionKinds.map((kind) => [kind, 0])) as Record<AttentionKind, number>;
  const counts = zero();
  const sumsBani = zero();
  for (const { kind, amountBani } of items) {
    counts[kind] += 1;
    sumsBani[kind] += amountBani ?? 0;
  }
  return { counts, sumsBani };
}

const storedKinds = [
  'chargedTwice',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
] as const satisfies readonly StoredKind[];

const saleKeyOf = (number: string) => number.toLowerCase();

function itemOf(kind: AttentionKind, command: ListedCommand, sinceMs: number, action: AttentionItem['nextStep']['action']): AttentionItem {
  const params = {
    name: command.name,
    device: command.deviceName,
    rrn: command.rrn,
    operationId: command.operationId,
    state: command.state,
  };
  return {
    kind,
    subjectId: command.id,
    commandId: command.id,
    saleKey: saleKeyOf(command.documentNr ?? command.receiptUid ?? command.id),
    merchantId: command.merchantId,
    sinceMs,
    amountBani: command.amountBani,
    deviceId: command.deviceId,
    deviceName: command.deviceName,
    known: text(`attention.${kind}.known`, { ...params, reason: command.reviewReason }),
    unknown: text(`attention.${kind}.unknown`, params),
    nextStep: {
      action,
      ...(lacksNumbers(command) && action === 'decide' && { asksNumbers: true }),
      ...(kind === 'contradiction'
        ? reviewStep(command)
        : {
            consequence: text(kind === 'chargedTwice' ? 'consequence.returnOne' : `consequence.${action}`, { device: command.deviceName }),
          }),
    },
  };
}

/** The item that follows from the state alone. A payment with a disputed refund has none: the refund has it. */
function itemOfState(command: ListedCommand, nowMs: number): AttentionItem | undefined {
  const { shownState, reviewSinceMs, issuedAtMs, settledAtMs } = command;
  if (reviewSinceMs !== null) return itemOf(isOpen(command) ? 'unknown' : 'contradiction', command, reviewSinceMs, 'decide');
  if (shownState === 'unknown') return itemOf('unknown', command, issuedAtMs, 'ask');
  const sinceMs = settledAtMs ?? issuedAtMs;
  return shownState === 'notClosed' && sinceMs <= nowMs - closeWithinMs ? itemOf('notClosed', command, sinceMs, 'close') : undefined;
}

async function stateItems(queries: Queries, scope: Scope, nowMs: number): Promise<AttentionItem[]> {
  const lists = await Promise.all(
    (['unknown', 'needsPerson', 'notClosed'] as const).map((state) =>
      listCommands(queries, scope, { states: [state] }, { limit: maxOfEach }),
    ),
  );
  return lists.flatMap(({ commands }) => commands.flatMap((command) => itemOfState(command, nowMs) ?? []));
}

/** Restricts a query to the given ids; undefined: no restriction. */
const isAbout = (column: ReturnType<typeof sql>, ids: readonly string[] | undefined) =>
  ids === undefined ? sql<SqlBool>`true` : ids.length === 0 ? sql<SqlBool>`false` : sql<SqlBool>`${column} in (${sql.join(ids)})`;

/** A device reported money for a command or an invoice that has no row [D295], so there is no page of it. */
async function unmatchedItems(queries: Queries, { merchantId }: Scope): Promise<AttentionItem[]> {
  const rows = await queries
    .selectFrom('unmatched_reports as u')
    .leftJoin('devices as d', (join) => join.onRef('d.id', '=', 'u.device_id').onRef('d.merchant_id', '=', 'u.merchant_id'))
    .select(['u.id', 'u.subject_kind', 'u.subject_id', 'u.outcome', 'u.receipt_id', 'u.rrn', 'u.operation_id as operationId'])
    .select([
      'u.merchant_id as merchantId',
      'u.amount_bani as amountBani',
      'u.device_id as deviceId',
      'd.name as deviceName',
      'u.at as sinceMs',
    ])
    .$if(merchantId !== undefined, (query) => query.where('u.merchant_id', '=', merchantId ?? ''))
    .where(isOpenReport)
    .orderBy('u.id', 'desc')
    .limit(maxOfEach)
    .execute();
  return rows.map(({ id, subject_kind, subject_id, outcome, receipt_id, rrn, operationId, ...row }) => {
    const known = subject_kind === 'invoice' ? 'invoice' : outcome === 'done' ? 'done' : 'maybe';
    return {
      ...row,
      kind: 'unmatched',
      subjectId: String(id),
      saleKey: saleKeyOf(subject_id),
      known: text(`attention.unmatched.${known}`, {
        id: subject_id,
        rrn,
        operationId,
        receiptId: receipt_id === '' ? undefined : receipt_id,
      }),
      unknown: text('attention.unmatched.unknown'),
      nextStep: { action: 'note', consequence: text('consequence.noteUnmatched') },
    };
  });
}

async function orphanItems(queries: Queries, scope: Scope, about?: About): Promise<AttentionItem[]> {
  const { orphan } = moneySql();
  const rows = await queries
    .selectFrom('orphan_payments as o')
    .innerJoin('invoices as i', 'i.oid', 'o.oid')
    .leftJoin('devices as d', (join) => join.onRef('d.id', '=', 'o.device_id').onRef('d.merchant_id', '=', 'o.merchant_id'))
    .select(['o.id', 'o.oid', 'o.merchant_id as merchantId', 'o.receipt_id as receiptId', 'o.at as sinceMs'])
    .select(['i.amount_bani as amountBani', 'o.device_id as deviceId', 'd.name as deviceName', orphan.reason.as('reason')])
    .$if(scope.merchantId !== undefined, (query) => query.where('o.merchant_id', '=', scope.merchantId ?? ''))
    .where(orphan.isListed)
    .where(isAbout(sql`o.oid`, about?.oids))
    .where(unnoted('paydRefused', sql`cast(o.id as text)`, sql`o.version`))
    .orderBy('o.id', 'desc')
    .limit(maxOfEach)
    .execute();
  return rows.map(({ id, reason, receiptId, ...row }) => ({
    ...row,
    kind: 'paydRefused',
    subjectId: String(id),
    saleKey: row.oid,
    known: text(`attention.paydRefused.${reason === paidByCardToo ? 'paidByCardToo' : 'known'}`, { reason, receiptId }),
    unknown: text('attention.paydRefused.unknown'),
    nextStep: { action: 'note', consequence: text('consequence.note') },
  }));
}

/** Paid by card and never completed with Payd: the invoice does not expire, and its ERP must complete it [D142]. */
async function paidByCardItems(queries: Queries, scope: Scope, about?: About): Promise<AttentionItem[]> {
  const { is, sinceMs } = moneySql().paidByCard;
  const rows = await queries
    .selectFrom('invoices')
    .select(['oid', 'merchant_id as merchantId', 'amount_bani as amountBani', sinceMs.as('sinceMs')])
    .where(is)
    .where(ownedBy(scope, sql`invoices.merchant_id`))
    .where(isAbout(sql`invoices.oid`, about?.oids))
    .where(unnoted('paidByCard', sql`invoices.oid`))
    .orderBy('valid_to')
    .limit(maxOfEach)
    .execute();
  return rows.map((row) => ({
    ...row,
    kind: 'paidByCard',
    subjectId: row.oid,
    saleKey: row.oid,
    known: text('attention.paidByCard.known'),
    unknown: text('attention.paidByCard.unknown'),
    nextStep: { action: 'note', consequence: text('consequence.note') },
  }));
}

/** Dead callbacks about something paid, printed or booked. Only the last one per subject, which has its outcome, so its money counts once. */
async function deadCallbackItems(queries: Queries, scope: Scope, about?: About): Promise<AttentionItem[]> {
  const rows = await queries
    .selectFrom('callbacks as k')
    .leftJoin('invoices as i', (join) => join.onRef('i.oid', '=', 'k.subject_id').on('k.subject_kind', '=', 'invoice'))
    .leftJoin('commands as c', (join) => join.onRef('c.id', '=', 'k.subject_id').on('k.subject_kind', '=', 'operation'))
    .leftJoin('devices as d', (join) => join.on(sql<SqlBool>`d.id = coalesce(c.device_id, i.paid_device_id)`))
    .select(['k.id', 'k.merchant_id as merchantId', 'k.subject_kind', 'k.subject_id', 'k.host', 'k.attempts', 'k.created_at as sinceMs'])
    .select([sql<number | null>`coalesce(c.amount_bani, i.amount_bani)`.as('amountBani'), 'd.id as deviceId', 'd.name as deviceName'])
    .select(sql<string>`coalesce(c.document_nr, c.receipt_uid, k.subject_id)`.as('sale_key'))
    .where('k.state', '=', sql.lit('dead'))
    .where(isAbout(sql`k.subject_id`, about && [...about.commandIds, ...about.oids]))
    .where(sql<SqlBool>`(i.state = 2 or ${moneySql().of('c').done})`)
    .where(ownedBy(scope, sql`k.merchant_id`))
    .where(sql<SqlBool>`not exists (select 1 from callbacks later where later.subject_id = k.subject_id and later.sequence > k.sequence)`)
    .where(unnoted('erpNotNotified', sql`k.id`))
    .orderBy('k.created_at', 'desc')
    .limit(maxOfEach)
    .execute();
  return rows.map(({ id, subject_kind, subject_id, host, attempts, sale_key, ...row }) => ({
    ...row,
    kind: 'erpNotNotified',
    subjectId: id,
    callbackId: id,
    ...(subject_kind === 'invoice' ? { oid: subject_id } : { commandId: subject_id }),
    saleKey: saleKeyOf(sale_key),
    known: text('attention.erpNotNotified.known', { host, attempts, device: row.deviceName }),
    unknown: text('attention.erpNotNotified.unknown'),
    nextStep: { action: 'resend', consequence: text('consequence.resend') },
  }));
}

interface OfNumbers {
  items: AttentionItem[];
  /** There may be older ones. */
  isCut: boolean;
}

/** What the payments and receipts under one number together mean [D80, D146, D305]. */
async function itemsOfNumbers(queries: Queries, scope: Scope, nowMs: number, mismatches: Mismatches): Promise<OfNumbers> {
  if (moneySql().hasAttention) return { items: await storedItems(queries, scope, { sinceMs: nowMs - searchedForMs }), isCut: false };
  const { isCut, ...found } = await mismatches.read(queries, scope, nowMs);
  return { items: [...(await mismatchItems(queries, scope, found)), ...(await voidedItems(queries, scope))], isCut };
}

async function itemsOfNumbersAbout(queries: Queries, scope: Scope, about: About): Promise<AttentionItem[]> {
  if (moneySql().hasAttention) return await storedItems(queries, scope, { about });
  const found = await findMismatchesOf(queries, scope, about.commandIds);
  return [...(await mismatchItems(queries, scope, found)), ...(await voidedItems(queries, scope, about))];
}

/** `sinceMs`: older mismatches are shown only in the day's close. */
async function storedItems(
  queries: Queries,
  scope: Scope,
  { about, sinceMs }: { about?: About; sinceMs?: number },
): Promise<AttentionItem[]> {
  const listed = async (kind: StoredKind): Promise<AttentionItem[]> => {
    const isMismatch = kind === 'paymentWithoutReceipt' || kind === 'receiptWithoutPayment';
    const { rows } = await sql<{ id: string; since: number | null }>`
      select c.id, (select max(back.settled_at) from commands back where back.target_id = c.id and back.state = 'done'
        and back.name = 'CancelTransaction') as since
      from commands c where c.attention is not null and c.attention like ${`%"${kind}"%`}
        and ${isAbout(sql`c.id`, about?.commandIds)} and ${ownedBy(scope, sql`c.merchant_id`)}
        and ${isMismatch && sinceMs !== undefined ? sql<SqlBool>`c.issued_at >= cast(${sinceMs} as bigint)` : sql<SqlBool>`true`}
        and ${kind === 'chargedTwice' ? sql<SqlBool>`true` : unnoted(kind, sql`c.id`)}
      order by c.issued_at desc limit ${sql.lit(maxOfEach)}`.execute(queries);
    const voidedAt = new Map(rows.map(({ id, since }) => [id, since]));
    const commands = await readListed(queries, scope, [...voidedAt.keys()]);
    return commands.map((command) => {
      const since = (kind === 'voidedAfterReceipt' ? voidedAt.get(command.id) : undefined) ?? command.settledAtMs ?? command.issuedAtMs;
      return itemOf(kind, command, since, kind === 'chargedTwice' ? 'open' : 'note');
    });
  };
  return (await Promise.all(storedKinds.map(listed))).flat();
}

/** A payment and a receipt linked by one document [D80], of which one failed. */
async function mismatchItems(queries: Queries, scope: Scope, found: Record<MismatchKind, string[]>): Promise<AttentionItem[]> {
  const items: AttentionItem[] = [];
  for (const kind of ['paymentWithoutReceipt', 'receiptWithoutPayment'] as const) {
    const commands = await readListed(queries, scope, found[kind]);
    items.push(...commands.map((command) => itemOf(kind, command, command.settledAtMs ?? command.issuedAtMs, 'note')));
  }
  return items;
}

/** Payments voided although a printed receipt contains them [D146]: the register still counts them. */
async function voidedItems(queries: Queries, scope: Scope, about?: About): Promise<AttentionItem[]> {
  const rows = await queries
    .selectFrom('receipt_payments as r')
    .select(['r.payment_id', 'r.voided_at'])
    .where('r.voided_at', 'is not', null)
    .where(isAbout(sql`r.payment_id`, about?.commandIds))
    // The offset keeps PostgreSQL from a join that reads all commands while there are few of these.
    .where(
      sql<SqlBool>`exists (select 1 from commands p where p.id = r.print_id and ${moneySql().of('p').done} and ${ownedBy(scope, sql`p.merchant_id`)} limit 1 offset 0)`,
    )
    .where(unnoted('voidedAfterReceipt', sql`r.payment_id`))
    .orderBy('r.voided_at', 'desc')
    .limit(maxOfEach)
    .execute();
  const voidedAt = new Map(rows.map(({ payment_id, voided_at }) => [payment_id, voided_at ?? 0]));
  const payments = await readListed(queries, scope, [...voidedAt.keys()]);
  return payments.map((payment) => itemOf('voidedAfterReceipt', payment, voidedAt.get(payment.id) ?? payment.issuedAtMs, 'note'));
}

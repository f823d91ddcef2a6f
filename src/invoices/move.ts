// One move of one invoice: the guarded update, the entry in its history and the callback, in one commit [D26], which other moves may share
// (move-batch.ts). After the commit, the callback worker is woken.
import { type Addressee, type OutboxDeps, outboxRow } from '../callbacks/outbox.ts';
import { expandTemplate, type TemplateValues } from '../callbacks/template.ts';
import type { Database, Queries } from '../database/database.ts';
import { lockRows } from '../database/dialect.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { findStandingPayment, type StandingPayment } from '../ledger/standing-payment.ts';
import type { UnmatchedReports } from '../ledger/unmatched.ts';
import type { InsertInvoice } from './insert-batch.ts';
import type { KnownInvoices } from './known-invoices.ts';
import { type Move, type MoveGroup, moveInvoices, type Payment, wakeFor } from './move-batch.ts';
import type { QrSecrets } from './qr-secrets.ts';
import { findInvoice, type InvoiceFacts, type InvoiceReads } from './read-batch.ts';
import { type Facts, isOverdue, judge, noSuchInvoice, stateNames, type Transition, type Trigger } from './rules.ts';
import type { Looked, StepGroup } from './step-batch.ts';

export interface InvoiceDeps {
  database: Database;
  /** Called after each commit that wrote a callback. */
  callbacks: { wake(written: readonly Addressee[]): void };
  random: Random;
  logger: Logger;
  traceparent?: OutboxDeps['traceparent'];
  qrSecrets: QrSecrets;
  /** Extra time of a scanned invoice after its limit [D22]. */
  graceMs: number;
  reads: InvoiceReads;
  insert: InsertInvoice;
  moves: MoveGroup;
  steps: StepGroup;
  known: KnownInvoices;
  unmatched: Pick<UnmatchedReports, 'keep'>;
}

/** The caller: a key or a device of a merchant, or a holder of the QR without either [D10]. */
export interface Asker {
  merchantId: string | undefined;
  /** For the invoice's history: `key <id>`, `device <id>` or `caller without a key`. */
  name: string;
  /** The caller is this device. */
  deviceId?: string | undefined;
  /** The caller is the ERP. */
  hasKey?: boolean;
}

/** The caller may complete an invoice that was paid by card: the ERP, or the device that was paid [D142]. */
export function isPayee({ payment }: Judged, { hasKey, deviceId }: Asker): boolean {
  return hasKey === true || (deviceId !== undefined && payment?.deviceIds.includes(deviceId) === true);
}

/** A state only moves forward, in three steps at most: losing more races than this means a bug. */
const maxLostRaces = 8;

type Owned = Pick<InvoiceFacts, 'oid' | 'merchantId'>;
type Movable = Pick<InvoiceFacts, 'oid' | 'merchantId' | 'callbackUri'> & Partial<Pick<Judged, 'hasPayments' | 'payment'>>;

/** With the standing card payment under its OID. */
export type Judged<Found extends InvoiceFacts = InvoiceFacts> = Found & { payment: StandingPayment | undefined };

/**
 * The move with its callback. The callback's address is final before the commit, because its values cannot change any more: receipt id and
 * device come with the payment, and are empty before it [service specification].
 */
export function moveOf(deps: OutboxDeps, invoice: Movable, transition: Transition, detail: object, payment?: Payment): Move {
  const { oid, hasPayments, payment: standing } = invoice;
  const payments = hasPayments ? (standing ? 'standing' : 'over') : undefined;
  const values = { OID: oid, State: stateNames[transition.to], ReceiptID: payment?.receiptId, DeviceID: payment?.deviceId };
  return { oid, transition, payments, detail, payment, ...callbackOf(deps, invoice, values) };
}

/**
 * A stored CallbackURI may no longer be readable: by a later version, after a restore, after a manual change. That must not prevent the
 * payment of this invoice or the expiry of others in its batch; it is logged [D122].
 */
function callbackOf(deps: OutboxDeps, { merchantId, callbackUri }: Movable, values: TemplateValues): Pick<Move, 'callback' | 'unreadable'> {
  if (callbackUri === null) return { callback: undefined };
  let url: string;
  try {
    url = expandTemplate(callbackUri, values);
  } catch (error) {
    return { callback: undefined, unreadable: { merchantId, err: error } };
  }
  return { callback: outboxRow(deps, { merchantId, url }) };
}

/** Called only after a move: most moves are speculative [D121], and every Get tries one. */
export function logUnreadable({ logger }: Pick<InvoiceDeps, 'logger'>, { oid, transition, unreadable }: Move): void {
  if (!unreadable) return;
  const facts = { oid, state: stateNames[transition.to], ...unreadable };
  logger.error(facts, 'the CallbackURI of an invoice can no longer be read, so its ERP gets no callback');
}

/** Within the caller's transaction. False: the guard did not hold, and nothing was written. Wake the callbacks after the commit. */
export async function writeMove(deps: InvoiceDeps, queries: Queries, written: Move): Promise<boolean> {
  const [isMoved = false] = await moveInvoices(deps.database.engine, queries, deps.graceMs, [written], 'statement');
  if (isMoved) logUnreadable(deps, written);
  return isMoved;
}

/** Written in the same commit; for invoices with a card payment. */
type Alongside = (queries: Queries) => Promise<void>;

/** The same in a commit of its own. False: another call was faster, or a payment of the invoice has changed. */
export async function move(
  deps: InvoiceDeps,
  invoice: Movable,
  transition: Transition,
  detail: object,
  { payment, alongside }: { payment?: Payment; alongside?: Alongside | undefined } = {},
): Promise<boolean> {
  const added = moveOf(deps, invoice, transition, detail, payment);
  if (invoice.hasPayments) return moveLocked(deps, invoice, added, alongside);
  const isMoved = await deps.moves.add(added);
  if (isMoved) logUnreadable(deps, added);
  return isMoved;
}

/** The payments may have changed since they were read. Under the invoice's lock no payment begins, so they are compared again there. */
async function moveLocked(deps: InvoiceDeps, invoice: Movable, added: Move, alongside: Alongside | undefined): Promise<boolean> {
  const isMoved = await deps.database.transaction(async (queries) => {
    await lockInvoice(deps, queries, invoice);
    const payment = await findStandingPayment(queries, invoice.merchantId, invoice.oid);
    const isSame = JSON.stringify(payment) === JSON.stringify(invoice.payment);
    const isWritten = isSame && (await writeMove(deps, queries, added));
    if (isWritten) await alongside?.(queries);
    return isWritten;
  });
  wakeFor(deps.callbacks, [added], [isMoved]);
  return isMoved;
}

/**
 * Lock order: a transaction that moves an invoice or begins a payment of it locks the invoice first, then commands; otherwise two of them
 * could deadlock. Undefined: the merchant has no such invoice.
 */
export async function lockInvoice(
  { database }: Pick<InvoiceDeps, 'database'>,
  queries: Queries,
  { oid, merchantId }: Owned,
): Promise<{ wasScanned: boolean } | undefined> {
  const invoice = queries.selectFrom('invoices').select('scanned_at').where('oid', '=', oid).where('merchant_id', '=', merchantId);
  const row = await lockRows(database.engine, invoice).executeTakeFirst();
  return row && { wasScanned: row.scanned_at !== null };
}

/** The invoice, read under its lock, with its standing payment. */
export async function readLocked(deps: InvoiceDeps, queries: Queries, key: Owned): Promise<(Judged & { wasScanned: boolean }) | undefined> {
  const locked = await lockInvoice(deps, queries, key);
  const found = locked && (await findInvoice(deps.database.engine, queries, key, deps.graceMs));
  return found && { ...locked, ...(await withPayment(queries, found)) };
}

async function withPayment<Found extends InvoiceFacts>(queries: Queries, found: Found): Promise<Judged<Found>> {
  const { hasPayments, merchantId, oid } = found;
  return { ...found, payment: hasPayments ? await findStandingPayment(queries, merchantId, oid) : undefined };
}

/**
 * Reads the invoice and runs `step`, until it returns a result; an overdue invoice is made Expired first [D23].
 * `step` returns undefined if its move lost a race: then the invoice is read again. `first`: the result of a read just before.
 */
export async function withCurrent<Found extends InvoiceFacts, Result>(
  deps: InvoiceDeps,
  find: () => Promise<Found | undefined>,
  step: (found: Judged<Found>) => Promise<Result | undefined>,
  first?: Found,
): Promise<Result> {
  for (let lost = 0; lost < maxLostRaces; lost += 1) {
    const looked = (lost === 0 ? first : undefined) ?? (await find());
    if (!looked) throw noSuchInvoice();
    const found = await withPayment(deps.database.queries, looked);
    if (isOverdue(found)) {
      await move(deps, found, transitionOf(found, 'expire'), {});
      continue;
    }
    const result = await step(found);
    if (result !== undefined) return result;
  }
  throw new Error('An invoice kept changing while it was read.');
}

/** The OID in a QR; errorCode 21 if the QR is not from this service. */
export async function oidOf(deps: InvoiceDeps, qr: string): Promise<string> {
  return deps.known.get(qr)?.oid ?? (await deps.qrSecrets.read(qr));
}

export interface WantedMove {
  oid: string;
  asker: Asker;
  transition: Transition;
  payment?: Payment;
  wantsReceipt: boolean;
}

/** Reads the invoice and makes this move if its guards hold. The callback is prepared from the cached data of the invoice. */
export async function lookAndMove(
  deps: InvoiceDeps,
  qr: string,
  { oid, asker, transition, payment, wantsReceipt }: WantedMove,
): Promise<Looked> {
  const likely = deps.known.get(qr) ?? { oid, merchantId: '', callbackUri: null };
  const likelyMove = moveOf(deps, likely, transition, { by: asker.name }, payment);
  const looked = await deps.steps.add({ merchantId: asker.merchantId, wantsReceipt, move: likelyMove, callbackUri: likely.callbackUri });
  if (looked.isMoved) logUnreadable(deps, likelyMove);
  if (looked.found) deps.known.remember(qr, looked.found);
  return looked;
}

export function transitionOf(facts: Facts, trigger: Trigger): Transition {
  const verdict = judge(facts, trigger);
  if (verdict.kind !== 'move') throw new Error(`No move by ${trigger} from ${stateNames[facts.state]}.`);
  return verdict.transition;
}

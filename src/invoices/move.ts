// One move of one invoice: the guarded update, the line in its history and the callback, in one commit [D26], which it may share with the moves
// of other invoices (move-batch.ts). Either all three are committed or none; after the commit the callbacks' worker is woken.
import { type Addressee, type OutboxDeps, outboxRow } from '../callbacks/outbox.ts';
import { expandTemplate, type TemplateValues } from '../callbacks/template.ts';
import type { Database, Queries } from '../database/database.ts';
import { lockRows } from '../database/dialect.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { findStandingPayment, type StandingPayment } from '../ledger/standing-payment.ts';
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
  /** How long a scanned invoice outlives its limit [D22]. */
  graceMs: number;
  reads: InvoiceReads;
  insert: InsertInvoice;
  moves: MoveGroup;
  steps: StepGroup;
  known: KnownInvoices;
}

/** Who asks about an invoice: a key or a device of a merchant, or a holder of the QR without either [D10]. */
export interface Asker {
  merchantId: string | undefined;
  /** For the invoice's history: `key <id>`, `device <id>` or `caller without a key`. */
  name: string;
  /** It is this device. */
  deviceId?: string | undefined;
  /** It is the ERP. */
  hasKey?: boolean;
}

/** A state only moves forward, and there are three steps at most: a call that loses more races than this has met a bug. */
const maxLostRaces = 8;

type Owned = Pick<InvoiceFacts, 'oid' | 'merchantId'>;
type Movable = Pick<InvoiceFacts, 'oid' | 'merchantId' | 'callbackUri'> & Partial<Pick<Judged, 'hasPayments' | 'payment'>>;

/** With the card payment that stands under its OID. */
export type Judged<Found extends InvoiceFacts = InvoiceFacts> = Found & { payment: StandingPayment | undefined };

/**
 * The move with the callback that tells of it. Its address is final before the commit, because nothing that it names can change any more:
 * receipt id and device come with the payment, and before it they are empty [service specification].
 */
export function moveOf(deps: OutboxDeps, invoice: Movable, transition: Transition, detail: object, payment?: Payment): Move {
  const { oid, hasPayments, payment: standing } = invoice;
  const payments = hasPayments ? (standing ? 'standing' : 'over') : undefined;
  const values = { OID: oid, State: stateNames[transition.to], ReceiptID: payment?.receiptId, DeviceID: payment?.deviceId };
  return { oid, transition, payments, detail, payment, ...callbackOf(deps, invoice, values) };
}

/**
 * What was accepted at Create may not be readable any more: by a later version, after a restore, after a manual change. Then there is nowhere to
 * send to, which must keep neither this invoice from being paid nor others from expiring with it; a line of the log says so [D122].
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

/** Only of what has moved: most moves are guesses [D121], and one that an invoice refuses is made again by every Get. */
export function tellUnreadable({ logger }: Pick<InvoiceDeps, 'logger'>, { oid, transition, unreadable }: Move): void {
  if (!unreadable) return;
  const facts = { oid, state: stateNames[transition.to], ...unreadable };
  logger.error(facts, 'the CallbackURI of an invoice can no longer be read: its ERP is not called back');
}

/** Within the caller's transaction. False if the guard did not hold: then nothing was written. Wake the callbacks after the commit. */
export async function writeMove(deps: InvoiceDeps, queries: Queries, written: Move): Promise<boolean> {
  const [isMoved = false] = await moveInvoices(deps.database.engine, queries, deps.graceMs, [written], 'statement');
  if (isMoved) tellUnreadable(deps, written);
  return isMoved;
}

/** The same in a commit that is not the caller's. False if another call was quicker, or a payment of the invoice has changed. */
export async function move(
  deps: InvoiceDeps,
  invoice: Movable,
  transition: Transition,
  detail: object,
  payment?: Payment,
): Promise<boolean> {
  const added = moveOf(deps, invoice, transition, detail, payment);
  if (invoice.hasPayments) return moveLocked(deps, invoice, added);
  const isMoved = await deps.moves.add(added);
  if (isMoved) tellUnreadable(deps, added);
  return isMoved;
}

/** What was judged may have changed since: under the invoice's lock no payment begins, so what is seen there holds until the commit. */
async function moveLocked(deps: InvoiceDeps, invoice: Movable, added: Move): Promise<boolean> {
  const isMoved = await deps.database.transaction(async (queries) => {
    await lockInvoice(deps, queries, invoice);
    const payment = await findStandingPayment(queries, invoice.merchantId, invoice.oid);
    const isSame = payment?.standing === invoice.payment?.standing && payment?.deviceId === invoice.payment?.deviceId;
    return isSame && (await writeMove(deps, queries, added));
  });
  wakeFor(deps.callbacks, [added], [isMoved]);
  return isMoved;
}

/**
 * A transaction that moves an invoice or begins a payment of it locks the invoice first, and commands after it: two that
 * lock both would lock each other out otherwise. Undefined: the merchant has no such invoice.
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

/** The invoice as it stands under its lock, with its payment. */
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
 * Reads the invoice until `step` comes to an end with it; an overdue one is made Expired first [D23].
 * `step` returns undefined when its own move lost a race: then the invoice is read again. `first`: what a look has found just now.
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

/** The OID in a QR; errorCode 21 if it is none of ours. */
export async function oidOf(deps: InvoiceDeps, qr: string): Promise<string> {
  return deps.known.get(qr)?.oid ?? (await deps.qrSecrets.read(qr));
}

export interface Wish {
  oid: string;
  asker: Asker;
  transition: Transition;
  payment?: Payment;
  wantsReceipt: boolean;
}

/** A look at the invoice, and this move of it if it holds. What its callback will be is taken from what is known of it here. */
export async function lookAndMove(deps: InvoiceDeps, qr: string, { oid, asker, transition, payment, wantsReceipt }: Wish): Promise<Looked> {
  const likely = deps.known.get(qr) ?? { oid, merchantId: '', callbackUri: null };
  const likelyMove = moveOf(deps, likely, transition, { by: asker.name }, payment);
  const looked = await deps.steps.add({ merchantId: asker.merchantId, wantsReceipt, move: likelyMove, callbackUri: likely.callbackUri });
  if (looked.isMoved) tellUnreadable(deps, likelyMove);
  if (looked.found) deps.known.remember(qr, looked.found);
  return looked;
}

export function transitionOf(facts: Facts, trigger: Trigger): Transition {
  const verdict = judge(facts, trigger);
  if (verdict.kind !== 'move') throw new Error(`No move by ${trigger} from ${stateNames[facts.state]}.`);
  return verdict.transition;
}

// QR Mode, assembled: the interface of invoices for the routes, the card payments and the cabinet.
import { writeAudit } from '../access/audit.ts';
import type { Addressee, OutboxDeps } from '../callbacks/outbox.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { createUnmatchedReports } from '../ledger/unmatched.ts';
import { type Cancelling, cancelUnpaidInvoice, endWithout, type WithdrawRequest, wasPaidAt, withdrawInvoice } from './cancel.ts';
import { holdForCharge, isChargeable } from './charge.ts';
import { type CreatedInvoice, type CreateRequest, createInvoice } from './create.ts';
import { createExpireOverdue, createExpirySweep } from './expire.ts';
import { createInvoiceInserts } from './insert-batch.ts';
import { createKnownInvoices } from './known-invoices.ts';
import { type Asker, type InvoiceDeps, lockInvoice } from './move.ts';
import { createMoveGroup, type Payment } from './move-batch.ts';
import { payInvoice } from './paid.ts';
import { createQrSecrets } from './qr-secrets.ts';
import { createInvoiceReads, type InvoiceContent } from './read-batch.ts';
import { noSuchInvoice, type State } from './rules.ts';
import { scanInvoice } from './scan.ts';
import { type InvoiceStatus, readStatus } from './status.ts';
import { createStepGroup } from './step-batch.ts';
import { onceMoreIfUnclear } from './unclear-commit.ts';

export interface InvoicesOptions {
  database: Database;
  callbacks: { wake(written: readonly Addressee[]): void };
  clock: Clock;
  random: Random;
  logger: Logger;
  traceparent?: OutboxDeps['traceparent'];
  /** TILLGATE_SCAN_GRACE_S [D22]. */
  scanGraceS: number;
  /** TILLGATE_TIME_ZONE [D150]. */
  timeZone: string;
  /** Period of the sweep for overdue invoices; each call also checks its own invoice. */
  sweepPeriodMs?: number;
}

export interface CancelledInvoice {
  oid: string;
  merchantId: string;
  reason: string;
  actor: string;
}

/** What a Get shows. */
export type ScannedInvoice = Pick<
  InvoiceContent,
  'oid' | 'state' | 'receipt' | 'validToMs' | 'pointOfSalesCode' | 'preferredDeviceId' | 'receiptId' | 'paidDeviceId'
>;

export interface Invoices {
  create(request: CreateRequest): Promise<CreatedInvoice>;
  status(qr: string, asker: Asker): Promise<InvoiceStatus>;
  scan(qr: string, asker: Asker): Promise<ScannedInvoice>;
  pay(qr: string, payment: Payment, asker: Asker): Promise<void>;
  /** For card payments, within their transaction [D19]. Wake the callbacks after the commit. */
  cancelUnpaidInvoice(queries: Queries, oid: string, merchantId: string, reason: string): Promise<Cancelling>;
  /** By its merchant in the cabinet, with its entry in the audit log. Wake the callbacks afterwards. */
  cancelInvoice(cancelled: CancelledInvoice): Promise<void>;
  endWithout: typeof endWithout;
  wasPaidAt: typeof wasPaidAt;
  /** The ERP withdraws the QR [D142]. */
  withdraw(request: WithdrawRequest): Promise<State | 'held' | undefined>;
  /** Whether the merchant has such an invoice; 22 if it can no longer be paid by card. */
  isChargeable(oid: string, merchantId: string): Promise<boolean>;
  /** Called first in the transaction that begins a card payment. */
  holdForCharge(queries: Queries, oid: string, merchantId: string): Promise<void>;
  /** Called first in a transaction that changes a command and then cancels the invoice. */
  lock(queries: Queries, oid: string, merchantId: string): Promise<void>;
  /** Makes every overdue invoice Expired now; returns their number. */
  expireOverdue(): Promise<number>;
  /** The QR text of an invoice, signed by the invoice's own secret. */
  qrOf(oid: string, qrSecretId: number): Promise<string>;
  /** errorCode 21 unless this service made the QR. */
  checkQr(qr: string): Promise<void>;
  /** Adds a secret and returns its number; earlier QRs stay valid. */
  rotateQrSecret(actor: string): Promise<number>;
  /** Creates the first QR secret if there is none, and starts the sweep. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createInvoices(options: InvoicesOptions): Invoices {
  const { database, callbacks, clock, random, logger, traceparent } = options;
  const qrSecrets = createQrSecrets({ database, clock, random });
  const graceMs = options.scanGraceS * 1000;
  const deps: InvoiceDeps = {
    ...{ database, callbacks, random, logger, traceparent, qrSecrets, graceMs },
    reads: createInvoiceReads(database, graceMs),
    insert: createInvoiceInserts(database),
    moves: createMoveGroup({ database, graceMs, callbacks }),
    steps: createStepGroup({ database, graceMs, callbacks }),
    known: createKnownInvoices(),
    unmatched: createUnmatchedReports({ database, clock, logger }),
  };
  const expireOverdue = createExpireOverdue(deps, clock);
  const sweep = createExpirySweep(deps, clock, expireOverdue, options.sweepPeriodMs ?? 5_000);

  return {
    create: (request) => createInvoice(deps, request, options.timeZone),
    status: (qr, asker) => readStatus(deps, qr, asker),
    scan: (qr, asker) => onceMoreIfUnclear((isRepeat) => scanInvoice(deps, qr, asker, isRepeat)),
    pay: (qr, payment, asker) => onceMoreIfUnclear((isRepeat) => payInvoice(deps, qr, payment, asker, isRepeat)),
    cancelUnpaidInvoice: (queries, oid, merchantId, reason) => cancelUnpaidInvoice(deps, queries, oid, merchantId, reason),
    cancelInvoice: ({ oid, merchantId, reason, actor }) =>
      database.transaction(async (queries) => {
        const cancelled = await cancelUnpaidInvoice(deps, queries, oid, merchantId, `${reason} (${actor})`);
        if (!cancelled.isCancelled) throw cancelled.refusal ?? noSuchInvoice();
        await writeAudit(queries, { actor, action: 'invoice.cancel', subject: oid, merchantId, detail: { reason } });
      }),
    endWithout,
    wasPaidAt,
    withdraw: (request) => withdrawInvoice(deps, request),
    isChargeable: (oid, merchantId) => isChargeable(deps, oid, merchantId),
    holdForCharge: (queries, oid, merchantId) => holdForCharge(deps, queries, oid, merchantId),
    lock: async (queries, oid, merchantId) => {
      await lockInvoice(deps, queries, { oid, merchantId });
    },
    expireOverdue,
    qrOf: (oid, qrSecretId) => qrSecrets.write(oid, qrSecretId),
    checkQr: async (qr) => {
      await qrSecrets.read(qr);
    },
    rotateQrSecret: (actor) =>
      database.transaction(async (queries) => {
        const id = await qrSecrets.rotate(queries);
        await writeAudit(queries, { actor, action: 'qr-secret.rotate', subject: String(id) });
        return id;
      }),
    async start() {
      await qrSecrets.load();
      sweep.start();
    },
    stop: () => sweep.stop(),
  };
}

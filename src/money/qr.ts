// QR Mode [D20 to D25, D142]: the calls of routes and cabinet about invoices, each of them one event (rules/invoices.ts) that is loaded, decided
// and committed (run.ts). Here is what is no decision about money: the text of the QR and its secrets, the shape of what was sent, the names
// of the API.
//
// If the process dies before a commit, nothing has changed. After it, state, history and callback are there [D26], and a repeat gets the same
// answer. If it is not known whether a commit succeeded, the event is run once more: it finds what was written [D59].
import { writeAudit } from '../access/audit.ts';
import type { Shared } from '../database/shared-deps.ts';
import { type CreatedInvoice, type CreateRequest, checkContent, shownTime } from '../invoices/create.ts';
import type { CancelledInvoice, Invoices, ScannedInvoice } from '../invoices/invoices.ts';
import type { Asker } from '../invoices/move.ts';
import { checkPayment } from '../invoices/paid.ts';
import { createQrSecrets } from '../invoices/qr-secrets.ts';
import type { InvoiceStatus } from '../invoices/status.ts';
import { onceMoreIfUnclear } from '../invoices/unclear-commit.ts';
import { parseUuid } from '../kernel/ids.ts';
import type { UnmatchedReports } from '../ledger/unmatched.ts';
import type { Invoice } from './case.ts';
import type { Answer, Effect, InvoiceEvent } from './event.ts';
import { createExpirySweep } from './expiry.ts';
import { replyTo } from './replies.ts';
import { invoiceStatus } from './rules/invoice-rules.ts';
import type { Caller, Run } from './run.ts';

interface Deps extends Pick<Shared, 'database' | 'clock' | 'random' | 'logger'> {
  run: Run;
  unmatched: Pick<UnmatchedReports, 'keep'>;
  /** TILLGATE_SCAN_GRACE_S [D22]. */
  scanGraceS: number;
  /** TILLGATE_TIME_ZONE [D150]. */
  timeZone: string;
  /** Each call also checks its own invoice. */
  sweepPeriodMs?: number | undefined;
}

type Served =
  | 'create'
  | 'status'
  | 'scan'
  | 'pay'
  | 'cancelInvoice'
  | 'expireOverdue'
  | 'qrOf'
  | 'checkQr'
  | 'rotateQrSecret'
  | 'start'
  | 'stop';

export type Qr = Pick<Invoices, Served>;

export function createQr(deps: Deps): Qr {
  const { database, run } = deps;
  const secrets = createQrSecrets(deps);
  const sweep = createExpirySweep(deps);

  /** Throws every answer but success. */
  async function ask(event: InvoiceEvent, caller?: Caller): Promise<Answer> {
    const { answer, effects } = await run(event, caller);
    for (const effect of effects) await keepUnmatched(effect);
    if (!answer) throw new Error(`The event ${event.type} was decided without an answer.`);
    replyTo(answer);
    return answer;
  }

  /** The QR is genuine, so the money was taken for an invoice of this service: the caller is answered when it is kept [D295]. */
  async function keepUnmatched(effect: Effect): Promise<void> {
    if (effect.type !== 'unmatched') return;
    const { oid: id, receiptId, deviceId, merchantId } = effect;
    await deps.unmatched.keep({ kind: 'invoice', id, merchantId, outcome: 'done', receiptId, deviceId });
  }

  async function create(request: CreateRequest): Promise<CreatedInvoice> {
    const { validToMs, ...content } = checkContent(request, deps.timeZone);
    const { oid, qr, secretId } = await secrets.draw();
    const { merchantId, idempotency: key } = request;
    const event = { ...content, type: 'Create', newId: oid, merchantId, key, validTo: validToMs, qrSecretId: secretId } as const;
    // Without a key, the commit itself reads back whether the row with the drawn OID is there.
    const invoice = invoiceIn(await (key ? onceMoreIfUnclear(() => ask(event)) : ask(event)));
    // The time of an earlier request under the same key is the same, because its content is.
    const validTo = validToMs === null ? null : shownTime(String(request.validTo), validToMs, deps.timeZone);
    // The same answer, signed by the invoice's own secret: a rotation in between does not change it.
    return { oid: invoice.oid, qr: invoice.oid === oid ? qr : await secrets.write(invoice.oid, invoice.qrSecretId), validTo };
  }

  async function status(qr: string, asker: Asker): Promise<InvoiceStatus> {
    const oid = await secrets.read(qr);
    const { fields } = await ask({ type: 'InvoiceStatus', oid, ...askerOf(asker) });
    return { state: fields.Status as InvoiceStatus['state'], receiptId: fields.ReceiptID ?? '' };
  }

  async function scan(qr: string, asker: Asker): Promise<ScannedInvoice> {
    const oid = await secrets.read(qr);
    return shown(invoiceIn(await onceMoreIfUnclear(() => ask({ type: 'Get', oid, ...askerOf(asker) }))));
  }

  async function pay(qr: string, named: { receiptId: string; deviceId: string }, asker: Asker): Promise<void> {
    const oid = await secrets.read(qr);
    const payment = checkPayment(named);
    await onceMoreIfUnclear(() => ask({ type: 'Payd', oid, ...payment, ...askerOf(asker) }));
  }

  async function cancelInvoice({ oid, merchantId, reason, actor }: CancelledInvoice): Promise<void> {
    const audit = { actor, action: 'invoice.cancel', subject: oid, merchantId, detail: { reason } };
    await ask({ type: 'CancelInvoice', oid: parseUuid(oid) ?? oid, merchantId, reason: `${reason} (${actor})` }, { audit });
  }

  return {
    ...{ create, status, scan, pay, cancelInvoice },
    expireOverdue: sweep.expireOverdue,
    qrOf: (oid, qrSecretId) => secrets.write(oid, qrSecretId),
    checkQr: async (qr) => void (await secrets.read(qr)),
    rotateQrSecret: (actor) =>
      database.transaction(async (queries) => {
        const id = await secrets.rotate(queries);
        await writeAudit(queries, { actor, action: 'qr-secret.rotate', subject: String(id) });
        return id;
      }),
    async start() {
      await secrets.load();
      sweep.start();
    },
    stop: () => sweep.stop(),
  };
}

const askerOf = ({ merchantId, name: by, deviceId: asDevice, hasKey }: Asker) => ({ merchantId, by, asDevice, hasKey });

function invoiceIn({ invoice }: Answer): Invoice {
  if (!invoice) throw new Error('An answer about an invoice lacks it.');
  return invoice;
}

function shown({ oid, state, receipt, validTo, pointOfSalesCode, preferredDeviceId, receiptId, paidDeviceId }: Invoice): ScannedInvoice {
  if (receipt === null) throw new Error('The receipt of an invoice was not loaded.');
  const number = invoiceStatus[state] as ScannedInvoice['state'];
  return { oid, state: number, receipt, validToMs: validTo, pointOfSalesCode, preferredDeviceId, receiptId, paidDeviceId };
}

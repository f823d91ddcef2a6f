// Create: stores the receipt with an OID and a QR [D20, D24]. One insert, in a batch with others (insert-batch.ts); with an
// Idempotency-Key, in a transaction of its own that claims the key first.
// If the process dies before the commit, nothing is stored. After it, a repeat under the same key finds the invoice.
// If the answer of the commit is lost, the invoice is read back: by the drawn OID, or with a key by claiming the key again.
// No callback is sent [D25], and no event is written: the invoice's history starts with its row.

import { claimKey } from '../access/idempotency.ts';
import { checkTemplate } from '../callbacks/template.ts';
import type { Queries } from '../database/database.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { parseMoment } from '../kernel/moments.ts';
import { type Bani, formatLei, maxAmountBani } from '../kernel/money.ts';
import { checkReceipt, type Receipt } from '../kernel/receipt.ts';
import { sumOfLines } from '../kernel/receipt-sums.ts';
import { isoTimeIn } from '../kernel/time-zones.ts';
import { insertInvoice, type NewInvoice } from './insert-batch.ts';
import type { InvoiceDeps } from './move.ts';
import { findInvoice } from './read-batch.ts';
import { checkText } from './rules.ts';
import { onceMoreIfUnclear } from './unclear-commit.ts';

export interface CreateRequest {
  merchantId: string;
  receipt: unknown;
  /** Absent: no callbacks are sent. */
  callbackUri?: string | null | undefined;
  /** As sent; absent: unlimited. */
  validTo?: string | null | undefined;
  pointOfSalesCode?: string | null | undefined;
  /** The preferred terminal. It is not checked: it may be offline or unknown [D11]. */
  deviceId?: string | null | undefined;
  idempotency?: { key: string; requestHash: string } | undefined;
}

export interface CreatedInvoice {
  oid: string;
  qr: string;
  /** As it was sent, or with the offset of the time zone if that is no date-time of OpenAPI [D150]; null: unlimited. */
  validTo: string | null;
}

export async function createInvoice(deps: InvoiceDeps, request: CreateRequest, timeZone: string): Promise<CreatedInvoice> {
  const content = checkContent(request, timeZone);
  // The time of an earlier request under the same key is the same, because its content is.
  const validTo = content.validToMs === null ? null : shownTime(String(request.validTo), content.validToMs, timeZone);
  const { oid, qr, secretId } = await deps.qrSecrets.draw();
  const invoice: NewInvoice = { ...content, oid, merchantId: request.merchantId, qrSecretId: secretId };
  const { idempotency } = request;
  const { engine, queries: outer } = deps.database;
  const look = (queries: Queries, sought: string) =>
    findInvoice(engine, queries, { oid: sought, merchantId: request.merchantId }, deps.graceMs);
  if (!idempotency) {
    const isMade = await deps.insert(invoice).catch(async (error: unknown) => {
      if (!isDatabaseDown(error)) throw error;
      const written = await look(outer, oid);
      if (!written) throw error;
      return true;
    });
    if (!isMade) throw tooLate();
    deps.known.remember(qr, invoice);
    return { oid, qr, validTo };
  }

  const claimOrFind = () =>
    deps.database.transaction(async (queries) => {
      const claim = await claimKey(queries, { merchantId: request.merchantId, ...idempotency, subjectKind: 'invoice', subjectId: oid });
      if (claim.kind === 'other') {
        throw new GatewayError('The_status_cannot_be_applied', 'This Idempotency-Key was used for another request; use a new key.');
      }
      if (claim.kind === 'same') return await look(queries, claim.subjectId);
      if (!(await insertInvoice(engine, queries, invoice))) throw tooLate();
      return undefined;
    });
  const earlier = await onceMoreIfUnclear(claimOrFind);
  // The same answer, signed by the invoice's own secret: a rotation in between does not change it.
  if (earlier) {
    const written = await deps.qrSecrets.write(earlier.oid, earlier.qrSecretId);
    return { oid: earlier.oid, qr: written, validTo };
  }
  return { oid, qr, validTo };
}

/** What generated clients accept: date, time and offset as in RFC 3339. */
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** ValidTo as the answer shows it. */
export function shownTime(given: string, atMs: number, timeZone: string): string {
  return dateTime.test(given) ? given : isoTimeIn(timeZone, atMs);
}

/** A total of zero or less cannot be paid: every terminal would refuse it after the scan. */
function payableTotal(receipt: Receipt): Bani {
  const totalBani = sumOfLines(receipt);
  if (totalBani === undefined) throw invalidRequest(`A line of Receipt.Items comes to more than ${formatLei(maxAmountBani)}.`);
  if (totalBani < 1 || totalBani > maxAmountBani) {
    throw invalidRequest(
      `The lines of Receipt.Items must add up to 0.01 at least and ${formatLei(maxAmountBani)} at most; they add up to ${formatLei(totalBani)}.`,
    );
  }
  return totalBani;
}

function tooLate(): GatewayError {
  return invalidRequest('ValidTo must not be in the past.');
}

/** What an ERP gives with a new invoice, checked. */
export function checkContent(request: CreateRequest, timeZone: string): Omit<NewInvoice, 'oid' | 'merchantId' | 'qrSecretId'> {
  const { callbackUri, validTo, pointOfSalesCode, deviceId } = request;
  if (callbackUri != null) checkTemplate(callbackUri);
  const preferredDeviceId = deviceId == null ? null : parseUuid(deviceId);
  if (preferredDeviceId === undefined) throw invalidRequest('DeviceID must be a UUID.');
  const receipt = checkReceipt(request.receipt, { needsPayments: false });
  return {
    receipt: JSON.stringify(receipt),
    amountBani: payableTotal(receipt),
    // PostgreSQL rejects a lone surrogate; the expanded address could not contain it either.
    callbackUri: callbackUri?.toWellFormed() ?? null,
    validToMs: validTo == null ? null : parseMoment('ValidTo', validTo, timeZone),
    pointOfSalesCode: pointOfSalesCode == null ? null : checkText('PointOfSalesCode', pointOfSalesCode, 64),
    preferredDeviceId,
  };
}

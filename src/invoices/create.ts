// Create: the receipt is stored and gets its OID and QR [D20, D24]. One insert, in a commit with those that come along (insert-batch.ts); with an
// Idempotency-Key a claim goes before it, in a transaction of its own.
// Dying before the commit leaves nothing; dying after it leaves an invoice that the repeat under the same key finds.
// A commit whose answer got lost is read back: by the OID that was drawn, or, under a key, by claiming that once more.
// No callback is sent [D25], and the invoice's history starts with its row: creating writes no event.

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
  /** As it was sent; absent: unlimited. */
  validTo?: string | null | undefined;
  pointOfSalesCode?: string | null | undefined;
  /** The preferred terminal. It is a wish: like one that is offline, one that is unknown is no obstacle here [D11]. */
  deviceId?: string | null | undefined;
  idempotency?: { key: string; requestHash: string } | undefined;
}

export interface CreatedInvoice {
  oid: string;
  qr: string;
  /** With the offset of the time zone [D150]; null: unlimited. */
  validTo: string | null;
}

export async function createInvoice(deps: InvoiceDeps, request: CreateRequest, timeZone: string): Promise<CreatedInvoice> {
  const content = checkContent(request, timeZone);
  const shown = (validToMs: number | null) => (validToMs === null ? null : isoTimeIn(timeZone, validToMs));
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
    return { oid, qr, validTo: shown(invoice.validToMs) };
  }

  const claimOrFind = () =>
    deps.database.transaction(async (queries) => {
      const claim = await claimKey(queries, { merchantId: request.merchantId, ...idempotency, subjectKind: 'invoice', subjectId: oid });
      if (claim.kind === 'other') {
        throw new GatewayError('The_status_cannot_be_applied', 'This Idempotency-Key was used for another request.');
      }
      if (claim.kind === 'same') return await look(queries, claim.subjectId);
      if (!(await insertInvoice(engine, queries, invoice))) throw tooLate();
      return undefined;
    });
  const earlier = await onceMoreIfUnclear(claimOrFind);
  // The same answer again, by the secret of then: a rotation in between does not change it.
  if (earlier) {
    const written = await deps.qrSecrets.write(earlier.oid, earlier.qrSecretId);
    return { oid: earlier.oid, qr: written, validTo: shown(earlier.validToMs) };
  }
  return { oid, qr, validTo: shown(invoice.validToMs) };
}

/** Nothing, or less, cannot be paid: such an invoice would be scanned, and refused on every terminal. */
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

function checkContent(request: CreateRequest, timeZone: string): Omit<NewInvoice, 'oid' | 'merchantId' | 'qrSecretId'> {
  const { callbackUri, validTo, pointOfSalesCode, deviceId } = request;
  if (callbackUri != null) checkTemplate(callbackUri);
  const preferredDeviceId = deviceId == null ? null : parseUuid(deviceId);
  if (preferredDeviceId === undefined) throw invalidRequest('DeviceID must be a UUID.');
  const receipt = checkReceipt(request.receipt, { needsPayments: false });
  return {
    receipt: JSON.stringify(receipt),
    amountBani: payableTotal(receipt),
    // Half of a surrogate pair is no text to PostgreSQL; the address that comes of it would not have it either.
    callbackUri: callbackUri?.toWellFormed() ?? null,
    validToMs: validTo == null ? null : parseMoment('ValidTo', validTo, timeZone),
    pointOfSalesCode: pointOfSalesCode == null ? null : checkText('PointOfSalesCode', pointOfSalesCode, 64),
    preferredDeviceId,
  };
}

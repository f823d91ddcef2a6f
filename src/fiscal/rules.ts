// Fiscal Mode's rules [D31]: the time-outs of a register, and when one receipt repeats another. Pure.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { operationOf, operations } from '../kernel/operations.ts';
import { hasCardPayment, type Receipt } from '../kernel/receipt.ts';
import { fieldsOf } from '../ledger/answers.ts';
import type { Command } from '../ledger/command.ts';
import type { Follower } from '../ledger/standing.ts';

export const cashReceiptTimeoutMs = 60_000;

/** The customer may have to enter a PIN before the receipt is printed. */
export function receiptTimeoutMs(receipt: Receipt): number {
  return hasCardPayment(receipt) ? operations.PrintReceipt.answerWithinMs : cashReceiptTimeoutMs;
}

/** Equal for receipts with equal content, whatever the order of their fields. */
export function contentHashOf(receipt: Receipt): string {
  return createHash('sha256').update(canonicalJson(receipt)).digest('hex');
}

/** `holder`: the payment, or the print of a register, that has the number. */
export function chargedBefore(holder: Command, followers: readonly Follower[]): GatewayError {
  const sentence =
    'A card was charged under the number of this receipt before, and the receipt does not name that payment, so the register would charge again. Nothing was sent.';
  const advice = operationOf(holder.name).isPayment ? ' Name the payment by documentNr in its element of Receipt.Payments.' : '';
  return new GatewayError('The_status_cannot_be_applied', sentence + advice, { fields: fieldsOf(holder, followers) });
}

export function ofInvoice(): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    'This Receipt.Uid is the OID of an invoice, and a charge by the register would not pay the invoice: the customer could pay by QR and by card. Nothing was sent. Charge a card by Pay with the OID as documentNr, then print; print what was paid by QR with a PaymentCode that this register counts as paid elsewhere.',
  );
}

/**
 * Of the receipt as stored now, as it was sent, and with the spelling of an earlier one: before version 0.2.3 names were hashed as the ERP
 * wrote them [D306].
 */
export function contentHashesOf(receipt: Receipt, sent: Receipt, earlier: Command): string[] {
  const earlierUid = (earlier.args['receipt'] as Receipt | undefined)?.['Uid'];
  return [receipt, sent, { ...sent, Uid: earlierUid }, { ...receipt, Uid: earlierUid }].map(contentHashOf);
}

export function checkRepeatedReceipt(earlier: Command, contentHashes: readonly (string | null)[]): void {
  if (!contentHashes.includes(earlier.contentHash)) {
    throw new GatewayError('The_status_cannot_be_applied', 'Receipt.Uid already belongs to a receipt with other content.');
  }
}

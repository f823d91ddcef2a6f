// Fiscal Mode's rules [D31]: how long a register has, and when one receipt repeats another. Pure.
import { createHash } from 'node:crypto';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { hasCardPayment, type Receipt } from '../kernel/receipt.ts';
import type { Command } from '../ledger/command.ts';

export const registerTimeoutMs = 20_000;
export const cashReceiptTimeoutMs = 60_000;
export const cardReceiptTimeoutMs = 5 * 60_000;

/** The customer may have to enter a PIN before the receipt is printed. */
export function receiptTimeoutMs(receipt: Receipt): number {
  return hasCardPayment(receipt) ? cardReceiptTimeoutMs : cashReceiptTimeoutMs;
}

/** The same for two receipts that say the same, whatever the order of their fields. */
export function contentHashOf(receipt: Receipt): string {
  return createHash('sha256').update(canonicalJson(receipt)).digest('hex');
}

export function checkRepeatedReceipt(earlier: Command, contentHash: string): void {
  if (earlier.contentHash !== contentHash) {
    throw new GatewayError('The_status_cannot_be_applied', 'Receipt.Uid already stands for a receipt with other content.');
  }
}

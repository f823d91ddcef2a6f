// Device/Invoice/Pay: prints a fiscal receipt, once per Receipt.Uid and merchant, whichever register it goes to [D31].
// The receipt is passed on whole; that the register prints strictly after the bank's yes is the device protocol's part [D32].

import type { Bani } from '../kernel/money.ts';
import { checkReceipt, type Receipt } from '../kernel/receipt.ts';
import { receiptSums } from '../kernel/receipt-sums.ts';
import type { DeviceAnswer } from '../ledger/rules.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { requireFreeNumber } from '../ledger/tried-before.ts';
import { callbackOf, type FiscalDeps, type RegisterCall } from './register.ts';
import { checkRepeatedReceipt, contentHashOf, receiptTimeoutMs } from './rules.ts';
import { findPrintOfReceipt } from './store.ts';

export interface PrintRequest extends RegisterCall {
  receipt: unknown;
}

export function printReceipt(deps: FiscalDeps, request: PrintRequest): Promise<DeviceAnswer> {
  const receipt = checkReceipt(request.receipt, { needsPayments: true });
  const receiptUid = (receipt['Uid'] as string | null | undefined) ?? undefined;
  const contentHash = contentHashOf(receipt);
  return runOnDevice(deps, 'register', request, {
    isKnownByContent: receiptUid === undefined,
    isSingle: receiptUid !== undefined,
    async findEarlier(queries) {
      if (receiptUid === undefined) return undefined;
      const earlier = await findPrintOfReceipt(queries, request.merchantId, receiptUid);
      if (earlier) checkRepeatedReceipt(earlier, contentHash);
      else await requireFreeNumber(queries, request.merchantId, { receiptUid });
      return earlier;
    },
    plan: () => ({
      name: 'PrintReceipt',
      args: { receipt },
      answerWithinMs: receiptTimeoutMs(receipt),
      receiptUid,
      contentHash,
      ...sumsOf(receipt),
      callbackUri: callbackOf(request),
    }),
  });
}

/** For the books; a receipt that comes to no amount is the register's to refuse. */
function sumsOf(receipt: Receipt): { amountBani?: Bani; cashBani?: Bani; cardBani?: Bani } {
  const sums = receiptSums(receipt);
  return sums ? { amountBani: sums.totalBani, cashBani: sums.cashBani, cardBani: sums.cardBani } : {};
}

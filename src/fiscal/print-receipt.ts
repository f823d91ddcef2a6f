// Device/Invoice/Pay: prints a fiscal receipt, once per Receipt.Uid and merchant, whichever register it goes to [D31].
// The receipt is forwarded whole, with the ledger's data of payments that were made on a terminal before [D146]. The device protocol
// requires the register to print only after the bank's approval [D32].

import type { Queries } from '../database/database.ts';
import type { Bani } from '../kernel/money.ts';
import { operationOf } from '../kernel/operations.ts';
import { checkReceipt, type Receipt, withOneName } from '../kernel/receipt.ts';
import { receiptSums } from '../kernel/receipt-sums.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { Command } from '../ledger/command.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { followersOf } from '../ledger/store.ts';
import { findHolderOfNumber } from '../ledger/tried-before.ts';
import { findPaidElements, guardPaid, judgePayment, linkPaid, type PaidElement, requirePaidFeature, withPaid } from './paid-payments.ts';
import { callbackOf, type FiscalDeps, type RegisterCall } from './register.ts';
import { chargedBefore, checkRepeatedReceipt, contentHashesOf, contentHashOf, ofInvoice, receiptTimeoutMs } from './rules.ts';
import { isInvoice } from './store.ts';

export interface PrintRequest extends RegisterCall {
  receipt: unknown;
}

export function printReceipt(deps: FiscalDeps, request: PrintRequest): Promise<DeviceAnswer> {
  const sent = checkReceipt(request.receipt, { needsPayments: true });
  const receipt = withOneName(sent);
  const receiptUid = (receipt['Uid'] as string | null | undefined) ?? undefined;
  const contentHash = contentHashOf(receipt);
  return runOnDevice(deps, 'register', request, {
    isKnownByContent: receiptUid === undefined,
    insertRejectsDuplicates: receiptUid !== undefined,
    async findEarlier() {
      const holder = await findPrintUnder(deps, request.merchantId, receiptUid);
      if (holder) checkRepeatedReceipt(holder, contentHashesOf(receipt, sent, holder));
      return holder;
    },
    async plan({ id: deviceId }) {
      const paid = await findPaidElements(deps.database.queries, request.merchantId, receipt);
      if (paid.length > 0) requirePaidFeature(deps.link.presence.of(deviceId)?.features);
      const printed = withPaid(receipt, paid);
      const sums = sumsOf(printed, paid);
      const charged = sums.cardBani ? receiptUid : undefined;
      const isPaidUnderUid = paid.some(({ payment }) => payment.documentNr === charged);
      if (charged !== undefined && !isPaidUnderUid) await requireUnpaid(deps, request.merchantId, charged);
      return {
        name: 'PrintReceipt',
        args: { receipt: printed },
        answerWithinMs: receiptTimeoutMs(receipt),
        receiptUid,
        claims: { receipt: receiptUid, document: isPaidUnderUid ? undefined : charged },
        contentHash,
        ...sums,
        callbackUri: callbackOf(request),
        printedPayments: paid.map(({ payment }) => payment.id),
        ...(paid.length > 0 && {
          guard: (queries: Queries) => guardPaid(deps.database, queries, paid),
          writeBeside: (queries: Queries, printId: string) => linkPaid(queries, paid, printId),
        }),
      };
    },
  });
}

/** The print that has the Receipt.Uid; throws if it is of another content. */
export async function findPrintOf(
  { database }: Pick<FiscalDeps, 'database'>,
  { merchantId, receiptUid, contentHash }: Pick<Command, 'merchantId' | 'receiptUid' | 'contentHash'>,
): Promise<Command | undefined> {
  const holder = await findPrintUnder({ database }, merchantId, receiptUid ?? undefined);
  if (holder) checkRepeatedReceipt(holder, [contentHash]);
  return holder;
}

async function findPrintUnder({ database }: Pick<FiscalDeps, 'database'>, merchantId: string, receiptUid: string | undefined) {
  return receiptUid === undefined ? undefined : findHolderOfNumber(database, merchantId, 'receipt', receiptUid);
}

/**
 * Refuses a card charge by the register under a number that was charged before, by a payment that the receipt does not name [D146], or under
 * the OID of an invoice, in any state [D278]. Invoices are never deleted, and an OID is not known before its invoice is stored, so no lock
 * is needed.
 */
async function requireUnpaid({ database }: FiscalDeps, merchantId: string, number: string): Promise<void> {
  const { queries } = database;
  const holder = await findHolderOfNumber(database, merchantId, 'document', number);
  if (holder) {
    // A payment that no receipt may name is refused for that reason.
    if (operationOf(holder.name).isPayment) await judgePayment(queries, holder, 'Receipt.Uid');
    throw chargedBefore(holder, await followersOf(queries, holder));
  }
  if (await isInvoice(queries, merchantId, number)) throw ofInvoice();
}

/** For the sums; the register itself refuses a receipt without a valid amount. A terminal's charge is counted with its payment. */
function sumsOf(receipt: Receipt, paid: readonly PaidElement[]): { amountBani?: Bani; cashBani?: Bani; cardBani?: Bani } {
  const sums = receiptSums(receipt);
  if (!sums) return {};
  const paidBani = paid.reduce((sum, { remainderBani }) => sum + remainderBani, 0);
  return { amountBani: sums.totalBani, cashBani: sums.cashBani, cardBani: sums.cardBani - paidBani };
}

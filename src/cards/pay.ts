// Pay: one charge per documentNr [D13].
// A repeat joins the payment in flight or gets the stored answer; the claim of the documentNr decides between two at once.
// A documentNr may be the OID of an invoice: then the payment begins under the invoice's lock, and is refused if the invoice has ended
// [D142]. Most are not, so the insert of a first try checks this at no further cost and leaves such a payment to the long path.

import { sameNumber } from '../kernel/ids.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { operationOf } from '../kernel/operations.ts';
import { type DeviceAnswer, refuseEndedNumber } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import type { Command } from '../ledger/command.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { followersOf } from '../ledger/store.ts';
import { findHolderOfNumber } from '../ledger/tried-before.ts';
import type { CardsDeps } from './cards-deps.ts';
import { chargedByRegister, checkRepeatedAmount, checkRepeatedDevice } from './rules.ts';

export interface PayRequest extends DeviceCall {
  amountBani: Bani;
  documentNr?: string | undefined;
}

export async function pay(deps: CardsDeps, request: PayRequest): Promise<DeviceAnswer> {
  const { merchantId, deviceId, amountBani } = request;
  const documentNr = request.documentNr === undefined ? undefined : sameNumber(request.documentNr);
  let hasLooked = false;
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: documentNr === undefined,
    insertRejectsDuplicates: documentNr !== undefined,
    async findEarlier(queries) {
      hasLooked = true;
      const earlier = await findPaymentOf(deps, { merchantId, documentNr: documentNr ?? null, amountBani });
      if (!earlier) return undefined;
      const followers = await followersOf(queries, earlier);
      refuseEndedNumber(earlier, followers);
      checkRepeatedDevice(earlier, followers, deviceId);
      return earlier;
    },
    async plan() {
      const oid =
        documentNr !== undefined && hasLooked && (await deps.invoices.isChargeable(documentNr, merchantId)) ? documentNr : undefined;
      return {
        name: 'Pay',
        args: { amount: baniToLei(amountBani), currency: 'MDL', ...(documentNr === undefined ? {} : { documentNr }) },
        amountBani,
        documentNr,
        claims: { document: documentNr },
        isOfNoInvoice: oid === undefined,
        hold: oid === undefined ? undefined : (queries) => deps.invoices.holdForCharge(queries, oid, merchantId),
      };
    },
  });
}

/** The payment that has the documentNr; throws if the number is that of another amount, or of a register's charge. */
export async function findPaymentOf(
  { database }: Pick<CardsDeps, 'database'>,
  { merchantId, documentNr, amountBani }: Pick<Command, 'merchantId' | 'documentNr' | 'amountBani'>,
): Promise<Command | undefined> {
  const holder = documentNr === null ? undefined : await findHolderOfNumber(database, merchantId, 'document', documentNr);
  if (!holder) return undefined;
  checkRepeatedAmount(holder, amountBani);
  if (!operationOf(holder.name).isPayment) throw chargedByRegister(holder);
  return holder;
}

// What a number stands for [D305]: one fold over the operations under it. There is no holder of a number.
import type { Case, Id, Op } from '../case.ts';
import { isAbort, isCharge, isPrint, opsUnder, paymentsOf, stands } from './facts.ts';

export interface Folded {
  /** What an answer that names only the number is about; undefined: nothing was tried under it. */
  about: Op | undefined;
  /** The others whose money the shop may have. */
  also: readonly Op[];
}

/**
 * The newest whose money the shop may have, on the terminal that the call names if there is one there; otherwise the newest that was
 * executed and returned; otherwise the newest attempt.
 */
export function fold(ops: readonly Op[], deviceId?: Id): Folded {
  const money = ops.filter(stands);
  const about =
    money.findLast((op) => op.deviceId === deviceId) ?? money.at(-1) ?? ops.findLast(({ state }) => state === 'done') ?? ops.at(-1);
  return { about, also: money.filter((op) => op !== about) };
}

export const chargesUnder = (c: Case, merchantId: Id, number: string) =>
  opsUnder(c, merchantId, number, (op) => isChargeUnder(c, op, number));

/** A register that charges another card for a receipt that names the payment under its number has not charged that number again [D146]. */
const isChargeUnder = (c: Case, op: Op, number: string) =>
  isCharge(op) && !paymentsOf(c, op).some(({ documentNr }) => documentNr === number);

/** Of a charge, or of the request to stop one, the others under its number: every answer that may be taken for "nothing is charged" names them. */
export function othersBeside(c: Case, op: Op): readonly Op[] {
  if (isAbort(op)) return paymentsOf(c, op).flatMap((payment) => othersBeside(c, payment));
  const number = op.documentNr ?? op.receiptUid;
  if (number === null || !isCharge(op)) return [];
  const equal = isChargeUnder(c, op, number)
    ? chargesUnder(c, op.merchantId, number)
    : // What registers charged beside the payment under the number of the receipt.
      opsUnder(c, op.merchantId, number, (one) => isCharge(one) && isPrint(one));
  return equal.filter((one) => stands(one) && one.id !== op.id);
}

/** D304: until the journal has answered, nothing is sent to the device about what a person decided as not executed. */
export const unconfirmedAt = (ops: readonly Op[], deviceId: Id): Op[] => ops.filter((op) => op.isUnconfirmed && op.deviceId === deviceId);

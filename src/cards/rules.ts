// POS Mode's rules [D12 to D18]: pure checks of a request against the ledger, and of a terminal's report.
import { quoted } from '../kernel/device-texts.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { type Bani, formatLei, parseAmount } from '../kernel/money.ts';
import { isLongerThan, isPlainText } from '../kernel/receipt.ts';
import { fieldsOf } from '../ledger/answers.ts';
import type { Command } from '../ledger/command.ts';
import { requireKept } from '../ledger/removed.ts';
import { committedRefundsOf, type Follower, mayBeRefunded } from '../ledger/standing.ts';
import type { JsonObject } from '../link/protocol.ts';

export const abortTimeoutMs = 60_000;
export const lastTransactionTimeoutMs = 30_000;

/** Characters that a bank's number may have. */
export const maxLength = { operationId: 128, rrn: 64 };

/** A repeat under a documentNr must have the same amount [D13]. Without State: Closed would mean that this amount is paid [D244]. */
export function checkRepeatedAmount(earlier: Command, amountBani: Bani | null): void {
  if (earlier.amountBani === amountBani) return;
  const sentence = 'This documentNr already belongs to a payment or receipt of another amount.';
  throw new GatewayError('The_status_cannot_be_applied', sentence, { fields: { OID: earlier.id } });
}

/** A repeat must also name the same terminal, unless the payment on the other one has ended. */
export function checkRepeatedDevice(earlier: Command, followers: readonly Follower[], deviceId: string): void {
  if (earlier.deviceId === deviceId) return;
  const sentence = 'This documentNr already belongs to a payment on another terminal.';
  throw new GatewayError('The_status_cannot_be_applied', sentence, { fields: fieldsOf(earlier, followers) });
}

/** A register charged, or is charging, a card for the receipt of this number [D146]. */
export function chargedByRegister(print: Command): GatewayError {
  const sentence = 'A register has charged a card for the receipt of this number, or is about to; it is not charged again.';
  return new GatewayError('The_status_cannot_be_applied', sentence, { fields: fieldsOf(print) });
}

/** A sentence if an approval is implausible, so that an operator must check it. */
export function doubtApproval(command: Command, report: JsonObject): string | undefined {
  if (!isName(report['rrn'], maxLength.rrn) || !isName(report['operationId'], maxLength.operationId))
    return 'The terminal reported an approval without a usable rrn and operationId.';
  if (parseAmount(report['amount']) !== command.amountBani) {
    return `The terminal reported an approval of ${quoted(report['amount'])} instead of ${formatLei(command.amountBani ?? 0)}.`;
  }
  return undefined;
}

/** A sentence if a refund or void reports another amount than requested, so that an operator must check it. */
export function doubtAmount(command: Command, report: JsonObject): string | undefined {
  if (report['amount'] === undefined || parseAmount(report['amount']) === command.amountBani) return undefined;
  return `The terminal reported ${quoted(report['amount'])} instead of ${formatLei(command.amountBani ?? 0)}.`;
}

export function checkRefund(payment: Command, followers: readonly Follower[], amountBani: Bani): void {
  requireKept(payment, followers);
  const fields = fieldsOf(payment, followers);
  if (payment.documentState === 'voided') throw cannotApply('The payment was voided, so there is nothing to refund.', fields);
  if (payment.bankDayClosedAtMs !== null)
    throw cannotApply(`The bank day of this payment is closed. ${howToReturn(payment, followers)}`, fields);
  const leftBani = (payment.amountBani ?? 0) - committedRefundsOf(followers);
  if (amountBani > leftBani) throw invalidRequest(`amount must not be over ${formatLei(leftBani)}, which is left of the original payment.`);
}

export function checkVoid(payment: Command, followers: readonly Follower[], amountBani: Bani): void {
  requireKept(payment, followers);
  const fields = fieldsOf(payment, followers);
  if (payment.documentState === 'voided') throw cannotApply('The payment is voided already.', fields);
  if (mayBeRefunded(followers)) throw cannotApply('A refund of it was made or is under way, so it can no longer be voided.', fields);
  if (amountBani !== payment.amountBani)
    throw invalidRequest(`amount must be that of the original payment, ${formatLei(payment.amountBani ?? 0)}.`);
}

/** How the money of an approved payment can be returned: a void would be refused after a refund, a refund after the bank day. */
export function howToReturn({ operationId, bankDayClosedAtMs }: Command, followers: readonly Follower[]): string {
  // An operator decided that it was made, without its numbers [D308].
  if (operationId === null)
    return 'Its operationId is not known, so no call can return the money: return it at the terminal or the bank, or ask Device/Operation/Status later, when the terminal may have reported it.';
  if (!mayBeRefunded(followers))
    return 'To return the money, use CancelTransaction with its whole amount and its operationId, which Device/Operation/Status returns.';
  if (bankDayClosedAtMs === null) return 'A refund of it was made or is under way; return what is left with Refund.';
  return 'A refund of it was made or is under way, so it can no longer be voided either; what is left must be returned in another way.';
}

/** `fields`: of the payment that it is about [D140]. */
export function cannotApply(sentence: string, fields: object = {}): GatewayError {
  return new GatewayError('The_status_cannot_be_applied', sentence, { fields });
}

export function noSuchOperation(): GatewayError {
  return new GatewayError('Record_not_exist', 'No payment with this operationId and documentNr is known on this terminal.');
}

export function wrongRrn(): GatewayError {
  return new GatewayError('Record_not_exist', 'The payment with this operationId has another rrn: the rrn is wrong.');
}

/** A number that CloseDoc, Refund and CancelTransaction accept, and that both databases can store and find. */
function isName(value: unknown, maxCharacters: number): boolean {
  return typeof value === 'string' && value !== '' && !isLongerThan(value, maxCharacters) && isPlainText(value);
}

// The states of an invoice [D19, D21, D22, D23, D142] and its transitions, as one table for the code, the SQL guards and the docs.
// A transition that is not in the table is refused with errorCode 22. States only move forward; three of the five are final.
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { isLongerThan, isPlainText } from '../kernel/receipt.ts';
import type { StandingPayment } from '../ledger/standing-payment.ts';

export const states = { newItem: 0, scanned: 1, paid: 2, expired: 3, cancelled: 4 } as const;
export type State = (typeof states)[keyof typeof states];

/** The names in the API and in callbacks. */
export const stateNames: Readonly<Record<State, string>> = { 0: 'NewItem', 1: 'Scanned', 2: 'Payed', 3: 'Expired', 4: 'Cancelled' };

/** `charge`: a card payment under its OID begins. */
export type Trigger = 'scan' | 'charge' | 'pay' | 'expire' | 'cancel';

/** In time: no validity limit, or it has not passed; a scanned invoice has the grace in addition [D22]. */
export type Condition = 'in-time' | 'time-is-up' | 'same-payment';

export interface Transition {
  from: State;
  trigger: Trigger;
  condition: Condition;
  /** If equal to `from`: the call is answered, nothing changes and no callback is sent. */
  to: State;
}

export const transitions: readonly Transition[] = [
  { from: states.newItem, trigger: 'scan', condition: 'in-time', to: states.scanned },
  { from: states.scanned, trigger: 'scan', condition: 'in-time', to: states.scanned },
  { from: states.newItem, trigger: 'charge', condition: 'in-time', to: states.newItem },
  { from: states.scanned, trigger: 'charge', condition: 'in-time', to: states.scanned },
  { from: states.scanned, trigger: 'pay', condition: 'in-time', to: states.paid },
  { from: states.paid, trigger: 'pay', condition: 'same-payment', to: states.paid },
  { from: states.newItem, trigger: 'expire', condition: 'time-is-up', to: states.expired },
  { from: states.scanned, trigger: 'expire', condition: 'time-is-up', to: states.expired },
  { from: states.newItem, trigger: 'cancel', condition: 'in-time', to: states.cancelled },
  { from: states.scanned, trigger: 'cancel', condition: 'in-time', to: states.cancelled },
];

const scanning = transitions.find(({ trigger }) => trigger === 'scan') as Transition;
const paying = transitions.find(({ trigger }) => trigger === 'pay') as Transition;

/** The move that a first Get or Payd makes; a repeat moves nothing. */
export function moveBy(trigger: 'scan' | 'pay'): Transition {
  return trigger === 'scan' ? scanning : paying;
}

export interface Facts {
  state: State;
  /** By the database's clock. */
  isTimeUp: boolean;
  /** The payment in this call is the one with which the invoice was paid. */
  isSamePayment?: boolean;
  /** A card payment under its OID that is open, disputed or done [D142]. */
  payment?: StandingPayment | undefined;
  /** Of a scan: the caller is the device that was paid, or the ERP by its key. Of a payment: the device that was paid took it. */
  isPayee?: boolean;
}

export type Verdict = { kind: 'move'; transition: Transition } | { kind: 'stay' } | { kind: 'refuse' };

export function judge(facts: Facts, trigger: Trigger): Verdict {
  if (isHeldBack(facts, trigger)) return { kind: 'refuse' };
  const transition = transitions.find((row) => row.from === facts.state && row.trigger === trigger && holds(row.condition, facts));
  if (!transition) return { kind: 'refuse' };
  return transition.to === transition.from ? { kind: 'stay' } : { kind: 'move', transition };
}

/** The limit has passed and the state is not Expired yet; checked before any other trigger. */
export function isOverdue(facts: Facts): boolean {
  return judge(facts, 'expire').kind === 'move';
}

/** A card payment under the OID prevents a second payment by QR, and a cancellation that would leave its money without invoice [D142]. */
function isHeldBack({ state, payment, isPayee }: Facts, trigger: Trigger): boolean {
  if (!payment) return false;
  if (trigger === 'scan') return payment.standing === 'in doubt' || !isPayee;
  // A repeat of the Payd that was accepted before the card payment was approved is answered as the first.
  if (trigger === 'pay') return (payment.standing === 'done' || payment.isAnotherDone === true) && !isPayee && state !== states.paid;
  return trigger === 'cancel';
}

function holds(condition: Condition, facts: Facts): boolean {
  if (condition === 'same-payment') return facts.isSamePayment === true;
  // With a standing payment, the invoice does not expire.
  return (facts.isTimeUp && !facts.payment) === (condition === 'time-is-up');
}

const triggerSentences: Readonly<Record<Trigger, string>> = {
  scan: 'it can no longer be fetched',
  charge: 'no card payment can be made for it any more',
  pay: 'this payment cannot be applied to it',
  expire: 'it cannot expire',
  cancel: 'it can no longer be cancelled',
};

const paymentSentences: Readonly<Record<StandingPayment['standing'], string>> = {
  'in doubt': 'A card payment for this invoice was begun, and its outcome is not known yet',
  done: 'This invoice was paid by card',
};

const adviceWithPayment: Partial<Record<Trigger, string>> = {
  cancel: 'it cannot be cancelled; stop or void the payment by CancelTransaction',
  pay: 'DeviceID must be the terminal that was paid; a payment at another device is a second one',
};

/** The error if `judge` refuses. */
export function refusal({ state, isTimeUp, payment }: Facts, trigger: Trigger): GatewayError {
  const isUnpaid = state === states.newItem || state === states.scanned;
  if (isUnpaid && payment) {
    const advice = adviceWithPayment[trigger] ?? triggerSentences[trigger];
    return new GatewayError('The_status_cannot_be_applied', `${paymentSentences[payment.standing]}; ${advice}.`);
  }
  // The sweep may not have reached an overdue invoice yet.
  const name = stateNames[isUnpaid && isTimeUp ? states.expired : state];
  return new GatewayError('The_status_cannot_be_applied', `The invoice is ${name}; ${triggerSentences[trigger]}.`);
}

/** The same message for a missing invoice and for one of another merchant [D11]. */
export function noSuchInvoice(): GatewayError {
  return new GatewayError('Record_not_exist', 'There is no invoice with this QR.');
}

const maxReceiptIdLength = 128;

/** A text from the caller that is stored unchanged. `field`: its name in the API. */
export function checkText(field: string, value: string, maxLength: number): string {
  if (value === '' || isLongerThan(value, maxLength) || !isPlainText(value)) {
    throw invalidRequest(`${field} must be a text of 1 to ${maxLength} characters without control characters.`);
  }
  return value;
}

/**
 * The money was taken before Payd, so a line break in a ReceiptID is no reason to refuse the payment: it is stored, and percent-encoded in
 * the callback. Only a text that the database cannot store is refused.
 */
export function checkReceiptId(value: string): string {
  if (value === '' || isLongerThan(value, maxReceiptIdLength) || !value.isWellFormed() || value.includes('\0')) {
    throw invalidRequest(`ReceiptID must be a text of 1 to ${maxReceiptIdLength} characters without a null character.`);
  }
  return value;
}

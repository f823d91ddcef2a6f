// The one word that a person reads about a command. Pure: it follows from the row and from what was refunded of it.
import { namesWhere } from '../../kernel/operations.ts';
import type { CommandState } from '../../ledger/command.ts';

export const shownStates = [
  'paid',
  'waiting',
  'unknown',
  'notClosed',
  'needsPerson',
  'declined',
  'busy',
  'refunded',
  'partlyRefunded',
  'voided',
  'never',
  'done',
] as const;
export type ShownState = (typeof shownStates)[number];

export const cardNames = namesWhere(({ mode }) => mode === 'POS');
export const fiscalNames = namesWhere(({ mode }) => mode === 'Fiscal');

export interface StateFacts {
  name: string;
  state: CommandState;
  outcome: string | null;
  documentState: 'open' | 'closed' | 'voided' | null;
  amountBani: number | null;
  /** Of a payment: what was refunded for certain. */
  refundedBani: number;
  /** A person must decide. */
  isInReview: boolean;
}

export function shownStateOf(facts: StateFacts): ShownState {
  if (facts.isInReview) return 'needsPerson';
  switch (facts.state) {
    case 'sent':
      return 'waiting';
    case 'unknown':
      return 'unknown';
    case 'refused':
      return 'declined';
    case 'never':
      return facts.outcome === 'busy' ? 'busy' : 'never';
    case 'disputed':
      return 'needsPerson';
    case 'done':
      return doneStateOf(facts);
  }
}

function doneStateOf({ name, documentState, amountBani, refundedBani }: StateFacts): ShownState {
  if (name === 'Refund') return 'refunded';
  if (name === 'CancelTransaction') return 'voided';
  if (name !== 'Pay') return 'done';
  if (documentState === 'voided') return 'voided';
  if (refundedBani > 0) return refundedBani >= (amountBani ?? 0) ? 'refunded' : 'partlyRefunded';
  return documentState === 'open' ? 'notClosed' : 'paid';
}

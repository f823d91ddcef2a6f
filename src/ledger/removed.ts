// Commands whose record was removed after the retention time [D66]: a tombstone is kept, so that a repeat is never executed.
import { GatewayError } from '../kernel/error-codes.ts';
import { fieldsOf } from './answers.ts';
import type { Command } from './command.ts';
import type { Follower } from './standing.ts';

/** A payment whose record was removed cannot be closed, refunded or voided here. */
export function requireKept(payment: Command, followers: readonly Follower[]): void {
  if (payment.removedAtMs !== null) {
    throw new GatewayError(
      'The_status_cannot_be_applied',
      'The payment was made long ago, and its record has been removed since; nothing more can be done about it here.',
      { fields: fieldsOf(payment, followers) },
    );
  }
}

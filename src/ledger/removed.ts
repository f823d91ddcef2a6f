// Commands whose record was removed after its time [D66]: a row is left that says that there was one, and a repeat of it never runs.
import { GatewayError } from '../kernel/error-codes.ts';
import type { Command } from './command.ts';

/** A command about a payment that is no longer kept: it cannot be closed, refunded or voided here. */
export function requireKept(payment: Command): void {
  if (payment.removedAtMs !== null) {
    throw new GatewayError(
      'The_status_cannot_be_applied',
      'The payment was made long ago, and its record has been removed since; nothing more can be done about it here.',
    );
  }
}

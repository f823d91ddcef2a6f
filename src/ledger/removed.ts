// Commands whose record was removed after its time [D66]: a row is left that says that there was one, and a repeat of it never runs.
import type { Queries } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { wasRemoved } from './answers.ts';
import { type Command, commandColumns, paymentsOnly, toCommand } from './command.ts';

/** A command about a payment that is no longer kept: it cannot be closed, refunded or voided here. */
export function requireKept(payment: Command): void {
  if (payment.removedAtMs !== null) {
    throw new GatewayError(
      'The_status_cannot_be_applied',
      'The payment was made long ago, and its record has been removed since; nothing more can be done about it here.',
    );
  }
}

interface Tried {
  merchantId: string;
  number: string;
}

const newestTry = keptStatement((queries, { merchantId, number }: Tried, by: 'documentNr' | 'receiptUid') => {
  const tries = queries.selectFrom('commands').select(commandColumns).where('merchant_id', '=', merchantId);
  const named = by === 'documentNr' ? tries.where('document_nr', '=', number).where(paymentsOnly) : tries.where('receipt_uid', '=', number);
  return named.orderBy('issued_at', 'desc').limit(1).compile();
});

/**
 * For a request that repeats nothing open or done: 22 if the newest try under its number was removed. What was refused lately may be tried again.
 * Look for the open or done one first: a removal in between is then seen here.
 */
export async function refuseRemoved(
  queries: Queries,
  merchantId: string,
  number: { documentNr: string } | { receiptUid: string },
): Promise<void> {
  const [row] =
    'documentNr' in number
      ? await newestTry(queries, { merchantId, number: number.documentNr }, 'documentNr')
      : await newestTry(queries, { merchantId, number: number.receiptUid }, 'receiptUid');
  const newest = row && toCommand(row);
  if (newest && newest.removedAtMs !== null) throw wasRemoved(newest);
}

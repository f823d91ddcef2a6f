// Attempts that keep their number (a documentNr, a Receipt.Uid): a removed one [D66] and a disputed one [D143]. Such a number is not tried
// again; an operator releases that of a dispute by resolving it as not executed. A command that an operator settled as not done may be
// tried again, but its device is asked first if it has not confirmed the decision [D129].
import type { Database, Queries } from '../database/database.ts';
import { disputed, fieldsOf, wasRemoved } from './answers.ts';
import { findClaimant, type NumberKind, releaseNumbers } from './claims.ts';
import { type Command, commandColumns, toCommand } from './command.ts';
import { lockDevice } from './device-lock.ts';
import { mayHaveHappened } from './standing.ts';
import { findCommand, followersOf, type NewCommand } from './store.ts';

/**
 * The open or done command that has the number, so that a second one must not run. Throws the answer of a second attempt if the command is
 * disputed or its record was removed. The settlement as not done releases the number.
 */
export async function findHolderOfNumber(
  { engine, transaction, queries }: Pick<Database, 'engine' | 'transaction' | 'queries'>,
  merchantId: string,
  kind: NumberKind,
  number: string,
): Promise<Command | undefined> {
  const holder = await findClaimant(queries, merchantId, kind, number);
  if (!holder) return undefined;
  if (holder.state === 'disputed') throw disputed(fieldsOf(holder));
  if (holder.removedAtMs !== null) throw wasRemoved(holder, fieldsOf(holder, await followersOf(queries, holder)));
  if (!wasNotDone(holder)) return holder;
  // A dispute of another attempt came at the moment of its settlement.
  await transaction(async (tx) => {
    await lockDevice(engine, tx, holder.deviceId);
    const now = await findCommand(tx, holder.id);
    if (now && wasNotDone(now)) await releaseNumbers(tx, now);
  });
  return undefined;
}

function wasNotDone(command: Command): boolean {
  return !mayHaveHappened(command) && command.removedAtMs === null;
}

/** Page size; a device rarely has more. */
const maxDecided = 20;

/**
 * Commands that an operator settled as not done and that the device of the new attempt has not confirmed: the same operation under the same
 * number, any operation on the same payment, a print of it, or an equal request without a number. Only those settled after `sinceMs`, oldest first.
 */
export async function unconfirmedDecisions(queries: Queries, fresh: Tried, sinceMs = 0): Promise<Command[]> {
  const { merchantId, deviceId, name, documentNr, receiptUid, targetId, requestHash, printedPayments = [] } = fresh;
  const rows = await queries
    .selectFrom('decisions')
    .innerJoin('commands', 'commands.id', 'decisions.command_id')
    .select(commandColumns.map((column) => `commands.${column}` as const))
    .where('decisions.device_id', '=', deviceId)
    .where('lost_at', 'is', null)
    .where('merchant_id', '=', merchantId)
    .where('state', '=', 'refused')
    .where('settled_at', '>', sinceMs)
    .where((where) => {
      const isNumber = where.or([where('document_nr', '=', documentNr ?? null), where('receipt_uid', '=', receiptUid ?? null)]);
      const isContent = where('request_hash', '=', requestHash ?? null);
      const isPrint = printedPayments.map((id) =>
        where('commands.id', '=', (from) => from.selectFrom('receipt_payments').select('print_id').where('payment_id', '=', id)),
      );
      return where.or([where.and([where('name', '=', name), isNumber]), where('target_id', '=', targetId ?? null), isContent, ...isPrint]);
    })
    .orderBy('settled_at')
    .limit(maxDecided)
    .execute();
  return rows.map(toCommand);
}

interface Tried extends Pick<NewCommand, 'merchantId' | 'deviceId' | 'name' | 'documentNr' | 'receiptUid' | 'targetId' | 'requestHash'> {
  printedPayments?: readonly string[] | undefined;
}

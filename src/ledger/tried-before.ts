// Attempts under a number (a documentNr, a Receipt.Uid) that keep the number: one whose record was removed [D66], and one that is disputed
// [D143]. Such a number is not tried again; an operator frees the second kind by resolving it as not executed. What an operator has settled
// as not done is tried again, but the device that it is tried on is asked first, if it has not confirmed the decision [D129].
import type { Database, Queries } from '../database/database.ts';
import { disputed, fieldsOf, wasRemoved } from './answers.ts';
import { findClaimant, type NumberKind, releaseNumbers } from './claims.ts';
import { type Command, commandColumns, toCommand } from './command.ts';
import { lockDevice } from './device-lock.ts';
import { mayHaveHappened } from './standing.ts';
import { findCommand, type NewCommand } from './store.ts';

/**
 * The command that has the number and did, or may do, what a second one must not do again: open or done. Throws what the caller of a second
 * attempt gets when it is disputed or its record was removed. One that was settled as not done gives the number back at its settlement.
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
  if (holder.removedAtMs !== null) throw wasRemoved(holder);
  if (!wasNotDone(holder)) return holder;
  // A dispute of another attempt came in the moment of its settlement.
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

/** How many one reading brings: more there are only where an operator decides without end. */
const maxDecided = 20;

/**
 * What a person settled as not done, and of which the device that is to try again has said nothing since: tries of the same under the number
 * of this command, of anything about the same payment, or an equal request without a name. Those that were settled until `sinceMs` are left out; the oldest come first.
 */
export async function unconfirmedDecisions(queries: Queries, fresh: Tried, sinceMs = 0): Promise<Command[]> {
  const { merchantId, deviceId, name, documentNr, receiptUid, targetId, requestHash } = fresh;
  if ([documentNr, receiptUid, targetId, requestHash].every((value) => value === undefined)) return [];
  const rows = await queries
    .selectFrom('decisions')
    .innerJoin('commands', 'commands.id', 'decisions.command_id')
    .select(commandColumns.map((column) => `commands.${column}` as const))
    .where('decisions.device_id', '=', deviceId)
    .where('merchant_id', '=', merchantId)
    .where('state', '=', 'refused')
    .where('settled_at', '>', sinceMs)
    .where((where) => {
      const isNumber = where.or([where('document_nr', '=', documentNr ?? null), where('receipt_uid', '=', receiptUid ?? null)]);
      const isContent = where('request_hash', '=', requestHash ?? null);
      return where.or([where.and([where('name', '=', name), isNumber]), where('target_id', '=', targetId ?? null), isContent]);
    })
    .orderBy('settled_at')
    .limit(maxDecided)
    .execute();
  return rows.map(toCommand);
}

type Tried = Pick<NewCommand, 'merchantId' | 'deviceId' | 'name' | 'documentNr' | 'receiptUid' | 'targetId' | 'requestHash'>;

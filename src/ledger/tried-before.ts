// Attempts under a number (a documentNr, a Receipt.Uid) that keep the number: one whose record was removed [D66], and one that is disputed
// [D143]. Such a number is not tried again; an operator frees the second kind by resolving it as not executed. What an operator has settled
// as not done is tried again, but the device that it is tried on is asked first, if it has not confirmed the decision [D129].
import type { Queries } from '../database/database.ts';
import { disputed, fieldsOf } from './answers.ts';
import { type Command, commandColumns, decidedOnly, disputedOnly, paymentsOnly, toCommand } from './command.ts';
import { refuseRemoved } from './removed.ts';
import type { NewCommand } from './store.ts';

/** For a request that repeats nothing open or done: throws its caller's answer if the number is not free. */
export async function requireFreeNumber(
  queries: Queries,
  merchantId: string,
  number: { documentNr: string } | { receiptUid: string },
): Promise<void> {
  const holder =
    'documentNr' in number
      ? await disputedUnder(queries, merchantId, 'document_nr', number.documentNr)
      : await disputedUnder(queries, merchantId, 'receipt_uid', number.receiptUid);
  if (holder) throw disputed(fieldsOf(holder));
  await refuseRemoved(queries, merchantId, number);
}

/** Whether an attempt of the same under its number is disputed: for an insert that is not guarded by its statement. */
export async function isNumberDisputed(queries: Queries, { merchantId, name, documentNr, receiptUid }: NewCommand): Promise<boolean> {
  if (documentNr === undefined && receiptUid === undefined) return false;
  const found =
    receiptUid === undefined
      ? await disputedUnder(queries, merchantId, 'document_nr', documentNr ?? '')
      : await disputedUnder(queries, merchantId, 'receipt_uid', receiptUid);
  return found?.name === name;
}

/** How many one reading brings: more there are only where somebody decides without end. */
const maxDecided = 20;

/**
 * What a person settled as not done, and of which the device that is to try again has said nothing since: tries of the same under the number
 * of this command, of anything about the same payment, or an equal request without a name. Those that were settled until `sinceMs` are left out; the oldest come first.
 */
export async function decidedUnheard(queries: Queries, fresh: Tried, sinceMs = 0): Promise<Command[]> {
  const { merchantId, deviceId, name, documentNr, receiptUid, targetId, requestHash } = fresh;
  if ([documentNr, receiptUid, targetId, requestHash].every((value) => value === undefined)) return [];
  const rows = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('device_id', '=', deviceId)
    .where(decidedOnly)
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

export async function disputedUnder(
  queries: Queries,
  merchantId: string,
  column: 'document_nr' | 'receipt_uid',
  number: string,
): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where(column, '=', number)
    .where(disputedOnly)
    .where('removed_at', 'is', null)
    .$if(column === 'document_nr', (query) => query.where(paymentsOnly))
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

// What was tried before under a number (a documentNr, a Receipt.Uid) and takes the number with it: a try whose record was removed [D66], and
// one that was settled as not done although its device says since that it did it [D129]. Such a number is not tried again; for the second
// kind a person may free it, who finds that nothing was done. One that a person has settled as not done is tried again; but the device that
// it is tried on is asked first, if it has not spoken since.
import type { Queries } from '../database/database.ts';
import { type Command, commandColumns, decidedOnly, paymentsOnly, toCommand } from './command.ts';
import { refuseRemoved } from './removed.ts';
import { saidSinceThatItWasDone } from './rules.ts';
import type { NewCommand } from './store.ts';

/** For a request that repeats nothing open or done: throws what its caller is told if the number is not free. */
export async function requireFreeNumber(
  queries: Queries,
  merchantId: string,
  number: { documentNr: string } | { receiptUid: string },
): Promise<void> {
  const contradicted =
    'documentNr' in number
      ? await contradictedUnder(queries, merchantId, 'document_nr', number.documentNr)
      : await contradictedUnder(queries, merchantId, 'receipt_uid', number.receiptUid);
  if (contradicted) throw saidSinceThatItWasDone(contradicted);
  await refuseRemoved(queries, merchantId, number);
}

/** Whether a try of the same under its number was done after all: for an insert that is not guarded by its statement. */
export async function isContradicted(queries: Queries, { merchantId, name, documentNr, receiptUid }: NewCommand): Promise<boolean> {
  if (documentNr === undefined && receiptUid === undefined) return false;
  const found =
    receiptUid === undefined
      ? await contradictedUnder(queries, merchantId, 'document_nr', documentNr ?? '')
      : await contradictedUnder(queries, merchantId, 'receipt_uid', receiptUid);
  return found?.name === name;
}

/** How many one reading brings: more there are only where somebody decides without end. */
const maxDecided = 20;

/**
 * What a person settled as not done, and of which the device that is to try again has said nothing since: tries of the same under the number
 * of this command, or of anything about the same payment. Those that were settled until `sinceMs` are left out; the oldest come first.
 */
export async function decidedUnheard(queries: Queries, fresh: Tried, sinceMs = 0): Promise<Command[]> {
  const { merchantId, deviceId, name, documentNr, receiptUid, targetId } = fresh;
  if (documentNr === undefined && receiptUid === undefined && targetId === undefined) return [];
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
      return where.or([where.and([where('name', '=', name), isNumber]), where('target_id', '=', targetId ?? null)]);
    })
    .orderBy('settled_at')
    .limit(maxDecided)
    .execute();
  return rows.map(toCommand);
}

type Tried = Pick<NewCommand, 'merchantId' | 'deviceId' | 'name' | 'documentNr' | 'receiptUid' | 'targetId'>;

export async function contradictedUnder(
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
    .where('contradicted_at', 'is not', null)
    .where('removed_at', 'is', null)
    .$if(column === 'document_nr', (query) => query.where(paymentsOnly))
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

// The secrets that sign a merchant's callbacks [D28, D77]. A replaced secret keeps signing beside the new one until its end, so that an ERP
// can switch at any time in between. Rotation is one transaction. If its answer is lost after the commit, the new secret was never shown:
// the ERP's current secret is still valid, and another rotation creates a new one.
import type { Queries } from '../database/database.ts';
import { type Engine, lockRows, nowMs } from '../database/dialect.ts';
import { GatewayError } from '../kernel/error-codes.ts';

interface EarlierSecret {
  secret: string;
  endsAtMs: number;
}

/** Each of them signs every callback, so their number is bounded. */
const maxEarlier = 4;

function livingSecrets(stored: string | null, atMs: number): EarlierSecret[] {
  const all = stored === null ? [] : (JSON.parse(stored) as EarlierSecret[]);
  return all.filter(({ endsAtMs }) => endsAtMs > atMs);
}

/** All secrets that sign now, the newest first. */
export function signingSecrets(row: { secret: string | null; earlier: string | null; now: number }): string[] {
  return [row.secret ?? '', ...livingSecrets(row.earlier, row.now).map(({ secret }) => secret)];
}

/** The earlier secrets stay valid for at most the overlap. Call it inside a transaction. */
export async function replaceSigningSecret(
  engine: Engine,
  queries: Queries,
  merchantId: string,
  fresh: string,
  overlapMs: number,
): Promise<{ oldSecretEndsAtMs: number }> {
  const query = queries.selectFrom('merchants').select(['callback_secret', 'earlier_callback_secrets', nowMs.as('now')]);
  const row = await lockRows(engine, query.where('id', '=', merchantId)).executeTakeFirst();
  if (!row) throw new GatewayError('Record_not_exist', 'There is no merchant by that id.');
  const oldSecretEndsAtMs = row.now + overlapMs;
  const earlier = [{ secret: row.callback_secret, endsAtMs: oldSecretEndsAtMs }, ...livingSecrets(row.earlier_callback_secrets, row.now)]
    .map(({ secret, endsAtMs }) => ({ secret, endsAtMs: Math.min(endsAtMs, oldSecretEndsAtMs) }))
    .filter(({ endsAtMs }) => endsAtMs > row.now);
  if (earlier.length > maxEarlier) {
    throw new GatewayError(
      'The_status_cannot_be_applied',
      `${maxEarlier} earlier secrets are still valid. Wait until one of them has ended, or rotate with overlapS 0, which ends them all.`,
    );
  }
  await queries
    .updateTable('merchants')
    .set({ callback_secret: fresh, earlier_callback_secrets: earlier.length === 0 ? null : JSON.stringify(earlier) })
    .where('id', '=', merchantId)
    .execute();
  return { oldSecretEndsAtMs };
}

export async function readSigningSecrets(queries: Queries, merchantId: string): Promise<string[]> {
  const row = await queries
    .selectFrom('merchants')
    .select(['callback_secret as secret', 'earlier_callback_secrets as earlier', nowMs.as('now')])
    .where('id', '=', merchantId)
    .executeTakeFirst();
  if (!row) throw new GatewayError('Record_not_exist', 'There is no merchant by that id.');
  return signingSecrets(row);
}

// What the users of one merchant may change about its users in 24 hours. Every invitation is an account under any e-mail, with new counts of
// wrong attempts (tries.ts), and every change an audit entry: without a bound, the owner of a merchant makes as many of them as they like.
// Counted in the audit log, so it holds for all gateways. Operators are not bounded.
import { sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import type { Viewer } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { lockMerchant } from '../merchants.ts';

export const maxUserChangesPerDay = 200;
const dayMs = 24 * 3_600_000;

/** Throws if the merchant has used up its changes. Call it in the transaction of the change: it locks the merchant, so the count stays valid. */
export async function requireDailyRoom(
  { engine, queries, viewer }: { engine: Database['engine']; queries: Queries; viewer: Viewer },
  merchantId: string | null | undefined,
): Promise<void> {
  if (viewer.role === 'operator' || merchantId == null) return;
  await lockMerchant(engine, queries, merchantId);
  const { count, oldest, now } = await queries
    .selectFrom('audit_log')
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('at').as('oldest'), nowMs.as('now')])
    .where('merchant_id', '=', merchantId)
    .where('action', 'in', ['user.create', 'user.change', 'user.link', 'user.delete'])
    .where('at', '>', sql<number>`now_ms() - ${sql.lit(dayMs)}`)
    .executeTakeFirstOrThrow();
  if (count < maxUserChangesPerDay) return;
  const sentence = `The merchant's users were changed ${maxUserChangesPerDay} times within 24 hours; wait, or ask an operator.`;
  throw new GatewayError('Too_Many_Requests', sentence, { retryAfterS: Math.ceil((oldest + dayMs - now) / 1000) });
}

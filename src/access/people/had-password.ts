// Whether an account without a password may have had one: the entries of its merchant's audit log say that it was created there, never got a
// password and was never moved. Only operators make links for another account, because the link opens what its owner left there.
import type { Queries } from '../../database/database.ts';

/** In the entry of a change that moved a user to another merchant, or to all or from all. */
export const movedDetail = { isMoved: true } as const;

export async function mayHaveHadPassword(queries: Queries, id: string, merchantId: string | null): Promise<boolean> {
  const entries = await queries
    .selectFrom('audit_log')
    .select(['action', 'detail'])
    .where('merchant_id', '=', merchantId ?? '')
    .where('subject', '=', id)
    .where('action', 'in', ['user.create', 'user.change', 'user.password-by-link'])
    .execute();
  const isMove = (detail: string) => (JSON.parse(detail) as Partial<typeof movedDetail>).isMoved === true;
  const isCreated = entries.some(({ action }) => action === 'user.create');
  return (
    !isCreated || entries.some(({ action, detail }) => action === 'user.password-by-link' || (action === 'user.change' && isMove(detail)))
  );
}

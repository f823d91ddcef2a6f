// One callback by its id, in the shape of the list.
import type { ListedCallback } from '../callbacks/delivery-log.ts';
import type { Queries } from '../database/database.ts';

export async function findCallback(queries: Queries, id: string): Promise<ListedCallback | undefined> {
  return await queries
    .selectFrom('callbacks')
    .select([
      'id',
      'merchant_id as merchantId',
      'subject_kind as subjectKind',
      'subject_id as subjectId',
      'sequence',
      'url',
      'state',
      'attempts',
      'next_attempt_at as nextAttemptAtMs',
      'created_at as createdAtMs',
      'ended_at as endedAtMs',
    ])
    .where('id', '=', id)
    .executeTakeFirst();
}

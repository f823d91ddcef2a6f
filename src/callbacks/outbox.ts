// Writing a callback in the transaction of the state change that it tells about [D26]:
// either both are committed or neither, so nothing is lost between commit and send.

import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Random } from '../kernel/random.ts';

export interface NewCallback {
  merchantId: string;
  subjectKind: 'invoice' | 'operation';
  /** The invoice's OID, or the operation's id. */
  subjectId: string;
  /** 1, 2, 3... within the subject; the caller counts, under the lock of its own row. */
  sequence: number;
  /** Final, from expandTemplate. */
  url: string;
}

export interface OutboxDeps {
  random: Random;
  /** The trace of the work at hand, if there is one: the attempts belong to it. */
  traceparent?: (() => string | undefined) | undefined;
}

/**
 * The first attempt is due at once; wake the worker after the commit, with the host that this returns. The row's id is the `webhook-id` of
 * every attempt.
 */
export async function enqueueCallback(queries: Queries, deps: OutboxDeps, callback: NewCallback): Promise<string> {
  const { host } = new URL(callback.url);
  await queries
    .insertInto('callbacks')
    .values({
      id: deps.random.uuid(),
      merchant_id: callback.merchantId,
      subject_kind: callback.subjectKind,
      subject_id: callback.subjectId,
      sequence: callback.sequence,
      url: callback.url,
      host,
      state: 'pending',
      attempts: 0,
      next_attempt_at: nowMs,
      leased_by: null,
      leased_until: null,
      created_at: nowMs,
      ended_at: null,
      traceparent: deps.traceparent?.() ?? null,
    })
    .execute();
  return host;
}

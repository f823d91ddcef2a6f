// The outbox: a callback is written in the transaction of its state change [D26]. Both are committed or neither, so no callback is lost
// between commit and send.

import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Random } from '../kernel/random.ts';

export interface NewCallback {
  merchantId: string;
  subjectKind: 'invoice' | 'operation';
  /** The invoice's OID, or the operation's id. */
  subjectId: string;
  /** 1, 2, 3... within the subject; the caller counts under the lock of its own row. */
  sequence: number;
  /** Final, from expandTemplate. */
  url: string;
}

export interface OutboxDeps {
  random: Random;
  /** The current trace, if there is one: the attempts belong to it. */
  traceparent?: (() => string | undefined) | undefined;
}

/** The columns of a callback besides its subject, for batched state changes that write callbacks in the same statement. */
export interface OutboxRow {
  /** The `webhook-id` of every attempt. */
  id: string;
  merchantId: string;
  url: string;
  host: string;
  traceparent: string | null;
}

/** Merchant and host of a written callback. */
export type Addressee = Pick<OutboxRow, 'merchantId' | 'host'>;

export function outboxRow(deps: OutboxDeps, { merchantId, url }: Pick<NewCallback, 'merchantId' | 'url'>): OutboxRow {
  return { id: deps.random.uuid(), merchantId, url, host: new URL(url).host, traceparent: deps.traceparent?.() ?? null };
}

/** The first attempt is due at once; wake the worker after the commit. */
export async function enqueueCallback(queries: Queries, deps: OutboxDeps, callback: NewCallback): Promise<void> {
  const { id, host, traceparent } = outboxRow(deps, callback);
  await queries
    .insertInto('callbacks')
    .values({
      id,
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
      traceparent,
    })
    .execute();
}

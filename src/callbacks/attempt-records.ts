// The records of ended attempts: many in one commit, each under its own guard, so that one without a lease does not affect the others.
// A success ends a callback even if the lease was lost meanwhile, because the ERP has it. A failure counts only for the lease holder.
import { type RawBuilder, sql } from 'kysely';
import { type BatchRow, batchRows, rowsText } from '../database/batch-rows.ts';
import type { Database } from '../database/database.ts';
import type { AttemptResult } from './sender.ts';
import type { ClaimedCallback } from './store.ts';

/** The next state of a callback whose attempt has ended. */
export type Outcome = { kind: 'delivered' } | { kind: 'retry'; delayMs: number } | { kind: 'dead' };

export interface EndedAttempt {
  callback: ClaimedCallback;
  result: AttemptResult;
  outcome: Outcome;
  /** It is unclear whether this attempt was committed before: it is recorded only if it still changes the callback. */
  isRepeat: boolean;
}

const columns = {
  id: 'text',
  attempts: 'int8',
  state: 'text',
  delay_ms: 'int8',
  status: 'int8',
  error: 'text',
  duration_ms: 'int8',
  response_head: 'text',
  is_repeat: 'int8',
} as const;

/** Atomic; at most one attempt per callback. */
export async function recordAttempts(database: Database, instanceId: string, ended: readonly EndedAttempt[]): Promise<void> {
  const { engine } = database;
  const rows = batchRows(engine, 'e', columns, rowsText(columns, ended.map(toRow)), 'short');
  if (engine === 'postgres') {
    await sql`with e as materialized (select e.* from ${rows}), settled as (${settle(sql`e`, instanceId)})
      ${insertFrom(sql`e where is_repeat = 0 or id in (select id from settled)`)}`.execute(database.queries);
    return;
  }
  await database.transaction(async (queries) => {
    const settled = new Set((await settle(rows, instanceId).execute(queries)).rows.map(({ id }) => id));
    const kept = ended.filter(({ callback, isRepeat }) => !isRepeat || settled.has(callback.id));
    if (kept.length > 0) await insertFrom(batchRows(engine, 'e', columns, rowsText(columns, kept.map(toRow)), 'short')).execute(queries);
  });
}

function settle(rows: RawBuilder<unknown>, instanceId: string): RawBuilder<{ id: string }> {
  return sql<{ id: string }>`update callbacks set "state" = e.state, "attempts" = e.attempts + 1,
      next_attempt_at = case when e.state = 'pending' then now_ms() + e.delay_ms end,
      ended_at = case when e.state = 'pending' then null else now_ms() end,
      leased_by = null, leased_until = null
    from ${rows}
    where callbacks.id = e.id and callbacks.state = 'pending'
      and (e.state = 'delivered' or (callbacks.leased_by = ${instanceId} and callbacks.attempts = e.attempts))
    returning callbacks.id`;
}

function insertFrom(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into callback_attempts (callback_id, attempt, at, status, error, duration_ms, response_head)
    select id, attempts + 1, now_ms() - duration_ms, status, error, duration_ms, response_head from ${rows}`;
}

function toRow({ callback, result, outcome, isRepeat }: EndedAttempt): BatchRow<typeof columns> {
  return {
    id: callback.id,
    attempts: callback.attempts,
    state: outcome.kind === 'retry' ? 'pending' : outcome.kind,
    delay_ms: outcome.kind === 'retry' ? outcome.delayMs : null,
    status: result.status,
    // PostgreSQL rejects a lone surrogate, which a cut text may end with.
    error: result.error?.toWellFormed() ?? null,
    duration_ms: result.durationMs,
    response_head: result.responseHead?.toWellFormed() ?? null,
    is_repeat: isRepeat ? 1 : 0,
  };
}

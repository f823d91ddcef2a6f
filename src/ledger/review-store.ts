// The SQL of the review list: commands that an operator must decide or check.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { type Command, commandColumns, openOnly, toCommand } from './command.ts';
import { isLocking } from './sweep-store.ts';

export interface ReviewEntry {
  /** If the command was settled meanwhile, nothing is changed and the result is false. */
  unless?: 'settled';
  /** The device itself has ended it as unknown: an operator may decide at once [D63]. */
  isEnded?: boolean;
  /** The contradicting answer in short, of a command whose settlement the device itself reported. */
  contradiction?: string;
}

/** Puts a command on the review list; one that is there already keeps its place but gets the newer reason. */
export async function putOnReview(
  queries: Queries,
  id: string,
  why: string,
  { unless, isEnded, contradiction }: ReviewEntry = {},
): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({
      review_since: sql<number>`coalesce(case when reviewed_at is null then review_since end, now_ms())`,
      review_reason: why,
      reviewed_at: null,
      ...(isEnded ? { ended_unknown_at: sql<number>`coalesce(ended_unknown_at, now_ms())` } : {}),
      // Undefined: not changed.
      contradiction,
    })
    .where('id', '=', id)
    .$if(unless === 'settled', (query) => query.where(openOnly))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

const reviewOverdue = keptStatement((queries, { graceMs }: { graceMs: number }) =>
  queries
    .updateTable('commands')
    .set({ review_since: nowMs, review_reason: 'The device has not reported the outcome since its deadline passed.' })
    .where(isLocking)
    .where(openOnly)
    .where('review_since', 'is', null)
    .where('answer_by', '<', sql<number>`now_ms() - cast(${graceMs} as bigint)`)
    .returning('id')
    .compile(),
);

/** Open commands past answerBy by `graceMs` that are not on the list yet. */
export async function putOverdueOnReview(queries: Queries, graceMs: number): Promise<string[]> {
  const rows = await reviewOverdue(queries, { graceMs });
  return rows.map((row) => row.id);
}

export async function listReview(queries: Queries, limit: number, merchantId?: string): Promise<Command[]> {
  const rows = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('review_since', 'is not', null)
    .where('reviewed_at', 'is', null)
    .$if(merchantId !== undefined, (query) => query.where('merchant_id', '=', merchantId ?? ''))
    .orderBy('review_since')
    .limit(limit)
    .execute();
  return rows.map(toCommand);
}

/**
 * An operator has seen the contradiction, and the settlement stays. Undefined: the command is not on the list, not settled, or its device
 * has reported something else since it was read.
 */
export async function closeReview(queries: Queries, { id, contradiction }: Command): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({ reviewed_at: nowMs })
    .where('id', '=', id)
    .where('settled_at', 'is not', null)
    .where('state', '!=', 'disputed')
    .where('review_since', 'is not', null)
    .where('reviewed_at', 'is', null)
    .where(sql<SqlBool>`coalesce(contradiction, '') = ${contradiction ?? ''}`)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

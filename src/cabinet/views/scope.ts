// The scope of a view: the rows of one merchant, or of all. A required argument of every query, so that none can omit it.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

export interface Scope {
  /** Undefined: all merchants. */
  readonly merchantId: string | undefined;
}

/**
 * For queries that find their few rows by another column than the merchant. Not a plain comparison: without statistics a planner would scan
 * all rows of the merchant in the requested order.
 */
export function ownedBy({ merchantId }: Scope, column: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return merchantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`${column} || '' = ${merchantId}`;
}

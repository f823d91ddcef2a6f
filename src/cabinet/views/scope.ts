// Whose rows a view may show: one merchant's, or all. The first argument of every query, so that none can forget it.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

export interface Scope {
  /** Undefined: of all merchants. */
  readonly merchantId: string | undefined;
}

/**
 * For queries that find their few rows by something else than the merchant. Not as a plain comparison: an engine that knows nothing of the
 * figures would rather walk all of a merchant's rows in the order that is asked for.
 */
export function ownedBy({ merchantId }: Scope, column: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return merchantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`${column} || '' = ${merchantId}`;
}

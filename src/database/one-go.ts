// Atomic groups of statements on SQLite: in one round trip to the worker thread, or one by one inside the caller's transaction.
import type { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

/** The database, or an open transaction, which has no `inOneGo`. */
export type Home = Pick<Database, 'engine' | 'queries'> & Partial<Pick<Database, 'inOneGo'>>;

/** The rows of each statement. */
export async function runInOneGo({ queries, inOneGo }: Home, statements: readonly CompiledQuery[]): Promise<Record<string, unknown>[][]> {
  if (inOneGo) return inOneGo(statements);
  const results: Record<string, unknown>[][] = [];
  for (const statement of statements) results.push((await queries.executeQuery<Record<string, unknown>>(statement)).rows);
  return results;
}

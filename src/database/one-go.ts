// Statements on SQLite that belong together: in one trip to its thread, or one by one inside the caller's transaction.
import type { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

/** The database, or an open transaction of it, which has no `inOneGo`. */
export type Home = Pick<Database, 'engine' | 'queries' | 'inOneGo'>;

/** What each of them found. */
export async function runInOneGo({ queries, inOneGo }: Home, statements: readonly CompiledQuery[]): Promise<Record<string, unknown>[][]> {
  if (inOneGo) return inOneGo(statements);
  const results: Record<string, unknown>[][] = [];
  for (const statement of statements) results.push((await queries.executeQuery<Record<string, unknown>>(statement)).rows);
  return results;
}

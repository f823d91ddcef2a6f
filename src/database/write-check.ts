// Whether the database can be written, not only read: with a full disk or on a standby, reads still work. One row is overwritten in its own
// commit. Concurrent callers share one check.
import { sql } from 'kysely';
import type { Queries } from './database.ts';
import { keptStatement } from './kept-statement.ts';

const writeFact = keptStatement((queries, { name }: { name: string }) =>
  queries
    .insertInto('database_facts')
    .values({ name, value: sql<string>`cast(now_ms() as text)` })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: sql<string>`cast(now_ms() as text)` }))
    .compile(),
);

/** `further`: what else must hold, in the same check. */
export function createWriteCheck(queries: Queries, further: () => Promise<void> = async () => {}): () => Promise<void> {
  let checking: Promise<void> | undefined;
  return () => {
    checking ??= writeFact(queries, { name: 'last write check' })
      .then(further)
      .finally(() => {
        checking = undefined;
      });
    return checking;
  };
}

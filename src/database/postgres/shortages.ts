// The server refuses statements for lack of space, memory or connections (SQLSTATE class 53): they are counted. On a full disk the row of the
// write check may still fit into its page while every insert fails, so from such a failure on a table must be able to grow as well: a small
// one, rolled back, until that succeeds again.
import { sql } from 'kysely';
import type { Queries } from '../database.ts';

const diskFullCode = '53100';

export interface Shortages {
  /** Of a failed statement or connection, as the server reported it. */
  note(error: unknown): void;
  /** Since the start. */
  count(): number;
  /** Throws as long as the disk is full; without a failure before, it does nothing. */
  check(queries: Queries): Promise<void>;
}

export function createShortages(): Shortages {
  let count = 0;
  let isFull = false;
  return {
    note(error) {
      const { code } = error as { code?: unknown };
      if (typeof code !== 'string' || !code.startsWith('53')) return;
      count += 1;
      if (code === diskFullCode) isFull = true;
    },
    count: () => count,
    async check(queries) {
      if (!isFull) return;
      isFull = false;
      // A new failure, its own too, sets it again.
      await grow(queries);
    },
  };
}

const rolledBack = new Error('rolled back');

/** Twenty pages. */
async function grow(queries: Queries): Promise<void> {
  const growing = queries.transaction().execute(async (tx) => {
    await sql`create table tillgate_space_check (filler text)`.execute(tx);
    await sql`insert into tillgate_space_check select repeat(md5(n::text), 50) from generate_series(1, 100) n`.execute(tx);
    throw rolledBack;
  });
  await growing.catch((error: unknown) => {
    if (error !== rolledBack) throw error;
  });
}

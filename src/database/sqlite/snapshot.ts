// Reads of one state in several rounds, without holding the database: no other statement comes between those of a round, and this connection
// makes every change, so a counter that stands still between the rounds shows that nothing was changed. Otherwise they begin again; after a
// few times in a transaction, which all others wait for. A reader beside a gateway does not see the gateway's changes in that counter: it reads
// in a transaction at once, which delays no writer.
import { type CompiledQuery, CompiledQuery as query } from 'kysely';
import type { Database, Queries } from '../database.ts';

const tries = 3;
const counter = query.raw('select total_changes() as "changes"');

class ChangedMeanwhile extends Error {}

interface Deps {
  isReader: boolean;
  inOneGo: Database['inOneGo'];
  transaction<Result>(work: (tx: Queries) => Promise<Result>): Promise<Result>;
}

export function createSnapshot({ isReader, inOneGo, transaction }: Deps): Database['snapshot'] {
  function unchanged() {
    let seen: unknown;
    return async (statements: readonly CompiledQuery[]) => {
      const [counted, ...results] = await inOneGo([counter, ...statements]);
      const changes = counted?.[0]?.['changes'];
      seen ??= changes;
      if (changes !== seen) throw new ChangedMeanwhile();
      return results;
    };
  }

  return async (work) => {
    for (let at = isReader ? tries : 0; at < tries; at += 1) {
      try {
        return await work(unchanged());
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile)) throw error;
      }
    }
    return await transaction((tx) =>
      work((statements) => Promise.all(statements.map(async (one) => (await tx.executeQuery<Record<string, unknown>>(one)).rows))),
    );
  };
}

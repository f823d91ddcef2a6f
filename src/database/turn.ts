// A turn is a lease on work that one instance at a time should do. It saves work but guarantees nothing: a holder that was paused past the
// end continues beside the next one for a moment, so the work must be safe to do twice.
// The turn of a dead instance expires; an instance that has finished keeps its turn until the work is due again.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';

export interface Turn {
  work: string;
  instanceId: string;
}

const inMs = (ms: number) => sql<number>`now_ms() + cast(${ms} as bigint)`;

/** False while an instance, perhaps this one, holds the turn. */
export async function takeTurn(queries: Queries, { work, instanceId }: Turn, forMs: number): Promise<boolean> {
  const taken = await queries
    .insertInto('turns')
    .values({ work, instance_id: instanceId, held_until: inMs(forMs) })
    .onConflict((conflict) =>
      conflict
        .column('work')
        .doUpdateSet({ instance_id: instanceId, held_until: inMs(forMs) })
        .where('turns.held_until', '<=', inMs(0)),
    )
    .returning('work')
    .executeTakeFirst();
  return taken !== undefined;
}

/** Extends a turn that the instance holds to `forMs` from now; false: another instance has taken it. */
export async function keepTurn(queries: Queries, { work, instanceId }: Turn, forMs: number): Promise<boolean> {
  const kept = await queries
    .updateTable('turns')
    .set({ held_until: inMs(forMs) })
    .where('work', '=', work)
    .where('instance_id', '=', instanceId)
    .returning('work')
    .executeTakeFirst();
  return kept !== undefined;
}

/** Whether no instance holds the turn, and none has for `forMs`. Writes nothing. */
export async function isTurnFree(queries: Queries, work: string, forMs: number): Promise<boolean> {
  const held = await queries
    .selectFrom('turns')
    .select('work')
    .where('work', '=', work)
    .where('held_until', '>', sql<number>`now_ms() - cast(${forMs} as bigint)`)
    .executeTakeFirst();
  return held === undefined;
}

/** Releases the turn. */
export async function endTurn(queries: Queries, turn: Turn): Promise<void> {
  await keepTurn(queries, turn, 0);
}

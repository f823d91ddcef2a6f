// Whose turn it is to do work that one instance at a time should do. A turn is economy, never safety: a holder that was paused
// past its end goes on beside the next one for a moment, so the work itself must bear being done twice.
// One that died leaves a turn that runs out; one that is done keeps it until the work is due again.
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

/** Holds a turn of one's own from now on for so long; false when another has taken it. */
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

/** Whether no instance holds the turn, and none has for `forMs`: a look that writes nothing. */
export async function isTurnFree(queries: Queries, work: string, forMs: number): Promise<boolean> {
  const held = await queries
    .selectFrom('turns')
    .select('work')
    .where('work', '=', work)
    .where('held_until', '>', sql<number>`now_ms() - cast(${forMs} as bigint)`)
    .executeTakeFirst();
  return held === undefined;
}

/** Lets the next one take it at once. */
export async function endTurn(queries: Queries, turn: Turn): Promise<void> {
  await keepTurn(queries, turn, 0);
}

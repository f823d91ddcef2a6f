// Steps that may repeat without end: an ERP keeps asking, a device keeps repeating its answer. The timeline lists the first twenty of a
// command; all are counted, with the time of the last. So a command has few rows and a short page, however many gateways receive such
// steps. They are written in the background, like every step: if the process dies or the database is down, some are lost; no decision
// depends on them.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { CommandEvent } from './command-event.ts';

export const maxStepsOfAKind = 20;
const maxWaiting = 1_000;

interface Waiting {
  count: number;
  lastAtMs: number;
  /** The first `maxStepsOfAKind`. */
  events: CommandEvent[];
}

export class CountedSteps {
  #waiting = new Map<string, Waiting>();

  /** False: too many counts wait to be written, and this step is not counted. */
  add(event: CommandEvent): boolean {
    const name = `${event.commandId} ${event.step}`;
    const known = this.#waiting.get(name);
    if (!known && this.#waiting.size >= maxWaiting) return false;
    const { count, lastAtMs, events } = known ?? { count: 0, lastAtMs: 0, events: [] };
    if (events.length < maxStepsOfAKind) events.push(event);
    this.#waiting.set(name, { count: count + 1, lastAtMs: Math.max(lastAtMs, event.atMs), events });
    return true;
  }

  /** Writes the counts; returns the steps that the timeline still lists one by one. */
  async count(queries: Queries): Promise<CommandEvent[]> {
    const batch = this.#waiting;
    this.#waiting = new Map();
    const listed: CommandEvent[] = [];
    for (const { count, lastAtMs, events } of batch.values()) {
      const [first] = events;
      if (!first) continue;
      const total = await addToCount(queries, first, count, lastAtMs);
      const before = total - count;
      listed.push(...events.slice(0, Math.max(0, maxStepsOfAKind - before)));
    }
    return listed;
  }
}

async function addToCount(queries: Queries, { commandId, step }: CommandEvent, count: number, lastAtMs: number): Promise<number> {
  const row = await queries
    .insertInto('command_step_counts')
    .values({ command_id: commandId, step, count, last_at: lastAtMs })
    .onConflict((conflict) =>
      conflict.columns(['command_id', 'step']).doUpdateSet({
        count: sql<number>`command_step_counts.count + excluded.count`,
        last_at: sql<number>`excluded.last_at`,
      }),
    )
    .returning('count')
    .executeTakeFirstOrThrow();
  return row.count;
}

/** For each step above `maxStepsOfAKind`: how many more there were, and when the last one happened. */
export async function listFurther(queries: Queries, commandId: string): Promise<CommandEvent[]> {
  const rows = await queries
    .selectFrom('command_step_counts')
    .select(['step', 'count', 'last_at'])
    .where('command_id', '=', commandId)
    .where('count', '>', maxStepsOfAKind)
    .execute();
  return rows.map((row) => ({ commandId, atMs: row.last_at, step: row.step, further: row.count - maxStepsOfAKind }));
}

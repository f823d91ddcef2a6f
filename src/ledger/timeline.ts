// The steps of each command, for the sale's timeline. Kept beside the money path: a step that could not be written
// never delays or fails a command, so steps are gathered and written in small batches. Nothing is decided by them.
import type { Database, Queries } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { CountedSteps, listFurther } from './counted-steps.ts';

const flushAfterMs = 50;
const maxWaiting = 10_000;
/** A statement takes only so many parameters. */
const maxEventsPerStatement = 500;

export interface CommandEvent {
  commandId: string;
  atMs: number;
  step: string;
  channel?: string | undefined;
  detail?: string | undefined;
  /** So many more of this step that are not told one by one, the last of them at `atMs`. */
  further?: number | undefined;
}

export interface Timeline {
  /** `atMs`: now, unless it is given. */
  add(event: Omit<CommandEvent, 'atMs'> & { atMs?: number }): void;
  /** Of a step that may come without end: the first are kept, the rest counted. */
  addCounted(event: Omit<CommandEvent, 'atMs'> & { atMs?: number }): void;
  /** Writes what is waiting; call it at the end. */
  flush(): Promise<void>;
}

export function createTimeline(deps: { database: Database; clock: Clock; logger: Logger }): Timeline {
  const { database, clock, logger } = deps;
  const counted = new CountedSteps();
  let waiting: CommandEvent[] = [];
  let timer: Cancel | undefined;

  async function flush(): Promise<void> {
    timer?.();
    timer = undefined;
    const batch = waiting;
    waiting = [];
    try {
      await addEvents(database.queries, batch);
      await addEvents(database.queries, await counted.count(database.queries));
    } catch (error) {
      logger.warn({ err: error, lost: batch.length }, 'timeline steps could not be written');
    }
  }

  return {
    add(event) {
      if (waiting.length >= maxWaiting) return;
      waiting.push({ ...event, atMs: event.atMs ?? clock.now() });
      timer ??= clock.after(flushAfterMs, () => void flush());
    },
    addCounted(event) {
      if (counted.add({ ...event, atMs: event.atMs ?? clock.now() })) timer ??= clock.after(flushAfterMs, () => void flush());
    },
    flush,
  };
}

export async function addEvents(queries: Queries, events: CommandEvent[]): Promise<void> {
  for (let start = 0; start < events.length; start += maxEventsPerStatement) {
    const rows = events.slice(start, start + maxEventsPerStatement).map((event) => ({
      command_id: event.commandId,
      at: event.atMs,
      step: event.step,
      channel: event.channel ?? null,
      detail: event.detail ?? null,
    }));
    await queries.insertInto('command_events').values(rows).execute();
  }
}

export async function listEvents(queries: Queries, commandId: string): Promise<CommandEvent[]> {
  const rows = await queries
    .selectFrom('command_events')
    .select(['at', 'step', 'channel', 'detail'])
    .where('command_id', '=', commandId)
    .orderBy('id')
    .execute();
  const told = rows.map((row) => ({
    commandId,
    atMs: row.at,
    step: row.step,
    channel: row.channel ?? undefined,
    detail: row.detail ?? undefined,
  }));
  return [...told, ...(await listFurther(queries, commandId))];
}

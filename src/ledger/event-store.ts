// The SQL of a command's steps: written by the timeline, read for the story of a sale. Nothing is decided by them.
import type { Queries } from '../database/database.ts';

export interface CommandEvent {
  commandId: string;
  atMs: number;
  step: string;
  channel?: string | undefined;
  detail?: string | undefined;
}

/** A statement takes only so many parameters. */
const maxEventsPerStatement = 500;

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
  return rows.map((row) => ({
    commandId,
    atMs: row.at,
    step: row.step,
    channel: row.channel ?? undefined,
    detail: row.detail ?? undefined,
  }));
}

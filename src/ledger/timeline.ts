// The steps of each command, for the sale's timeline. They are gathered and written in small batches outside the money path: a step that
// cannot be written never delays or fails a command. No decision depends on them. A step that is the only sign of something that a person
// has to do is written in the transaction that causes it.
import { sql } from 'kysely';
import { listed, type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { forEachEngine } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import { boundReport, maxListedReportLength } from '../kernel/device-texts.ts';
import type { Logger } from '../kernel/logger.ts';
import type { JsonObject } from '../link/protocol.ts';
import type { CommandEvent } from './command-event.ts';
import { CountedSteps, listFurther } from './counted-steps.ts';

const flushAfterMs = 50;
const maxWaiting = 10_000;
const maxCharactersPerStatement = 1024 * 1024;
const maxEventsPerStatement = 500;

export interface Timeline {
  /** `atMs` defaults to now. */
  add(event: Omit<CommandEvent, 'atMs'> & { atMs?: number }): void;
  /** In the caller's transaction. */
  addWithin(queries: Queries, event: Omit<CommandEvent, 'atMs'>): Promise<void>;
  /** For a step that may repeat without end: the first ones are listed, the others are only counted. */
  addCounted(event: Omit<CommandEvent, 'atMs'> & { atMs?: number }): void;
  /** Writes the waiting steps; call it at shutdown. */
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
      await addEvents(database, batch);
      await addEvents(database, await counted.count(database.queries));
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
    addWithin: (queries, event) => addEvents({ engine: database.engine, queries }, [{ ...event, atMs: clock.now() }]),
    addCounted(event) {
      if (counted.add({ ...event, atMs: event.atMs ?? clock.now() })) timer ??= clock.after(flushAfterMs, () => void flush());
    },
    flush,
  };
}

/** The report of a device in the detail of a step: a command may have dozens of steps. */
export function inStep(report: JsonObject | undefined): JsonObject | undefined {
  return report && boundReport(report, maxListedReportLength);
}

const columns = { command_id: 'text', at: 'int8', step: 'text', channel: 'text', detail: 'text' } as const;
const names = listed(columns);
const insertion = forEachEngine((engine) =>
  keptStatement((queries, { rows }: { rows: RowsText<typeof columns> }) =>
    sql`insert into "command_events" (${names}) select ${names} from ${rowsAs(engine, 'new', columns, rows)}`.compile(queries),
  ),
);

/** Splits events by the limits of one statement. */
function partsOf(events: readonly CommandEvent[]): CommandEvent[][] {
  const parts: CommandEvent[][] = [];
  let room = 0;
  for (const event of events) {
    const length = event.detail?.length ?? 0;
    const last = parts.at(-1);
    if (last && last.length < maxEventsPerStatement && length <= room) {
      last.push(event);
      room -= length;
    } else {
      parts.push([event]);
      room = maxCharactersPerStatement - length;
    }
  }
  return parts;
}

export async function addEvents({ engine, queries }: Pick<Database, 'engine' | 'queries'>, events: CommandEvent[]): Promise<void> {
  for (const part of partsOf(events)) {
    const rows = part.map((event) => ({
      command_id: event.commandId,
      at: event.atMs,
      step: event.step,
      channel: event.channel ?? null,
      // PostgreSQL would reject the whole batch for one text with a lone surrogate.
      detail: event.detail?.toWellFormed() ?? null,
    }));
    await insertion[engine](queries, { rows: rowsText(columns, rows) });
  }
}

export async function listEvents(queries: Queries, commandId: string): Promise<CommandEvent[]> {
  const rows = await queries
    .selectFrom('command_events')
    .select(['at', 'step', 'channel', 'detail'])
    .where('command_id', '=', commandId)
    .orderBy('id')
    .execute();
  const events = rows.map((row) => ({
    commandId,
    atMs: row.at,
    step: row.step,
    channel: row.channel ?? undefined,
    detail: row.detail ?? undefined,
  }));
  return [...events, ...(await listFurther(queries, commandId))];
}

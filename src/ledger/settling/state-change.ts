// A command enters another state: the guarded update with all that its slice and the caller write alongside, in one transaction.
//
// If the process dies before the commit, nothing has changed; between the commit and the wake-up, each waiting call reads the row by itself.
// A change whose update finds the command in another state writes nothing at all.
import type { Database, Queries } from '../../database/database.ts';
import { type Command, type CommandState, isOpen } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import type { Timeline } from '../timeline.ts';

/** Topic on which every instance learns that a command has changed. */
export const commandsTopic = 'commands';

/** What else is written in the same transaction. */
export type Alongside = (queries: Queries, command: Command) => Promise<void>;

export interface StateChange {
  command: Command;
  to: Exclude<CommandState, 'sent'>;
  /** Undefined: the command was in another state than this update expects. */
  update(queries: Queries): Promise<Command | undefined>;
  /** The same with other commands in one commit: taken when nothing else is written. */
  together?: (() => Promise<Command | undefined>) | undefined;
  alongside?: Alongside | undefined;
  /** A dispute is resolved: what happened meanwhile to the command takes effect, or the effects of an earlier `done` are undone. */
  resolvedAs?: 'executed' | 'reversed' | undefined;
}

/** The command as it stands afterwards; undefined when nothing was changed. */
export type ChangeState = (change: StateChange) => Promise<Command | undefined>;

interface Deps {
  database: Database;
  timeline: Timeline;
  kinds: CommandKinds;
  onSettled(commandId: string): void;
}

export function createStateChanges({ database, timeline, kinds, onSettled }: Deps): ChangeState {
  async function write({ command, to, update, together, alongside, resolvedAs }: StateChange): Promise<Command | undefined> {
    const kind = kinds[command.name];
    const onState = kind?.onState?.[to];
    const onExecuted = resolvedAs === 'executed' ? kind?.onExecuted : undefined;
    if (!onState && !alongside && together) return together();
    let remains: string | undefined;
    const written = await database.transaction(async (queries) => {
      if (onState || onExecuted) await kind?.hold?.(queries, command);
      const changed = await update(queries);
      if (!changed) return undefined;
      remains = resolvedAs === 'reversed' ? await kind?.onReversed?.(queries, changed) : undefined;
      await onExecuted?.(queries, changed);
      await onState?.(queries, changed);
      await alongside?.(queries, changed);
      return changed;
    });
    if (written && remains) timeline.add({ commandId: command.id, step: 'not undone', detail: remains });
    return written;
  }

  return async (change) => {
    const changed = await write(change);
    if (!changed) return undefined;
    const { id, state, settledBy } = changed;
    // An `accepted` that came meanwhile contradicts a `never`, and must not be forgotten with it.
    if (!isOpen(changed) && state !== 'never') onSettled(id);
    const step = state === 'unknown' ? 'unknown' : 'settled';
    // Of a dispute, the timeline lists the contradiction.
    if (state !== 'disputed') timeline.add({ commandId: id, step, detail: settledBy ? `${state} by ${settledBy}` : undefined });
    database.hint(commandsTopic, id);
    kinds[changed.name]?.afterState?.(changed);
    return changed;
  };
}

// A command enters another state: the guarded update and the rows that its slice and the caller write alongside, in one transaction.
//
// If the process dies before the commit, nothing has changed; between the commit and the wake-up, waiting calls find the change by polling.
// If the update finds the command in another state, nothing is written.
import type { Database, Queries } from '../../database/database.ts';
import { type Command, type CommandState, isOpen } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import type { Timeline } from '../timeline.ts';

/** Wake-up topic for changed commands, to every instance. */
export const commandsTopic = 'commands';

/** Further writes in the same transaction. */
export type Alongside = (queries: Queries, command: Command) => Promise<void>;

export interface StateChange {
  command: Command;
  to: Exclude<CommandState, 'sent'>;
  /** Undefined: the command is not in the state that this update expects. */
  update(queries: Queries): Promise<Command | undefined>;
  /** The same update in a batch with other commands; used if nothing else is written. */
  together?: (() => Promise<Command | undefined>) | undefined;
  alongside?: Alongside | undefined;
  /** A dispute is resolved: operations on the command during the dispute take effect, or the effects of an earlier `done`, or of the dispute, are undone. */
  resolvedAs?: 'executed' | 'reversed' | undefined;
}

/** The command after the change; undefined: nothing was changed. */
export type ChangeState = (change: StateChange) => Promise<Command | undefined>;

interface Deps {
  database: Database;
  timeline: Timeline;
  kinds: CommandKinds;
  onSettled(commandId: string): void;
}

export function createStateChanges({ database, timeline, kinds, onSettled }: Deps): ChangeState {
  async function write({ command, to, update, together, alongside, resolvedAs }: StateChange): Promise<Command | undefined> {
    const kind = kinds[command.name] ?? {};
    const onState = kind.onState?.[to];
    const onResolved = resolvedAs && (resolvedAs === 'executed' ? kind.onExecuted : kind.onReversed);
    if (!onState && !alongside && together) return together();
    return database.transaction(async (queries) => {
      if (onState || onResolved) await kind.hold?.(queries, command);
      const changed = await update(queries);
      if (!changed) return undefined;
      const remains = await onResolved?.(queries, changed);
      if (remains) await timeline.addWithin(queries, { commandId: command.id, step: 'not undone', detail: remains });
      await onState?.(queries, changed);
      await alongside?.(queries, changed);
      return changed;
    });
  }

  return async (change) => {
    const changed = await write(change);
    if (!changed) return undefined;
    const { id, state, settledBy } = changed;
    // An `accepted` that came meanwhile contradicts a `never`, so it must still be written.
    if (!isOpen(changed) && state !== 'never') onSettled(id);
    const step = state === 'unknown' ? 'unknown' : 'settled';
    // For a dispute, the timeline lists the contradiction instead.
    if (state !== 'disputed') timeline.add({ commandId: id, step, detail: settledBy ? `${state} by ${settledBy}` : undefined });
    database.hint(commandsTopic, id);
    kinds[changed.name]?.afterState?.(changed);
    return changed;
  };
}

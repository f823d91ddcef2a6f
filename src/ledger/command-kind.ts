// What a slice adds to the life of its commands. The ledger knows no kind of command by name: it asks here.
import type { Queries } from '../database/database.ts';
import type { JsonObject, LedgerCommandName } from '../link/protocol.ts';
import type { Command, CommandState } from './command.ts';
import type { Extracted } from './settle-batch.ts';

export interface CommandKind {
  /** A sentence when a report of `done` cannot be taken as it is, so that a person must decide. */
  doubt?(command: Command, report: JsonObject): string | undefined;
  /** Fields of a report of `done` that later calls look for. */
  extract?(report: JsonObject): Extracted;
  /** What the caller gets when a person decides that it was done: no device reported it, but later calls need these fields. */
  reportOfDecision?(command: Command, found: { operationId?: string | undefined; rrn?: string | undefined }): JsonObject;
  /** Locks what `onState` and `onExecuted` write to, in the same transaction and before the command is changed [D142]. */
  hold?(queries: Queries, command: Command): Promise<void>;
  /** A dispute was resolved as executed: what was done to the command while it was disputed takes effect. Same transaction. */
  onExecuted?(queries: Queries, command: Command): Promise<void>;
  /** The effects of `done` are undone, because a dispute was resolved as not executed: returns what cannot be undone. Same transaction. */
  onReversed?(queries: Queries, command: Command): Promise<string | undefined>;
  /** By the state that the command enters: runs in the same transaction. */
  onState?: Partial<Record<Exclude<CommandState, 'sent'>, (queries: Queries, command: Command) => Promise<void>>>;
  /** Runs after such a transaction has committed. */
  afterState?(command: Command): void;
}

export type CommandKinds = Partial<Record<LedgerCommandName, CommandKind>>;

// The hooks of a slice for its commands. The ledger knows no kind of command by name; it calls these.
import type { Queries } from '../database/database.ts';
import type { JsonObject, LedgerCommandName } from '../link/protocol.ts';
import type { Command, CommandState } from './command.ts';
import type { Extracted } from './settle-batch.ts';

export interface CommandKind {
  /** A sentence if a report of `done` is implausible, so that an operator must decide. */
  doubt?(command: Command, report: JsonObject): string | undefined;
  /** Fields of a report of `done` that later calls search by. */
  extract?(report: JsonObject): Extracted;
  /** The report after an operator's decision that it was done: no device reported it, but later calls need these fields. */
  reportOfDecision?(command: Command, found: { operationId?: string | undefined; rrn?: string | undefined }): JsonObject;
  /** The command that has its number, which a repeat of its call would join; throws if the number is another operation's [D125]. */
  findHolder?(command: Command): Promise<Command | undefined>;
  /** The id of another operation that did, or may have done, the same under another number. */
  findDouble?(queries: Queries, command: Command): Promise<string | undefined>;
  /** Locks the rows that `onState`, `onExecuted` and `onReversed` write, in the same transaction and before the command is changed [D142]. */
  hold?(queries: Queries, command: Command): Promise<void>;
  /** A dispute was resolved as executed: operations during the dispute take effect; returns what cannot be undone. Same transaction. */
  onExecuted?(queries: Queries, command: Command): Promise<string | undefined>;
  /** Undoes the effects of `done`, or of the dispute, because it was resolved as not executed; returns what cannot be undone. Same transaction. */
  onReversed?(queries: Queries, command: Command): Promise<string | undefined>;
  /** By the new state of the command: runs in the same transaction. */
  onState?: Partial<Record<Exclude<CommandState, 'sent'>, (queries: Queries, command: Command) => Promise<void>>>;
  /** Runs after such a transaction has committed. */
  afterState?(command: Command): void;
}

export type CommandKinds = Partial<Record<LedgerCommandName, CommandKind>>;

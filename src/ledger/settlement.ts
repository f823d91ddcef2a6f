// Turning what became known about a command into its one settlement.
//
// If the process dies before the commit, the command is still open and Recall asks again; after it, the same word coming
// again finds the command settled and changes nothing. A word that contradicts a settlement is kept and shown to a person.
import type { Database, Queries } from '../database/database.ts';
import { maskCardNumbers, maskReport } from '../kernel/card-mask.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { JsonObject, LedgerCommandName } from '../link/protocol.ts';
import { type Command, type CommandState, isOpen, type SettledBy } from './command.ts';
import { contradicts, type Finding, judge } from './rules.ts';
import * as store from './store.ts';
import type { Timeline } from './timeline.ts';

/** What a slice adds to the life of its commands. */
export interface CommandKind {
  /** A sentence when a report of `done` cannot be taken as it is, so that a person must decide. */
  doubt?(command: Command, report: JsonObject): string | undefined;
  /** Fields of a report of `done` that later calls look for. */
  extract?(report: JsonObject): { operationId?: string | undefined; rrn?: string | undefined };
  /** By the state that the command enters: runs in the same transaction. */
  onState?: Partial<Record<Exclude<CommandState, 'sent'>, (queries: Queries, command: Command) => Promise<void>>>;
  /** Runs after such a transaction has committed. */
  afterState?(command: Command): void;
}

export type CommandKinds = Partial<Record<LedgerCommandName, CommandKind>>;

/** Topic on which every instance hears that a command has changed. */
export const commandsTopic = 'commands';

export interface Settlements {
  /** Applies a finding and returns the command as it stands afterwards. */
  apply(command: Command, finding: Finding, by: SettledBy): Promise<Command>;
  /** The gateway knows by itself that nothing was sent. */
  neverSent(command: Command, reason: string): Promise<Command>;
  /** A person decides what nothing else can [D15]. */
  decide(command: Command, decision: store.Settlement): Promise<Command | undefined>;
  /** The time ran out: the outcome is unknown from now on. */
  becomeUnknown(command: Command, recallAfterMs: number): Promise<Command>;
  contradictions(): number;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  timeline: Timeline;
  kinds: CommandKinds;
}

export function createSettlements({ database, clock, logger, timeline, kinds }: Deps): Settlements {
  let contradictionCount = 0;

  /** One statement when no slice has something to add, one transaction when it has. */
  async function move(
    command: Command,
    state: Exclude<CommandState, 'sent'>,
    change: (queries: Queries) => Promise<Command | undefined>,
  ): Promise<Command | undefined> {
    const kind = kinds[command.name];
    const onState = kind?.onState?.[state];
    const moved = onState
      ? await database.transaction(async (queries) => {
          const result = await change(queries);
          if (result) await onState(queries, result);
          return result;
        })
      : await change(database.queries);
    if (!moved) return undefined;
    const step = moved.state === 'unknown' ? 'unknown' : 'settled';
    timeline.add({
      commandId: moved.id,
      atMs: clock.now(),
      step,
      detail: moved.settledBy ? `${moved.state} by ${moved.settledBy}` : undefined,
    });
    database.wake(commandsTopic, moved.id);
    kind?.afterState?.(moved);
    return moved;
  }

  async function current(command: Command): Promise<Command> {
    return (await store.findCommand(database.queries, command.id)) ?? command;
  }

  async function apply(command: Command, finding: Finding, by: SettledBy): Promise<Command> {
    const report = finding.report === undefined ? undefined : (maskReport(finding.report) as JsonObject);
    const reason = finding.reason === undefined ? undefined : maskCardNumbers(finding.reason);
    const kind = kinds[command.name];
    const doubt = finding.outcome === 'done' ? kind?.doubt?.(command, report ?? {}) : undefined;
    const verdict = judge(command, { ...finding, reason }, doubt);
    if (verdict.kind === 'review') {
      if (!isOpen(command)) return command;
      const moved = command.state === 'sent' ? await becomeUnknown(command, 0) : command;
      if (!isOpen(moved)) return moved;
      await store.putOnReview(database.queries, command.id, verdict.why);
      timeline.add({
        commandId: command.id,
        atMs: clock.now(),
        step: 'review',
        detail: JSON.stringify({ why: verdict.why, outcome: finding.outcome, report }),
      });
      return current(command);
    }
    const moved = await move(command, verdict.state, (queries) =>
      store.settle(queries, command, {
        state: verdict.state,
        by,
        outcome: finding.outcome,
        report: report === undefined ? undefined : JSON.stringify(report),
        reason,
        ...(verdict.state === 'done' ? kind?.extract?.(report ?? {}) : {}),
      }),
    );
    if (moved) return moved;
    const settled = await current(command);
    if (!isOpen(settled) && contradicts(settled, finding)) {
      contradictionCount += 1;
      const why = `The device now says "${finding.outcome}", but the command was settled as "${settled.state}".`;
      logger.error(
        { commandId: command.id, deviceId: command.deviceId, outcome: finding.outcome, settled: settled.state },
        'an answer contradicts a settled outcome',
      );
      await store.putOnReview(database.queries, command.id, why);
      timeline.add({ commandId: command.id, atMs: clock.now(), step: 'contradiction', detail: JSON.stringify({ why, report }) });
      return current(command);
    }
    return settled;
  }

  async function becomeUnknown(command: Command, recallAfterMs: number): Promise<Command> {
    return (await move(command, 'unknown', (queries) => store.markUnknown(queries, command.id, recallAfterMs))) ?? current(command);
  }

  return {
    apply,
    becomeUnknown,
    async neverSent(command, reason) {
      const settlement = { state: 'never', by: 'gateway', outcome: undefined, report: undefined, reason } as const;
      return (await move(command, 'never', (queries) => store.settle(queries, command, settlement))) ?? current(command);
    },
    decide: (command, decision) => move(command, decision.state, (queries) => store.settle(queries, command, decision)),
    contradictions: () => contradictionCount,
  };
}

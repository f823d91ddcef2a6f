// Turning what became known about a command into its one settlement.
//
// If the process dies before the commit, the command is still open and Recall asks again; after it, the same word coming
// again finds the command settled and changes nothing. A word that contradicts a settlement is kept and shown to a person.
import type { Database, Queries } from '../database/database.ts';
import { maskCardNumbers, maskReport } from '../kernel/card-mask.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../link/protocol.ts';
import { type Command, type CommandState, isOpen, type SettledBy } from './command.ts';
import { heardAccepted } from './event-store.ts';
import { contradicts, type Finding, judge } from './rules.ts';
import * as store from './store.ts';
import type { Timeline } from './timeline.ts';

/** What a slice adds to the life of its commands. */
export interface CommandKind {
  /** Which module a key must open to ask about it. */
  module: 'POS' | 'Fiscal';
  /** A sentence when a report of `done` cannot be taken as it is, so that a person must decide. */
  doubt?(command: Command, report: JsonObject): string | undefined;
  /** Fields of a report of `done` that later calls look for. */
  extract?(report: JsonObject): { operationId?: string | undefined; rrn?: string | undefined; receiptId?: string | undefined };
  /** By the state that the command enters: runs in the same transaction. */
  onState?: Partial<Record<Exclude<CommandState, 'sent'>, (queries: Queries, command: Command) => Promise<void>>>;
  /** Runs after such a transaction has committed. */
  afterState?(command: Command): void;
}

export type CommandKinds = Partial<Record<LedgerCommandName, CommandKind>>;

const saysNotBegun: ReadonlySet<EndingOutcome> = new Set<EndingOutcome>(['busy', 'expired', 'never']);

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
    const wasAccepted = finding.wasAccepted || (saysNotBegun.has(finding.outcome) && (await wasAcceptedBefore(command)));
    const verdict = judge(command, { ...finding, reason, wasAccepted }, doubt);
    const extracted = doubt === undefined && finding.outcome === 'done' ? kind?.extract?.(report ?? {}) : undefined;
    if (verdict.kind === 'review') {
      const moved = command.state === 'sent' ? await becomeUnknown(command, 0) : await current(command);
      // Recall hears the same again and again: it is on the list for that already.
      if (isOpen(moved) && moved.reviewSinceMs !== null && moved.reviewReason === verdict.why) return moved;
      if (!isOpen(moved) || !(await store.putOnReview(database.queries, command.id, verdict.why, 'settled'))) {
        return compare(await current(command), finding, report, undefined);
      }
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
        ...extracted,
      }),
    );
    return moved ?? compare(await current(command), finding, report, extracted?.operationId);
  }

  /** A word about a command that was settled before: it agrees, or a person must see it. */
  async function compare(
    settled: Command,
    finding: Finding,
    report: JsonObject | undefined,
    operationId: string | undefined,
  ): Promise<Command> {
    if (isOpen(settled) || !contradicts(settled, finding, operationId)) return settled;
    contradictionCount += 1;
    const isSecond = finding.outcome === 'done' && settled.state === 'done';
    const why = isSecond
      ? `The device reports a second operation, ${operationId}, for a command that was settled with ${settled.operationId}.`
      : `The device now says "${finding.outcome}", but the command was settled as "${settled.state}".`;
    logger.error(
      { commandId: settled.id, deviceId: settled.deviceId, outcome: finding.outcome, settled: settled.state },
      'an answer contradicts a settled outcome',
    );
    await store.putOnReview(database.queries, settled.id, why);
    timeline.add({ commandId: settled.id, atMs: clock.now(), step: 'contradiction', detail: JSON.stringify({ why, report }) });
    return current(settled);
  }

  /** `accepted` may have been heard by a call that is over, or by another instance. */
  async function wasAcceptedBefore(command: Command): Promise<boolean> {
    await timeline.flush();
    return heardAccepted(database.queries, command.id);
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

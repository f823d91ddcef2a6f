// Turning what became known about a command into its one settlement.
//
// If the process dies before the commit, the command is still open and Recall asks again; after it, the same word coming
// again finds the command settled and changes nothing. A word that contradicts a settlement is kept and shown to a person.
import type { Database, Queries } from '../database/database.ts';
import { maskCardNumbers, maskReport } from '../kernel/card-mask.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName, Outcome } from '../link/protocol.ts';
import { createAcceptances } from './acceptance.ts';
import { type Command, type CommandState, isOpen, type SettledBy } from './command.ts';
import { contradicts, endsAsUnknown, type Finding, judge } from './rules.ts';
import * as store from './store.ts';
import type { Timeline } from './timeline.ts';

/** What a slice adds to the life of its commands. */
export interface CommandKind {
  /** Which module a key must open to ask about it. */
  module: 'POS' | 'Fiscal';
  /** Done, it opens a document that holds the device until it is closed [D14]. */
  opensDocument?: boolean;
  /** A sentence when a report of `done` cannot be taken as it is, so that a person must decide. */
  doubt?(command: Command, report: JsonObject): string | undefined;
  /** Fields of a report of `done` that later calls look for. */
  extract?(report: JsonObject): { operationId?: string | undefined; rrn?: string | undefined; receiptId?: string | undefined };
  /** What the caller gets when a person decides that it was done: no device's word, but what later calls need. */
  reportOfDecision?(command: Command, found: { operationId?: string | undefined; rrn?: string | undefined }): JsonObject;
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
  decide(command: Command, decision: store.Settlement, alongside?: Alongside): Promise<Command | undefined>;
  /** The device has taken the command on. Returns at once; see acceptance.ts. */
  accepted(commandId: string): void;
  /** The time ran out: the outcome is unknown from now on. */
  becomeUnknown(command: Command, recallAfterMs: number): Promise<Command>;
  contradictions(): number;
  /** Writes what was heard and not yet written. */
  stop(): Promise<void>;
}

/** What else is written in the same transaction. */
export type Alongside = (queries: Queries, command: Command) => Promise<void>;

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  timeline: Timeline;
  kinds: CommandKinds;
}

export function createSettlements({ database, clock, logger, timeline, kinds }: Deps): Settlements {
  let contradictionCount = 0;
  const acceptances = createAcceptances({
    database,
    clock,
    logger,
    onContradiction: (settled, why) => alarm(settled, 'accepted', why, undefined),
  });

  /** One statement when no slice has something to add, one transaction when it has. */
  async function move(
    command: Command,
    state: Exclude<CommandState, 'sent'>,
    change: (queries: Queries) => Promise<Command | undefined>,
    alongside?: Alongside,
  ): Promise<Command | undefined> {
    const kind = kinds[command.name];
    const onState = kind?.onState?.[state];
    const isAlone = !onState && !alongside;
    const moved = isAlone
      ? await change(database.queries)
      : await database.transaction(async (queries) => {
          const result = await change(queries);
          if (!result) return undefined;
          await onState?.(queries, result);
          await alongside?.(queries, result);
          return result;
        });
    if (!moved) return undefined;
    if (!isOpen(moved)) acceptances.forget(moved.id);
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
    const isDenied = saysNotBegun.has(finding.outcome);
    const wasAccepted = finding.wasAccepted || (isDenied && (await wasAcceptedBefore(command)));
    const verdict = judge(command, { ...finding, reason, wasAccepted }, doubt);
    const extracted = doubt === undefined && finding.outcome === 'done' ? kind?.extract?.(report ?? {}) : undefined;
    if (verdict.kind === 'review') {
      const moved = command.state === 'sent' ? await becomeUnknown(command, 0) : await current(command);
      // Recall hears the same again and again: it is on the list for that already.
      const isEnded = endsAsUnknown(command, finding);
      const isListed = moved.reviewSinceMs !== null && moved.reviewReason === verdict.why && (!isEnded || moved.endedUnknownAtMs !== null);
      if (isOpen(moved) && isListed) return moved;
      const entry = { unless: 'settled', isEnded } as const;
      if (!isOpen(moved) || !(await store.putOnReview(database.queries, command.id, verdict.why, entry))) {
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
        opensDocument: kind?.opensDocument,
        state: verdict.state,
        by,
        outcome: finding.outcome,
        report: report === undefined ? undefined : JSON.stringify(report),
        reason,
        ...extracted,
        wasAccepted,
      }),
    );
    if (moved) return moved;
    const latest = await current(command);
    // Another instance has heard `accepted` in this very moment, and the settling statement saw it.
    if (isDenied && !wasAccepted && isOpen(latest) && latest.acceptedAtMs !== null) return apply(latest, finding, by);
    return compare(latest, finding, report, extracted?.operationId);
  }

  /** A word about a command that was settled before: it agrees, or a person must see it. */
  async function compare(
    settled: Command,
    finding: Finding,
    report: JsonObject | undefined,
    operationId: string | undefined,
  ): Promise<Command> {
    if (isOpen(settled) || !contradicts(settled, finding, operationId)) return settled;
    const isSecond = finding.outcome === 'done' && settled.state === 'done';
    const why = isSecond
      ? `The device reports a second operation, ${operationId}, for a command that was settled with ${settled.operationId}.`
      : `The device now says "${finding.outcome}", but the command was settled as "${settled.state}".`;
    await store.putOnReview(database.queries, settled.id, why);
    alarm(settled, finding.outcome, why, report);
    return current(settled);
  }

  function alarm(settled: Command, outcome: Outcome, why: string, report: JsonObject | undefined): void {
    contradictionCount += 1;
    logger.error(
      { commandId: settled.id, deviceId: settled.deviceId, outcome, settled: settled.state },
      'an answer contradicts a settled outcome',
    );
    timeline.add({ commandId: settled.id, atMs: clock.now(), step: 'contradiction', detail: JSON.stringify({ why, report }) });
  }

  /** `accepted` may have been heard by a call that is over, or by another instance. */
  async function wasAcceptedBefore(command: Command): Promise<boolean> {
    await acceptances.flush();
    return (await current(command)).acceptedAtMs !== null;
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
    decide: (command, decision, alongside) =>
      move(
        command,
        decision.state,
        (queries) => store.settle(queries, command, { ...decision, opensDocument: kinds[command.name]?.opensDocument }),
        alongside,
      ),
    accepted: acceptances.note,
    stop: acceptances.stop,
    contradictions: () => contradictionCount,
  };
}

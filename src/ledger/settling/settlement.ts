// Applies a device's answer to a command: the one settlement of the command, the review list, or a comparison with the settlement.
//
// If the process dies before the commit, the command is still open and Recall asks again. After the commit, the same answer again changes
// nothing. An answer that contradicts a settlement is stored for an operator; so is a report of money for which the row is gone (unmatched.ts).
import type { Database } from '../../database/database.ts';
import { maskReport } from '../../kernel/card-mask.ts';
import { maskCardNumbers } from '../../kernel/card-numbers.ts';
import type { Clock } from '../../kernel/clock.ts';
import { boundReport } from '../../kernel/device-texts.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { EndingOutcome, JsonObject } from '../../link/protocol.ts';
import { type Command, isOpen, namesOf, type SettledBy } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import * as reviews from '../review-store.ts';
import { type Finding, isFinishedByDevice, judge } from '../rules.ts';
import { type SettleGroup, type Settlement, settleWithin } from '../settle-batch.ts';
import * as store from '../store.ts';
import { inStep, type Timeline } from '../timeline.ts';
import type { UnmatchedReports } from '../unmatched.ts';
import { createAcceptances } from './acceptance.ts';
import { createDisputes, type Disputes } from './disputes.ts';
import { type Alongside, createStateChanges } from './state-change.ts';

const saysNotBegun: ReadonlySet<EndingOutcome> = new Set<EndingOutcome>(['busy', 'expired', 'never']);

export interface Settlements {
  /** Applies a finding and returns the command after it. */
  apply(command: Command, finding: Finding, by: SettledBy): Promise<Command>;
  /** The gateway itself knows that nothing was sent. */
  neverSent(command: Command, reason: string): Promise<Command>;
  /** An operator decides what no device can report [D15]. */
  decide(command: Command, decision: Settlement, alongside?: Alongside): Promise<Command | undefined>;
  /** The device has accepted the command. Returns at once; see acceptance.ts. */
  accepted(commandId: string): void;
  stillRuns: Disputes['stillRuns'];
  /** An operator resolves a dispute [D143]. */
  resolve: Disputes['resolve'];
  /** answerBy has passed: the outcome is unknown from now on. */
  becomeUnknown(command: Command, recallAfterMs: number): Promise<Command>;
  contradictions(): number;
  /** Writes the acceptances that are not written yet. */
  stop(): Promise<void>;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  timeline: Timeline;
  kinds: CommandKinds;
  settleGroup: SettleGroup;
  unmatched: Pick<UnmatchedReports, 'keepAnswer'>;
}

export function createSettlements(deps: Deps): Settlements {
  const { database, timeline, kinds, settleGroup } = deps;
  const { queries } = database;
  const acceptances = createAcceptances({ ...deps, onSettledAsNever: (settled) => disputes.stillRuns(settled) });
  const changeState = createStateChanges({ ...deps, onSettled: acceptances.forget });
  const disputes = createDisputes({ ...deps, changeState });

  async function apply(command: Command, found: Finding, by: SettledBy): Promise<Command> {
    const finding = await completed(command, found);
    const { outcome, report, reason, wasAccepted } = finding;
    const kind = kinds[command.name];
    const doubt = outcome === 'done' ? kind?.doubt?.(command, report ?? {}) : undefined;
    const verdict = judge(command, finding, doubt);
    if (verdict.kind === 'review') return putOnReview(command, finding, by, verdict.why);
    const extracted = outcome === 'done' ? kind?.extract?.(report ?? {}) : undefined;
    const stored = report === undefined ? undefined : JSON.stringify(report);
    const { state } = verdict;
    const settlement = { state, by, outcome, report: stored, reason, wasAccepted, ...extracted };
    const settled = await settle(command, settlement);
    if (settled) return settled;
    const latest = await store.findCommand(queries, command.id);
    if (!latest) return withoutRow(deps, command, finding);
    // Another instance received `accepted` at this moment, and the settling statement saw it.
    const isNewlyAccepted = isOpen(latest) && latest.acceptedAtMs !== null;
    if (saysNotBegun.has(outcome) && isNewlyAccepted) return apply(latest, found, by);
    return disputes.compare(latest, finding, by, extracted ?? {});
  }

  /** In a batch with other settlements, unless its slice or the caller writes further rows. */
  function settle(command: Command, settlement: Settlement, alongside?: Alongside): Promise<Command | undefined> {
    return changeState({
      command,
      to: settlement.state,
      update: (on) => settleWithin(database.engine, on, { command, settlement }),
      together: () => settleGroup.add({ command, settlement }),
      alongside,
    });
  }

  /** Masked and bounded. Looks up the acceptance if the verdict depends on it: another call or instance may have received it. */
  async function completed(command: Command, { outcome, report, reason, journalId, wasAccepted }: Finding): Promise<Finding> {
    return {
      outcome,
      report: report === undefined ? undefined : boundReport(maskReport(report) as JsonObject),
      reason: reason === undefined ? undefined : maskCardNumbers(reason),
      journalId,
      wasAccepted: wasAccepted || (saysNotBegun.has(outcome) && (await wasAcceptedBefore(command))),
    };
  }

  async function wasAcceptedBefore(command: Command): Promise<boolean> {
    await acceptances.flush(command.id);
    return (await store.latestOf(queries, command)).acceptedAtMs !== null;
  }

  async function putOnReview(command: Command, finding: Finding, by: SettledBy, why: string): Promise<Command> {
    const moved = command.state === 'sent' ? await becomeUnknown(command, 0) : await store.latestOf(queries, command);
    const isEnded = isFinishedByDevice(command, finding);
    // Recall gets the same answer repeatedly: the command is on the list with this reason already.
    const isListed = moved.reviewSinceMs !== null && moved.reviewReason === why && (!isEnded || moved.endedUnknownAtMs !== null);
    if (isOpen(moved) && isListed) return moved;
    if (!isOpen(moved) || !(await reviews.putOnReview(queries, command.id, why, { unless: 'settled', isEnded }))) {
      const doubt = finding.outcome === 'done' ? why : undefined;
      const latest = await store.findCommand(queries, command.id);
      return latest ? disputes.compare(latest, finding, by, undefined, doubt) : withoutRow(deps, command, finding);
    }
    const { outcome, report } = finding;
    deps.logger.warn({ ...namesOf(command), outcome, why }, 'the answer of a device needs a decision; the command is on the review list');
    timeline.add({ commandId: command.id, step: 'review', detail: JSON.stringify({ why, outcome, report: inStep(report) }) });
    return store.latestOf(queries, command);
  }

  async function becomeUnknown(command: Command, recallAfterMs: number): Promise<Command> {
    const update = (on: typeof queries) => store.markUnknown(on, command.id, recallAfterMs);
    const changed = await changeState({ command, to: 'unknown', update, together: () => update(queries) });
    return changed ?? store.latestOf(queries, command);
  }

  async function neverSent(command: Command, reason: string): Promise<Command> {
    const settlement = { state: 'never', by: 'gateway', outcome: undefined, report: undefined, reason } as const;
    return (await settle(command, settlement)) ?? store.latestOf(queries, command);
  }

  return {
    apply,
    becomeUnknown,
    neverSent,
    decide: settle,
    accepted: acceptances.note,
    stillRuns: disputes.stillRuns,
    resolve: disputes.resolve,
    stop: acceptances.stop,
    contradictions: disputes.count,
  };
}

/** The database has lost the command since: for the ledger its outcome stays open. */
async function withoutRow({ unmatched }: Deps, command: Command, { outcome, report }: Finding): Promise<Command> {
  const { id, deviceId, amountBani } = command;
  await unmatched.keepAnswer({ id, deviceId, outcome, report }, amountBani);
  return command;
}

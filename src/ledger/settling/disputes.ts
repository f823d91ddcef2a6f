// A device's answer about a command that is already settled: it agrees, or it contradicts [D143].
//
//   proves nothing ........................ another journal [D304]: the timeline lists it
//   agrees ................................ nothing changes; numbers that an operator did not know are added, once
//   reports `done` for one not done ....... disputed; a CloseDoc, which moves no money, becomes done at once
//   denies an operator's `done` ........... disputed
//   denies its own report of `done`, or
//   reports `done` with another amount .... stays done, and is flagged for review
//
// A repeated answer has no effect, also after an operator has resolved the dispute. The change is committed first, then counted and logged:
// if the process dies in between, Attention lists it. An operator's resolution has all effects of done or of refused.
import type { Database, Queries } from '../../database/database.ts';
import type { Logger } from '../../kernel/logger.ts';
import { operationOf } from '../../kernel/operations.ts';
import type { JsonObject, Outcome } from '../../link/protocol.ts';
import { findClaimant, mainNumberOf } from '../claims.ts';
import { type Command, isOpen, namesOf, type SettledBy } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import { endsDocument, lockDevice } from '../device-lock.ts';
import * as disputeStore from '../dispute-store.ts';
import { putOnReview } from '../review-store.ts';
import { compareWithSettled, contradictionOf, type Finding, isFromOwnJournal, secondOperation } from '../rules.ts';
import type { Extracted } from '../settle-batch.ts';
import { closeDocument, completeDecision, confirmDecision, correctToDone, isUnconfirmed, latestOf } from '../store.ts';
import { inStep, type Timeline } from '../timeline.ts';
import type { Alongside, ChangeState, StateChange } from './state-change.ts';

export interface Disputes {
  /** Returns the command after the comparison. Of a report of `done`: its fields, or why it is implausible. */
  compare(settled: Command, finding: Finding, by: SettledBy, extracted?: Extracted, doubt?: string): Promise<Command>;
  /** The device reports that it has accepted, or is executing, a command that was settled as not done. */
  stillRuns(settled: Command): Promise<Command>;
  /** Undefined: the command is not disputed. */
  resolve(disputed: Command, resolution: disputeStore.Resolution, alongside?: Alongside): Promise<disputeStore.Resolved | undefined>;
  count(): number;
}

interface Deps {
  database: Database;
  logger: Logger;
  timeline: Timeline;
  kinds: CommandKinds;
  changeState: ChangeState;
}

export function createDisputes({ database, logger, timeline, kinds, changeState }: Deps): Disputes {
  const { queries } = database;
  let count = 0;

  function record(settled: Command, outcome: Outcome, why: string, report?: JsonObject): void {
    count += 1;
    const { id: commandId, state } = settled;
    logger.error({ ...namesOf(settled), outcome, settled: state }, 'an answer contradicts a settled outcome');
    timeline.addCounted({ commandId, step: 'contradiction', detail: JSON.stringify({ why, report: inStep(report) }) });
  }

  function recordRepeat(settled: Command, finding: Finding): void {
    const { outcome } = finding;
    const step = isFromOwnJournal(settled, finding) ? 'answered again' : 'answered by other hardware';
    timeline.addCounted({ commandId: settled.id, step, detail: outcome });
  }

  async function raise(
    settled: Command,
    outcome: Outcome,
    found: Omit<disputeStore.Contradiction, 'why'>,
    sentence: string,
    report?: JsonObject,
  ) {
    const other = (await otherHolder(queries, settled)) ?? (await kinds[settled.name]?.findDouble?.(queries, settled));
    const why = other
      ? `${sentence} Another operation under the same number, or for the same payment, was begun since (${other}): it may be done twice.`
      : sentence;
    const changed = await changeState({
      command: settled,
      to: 'disputed',
      update: (on) => disputeStore.dispute(database.engine, on, settled, { ...found, why }),
    });
    if (!changed) return latestOf(queries, settled);
    record(settled, outcome, why, report);
    return changed;
  }

  async function flag(settled: Command, finding: Finding, contradiction: string, doubt?: string): Promise<Command> {
    const why = secondSentence(settled, finding) ?? doubt ?? sentenceOf(settled, finding);
    await putOnReview(queries, settled.id, why, { contradiction });
    record(settled, finding.outcome, why, finding.report);
    return latestOf(queries, settled);
  }

  return {
    async stillRuns(settled) {
      if (isOpen(settled) || settled.state === 'done' || settled.contradiction !== null) return settled;
      const why = `The device says that it is carrying the command out, but it was settled as "${settled.state}".`;
      return raise(settled, 'accepted', { contradiction: 'accepted', outcome: undefined, isFromOwnJournal: false }, why);
    },
    async compare(settled, finding, by, extracted, doubt) {
      if (isOpen(settled)) return settled;
      const comparison = compareWithSettled(settled, finding, doubt);
      if (comparison === 'agrees' || comparison === 'proves nothing') {
        recordRepeat(settled, finding);
        if (comparison === 'proves nothing') return settled;
        return (await completed(database, settled, finding, extracted)) ?? settled;
      }
      const contradiction = contradictionOf(finding);
      if (contradiction === settled.contradiction) {
        recordRepeat(settled, finding);
        return settled;
      }
      // A removed command has no data left to resolve a dispute.
      if (comparison === 'flag' || settled.removedAtMs !== null) return flag(settled, finding, contradiction, doubt);
      const isDone = finding.outcome === 'done';
      const wasDenied = settled.state === 'disputed' && settled.disputedFrom === 'done';
      if (isDone && !wasDenied && operationOf(settled.name).effect === 'close') {
        const update = (on: Queries) => closeAfterAll(database.engine, on, settled, finding, by);
        return (await changeState({ command: settled, to: 'done', update })) ?? latestOf(queries, settled);
      }
      const report = isDone ? JSON.stringify(finding.report) : undefined;
      const isOwn = isFromOwnJournal(settled, finding);
      const found = { ...extracted, contradiction, outcome: finding.outcome, report, isFromOwnJournal: isOwn };
      const sentence = [sentenceOf(settled, finding), secondSentence(settled, finding) ?? (isDone ? doubt : undefined)];
      return raise(settled, finding.outcome, found, sentence.filter((part) => part !== undefined).join(' '), finding.report);
    },
    async resolve(disputed, resolution, alongside) {
      let resolved: disputeStore.Resolved | undefined;
      await changeState({
        command: disputed,
        to: resolution.state,
        async update(on) {
          resolved = await disputeStore.resolve(database.engine, on, disputed, resolution);
          return resolved?.command;
        },
        alongside,
        resolvedAs: effectOf(disputed, resolution),
      });
      return resolved;
    },
    count: () => count,
  };
}

/** The dispute about a refused void or CloseDoc has released the terminal: that is reversed, too. */
function effectOf(disputed: Command, { state }: disputeStore.Resolution): StateChange['resolvedAs'] {
  if (state === 'done') return 'executed';
  return disputed.disputedFrom === 'done' || endsDocument(disputed) ? 'reversed' : undefined;
}

/** A CloseDoc moves no money, so no operator need decide [D143]. In a transaction. */
async function closeAfterAll(
  engine: Database['engine'],
  queries: Queries,
  settled: Command,
  { report, reason }: Finding,
  by: SettledBy,
): Promise<Command | undefined> {
  const settlement = { state: 'done', by, outcome: 'done', report: report && JSON.stringify(report), reason } as const;
  await lockDevice(engine, queries, settled.deviceId);
  const done = await correctToDone(queries, settled, settlement);
  if (!done) return undefined;
  if (done.targetId !== null) await closeDocument(queries, done.targetId, done.id);
  await confirmDecision(queries, done);
  return done;
}

/**
 * The device's own answer completes an operator's decision, once. After "unknown", another answer may follow; an implausible report
 * completes nothing. An answer of the command's own journal confirms the decision: the device is not asked again [D304].
 */
async function completed(database: Database, settled: Command, finding: Finding, extracted?: Extracted): Promise<Command | undefined> {
  const { outcome, report } = finding;
  const found = outcome === 'done' ? extracted && { ...extracted, report } : {};
  if (settled.settledBy !== 'person' || !found) return undefined;
  const isCompleted = settled.outcome !== null && settled.outcome !== 'unknown';
  const isOwn = isFromOwnJournal(settled, finding);
  if (isCompleted && !(isOwn && (await isUnconfirmed(database.queries, settled)))) return undefined;
  return database.transaction(async (queries) => {
    const command = isCompleted ? undefined : await completeDecision(queries, settled, outcome, found);
    if (isOwn) await confirmDecision(queries, settled);
    return command;
  });
}

/** The id of another operation that has the number of this one. */
async function otherHolder(queries: Queries, settled: Command): Promise<string | undefined> {
  const main = mainNumberOf(settled);
  const holder = main && (await findClaimant(queries, settled.merchantId, main.kind, main.number));
  return holder && holder.id !== settled.id ? holder.id : undefined;
}

/** The bank has two charges for one command [D49], also while it is disputed. */
function secondSentence(settled: Command, finding: Finding): string | undefined {
  const second = finding.outcome === 'done' ? secondOperation(settled, finding) : undefined;
  if (!second) return undefined;
  const first = settled.state === 'done' ? `for a command that was settled with ${second.settled}` : `beside ${second.settled}`;
  return `The device reports a second operation, ${second.reported}, ${first}.`;
}

function sentenceOf({ state, disputedFrom }: Command, { outcome }: Finding): string {
  return `The device now says "${outcome}", but the command was settled as "${state === 'disputed' ? disputedFrom : state}".`;
}

// What a device says about a command that was settled before: it agrees, or it contradicts [D143].
//
//   agrees ............................. nothing changes; the numbers that an operator did not know are added, once
//   contradicts, and it was not done ... disputed; a CloseDoc, which moves no money, becomes done at once
//   denies an operator's `done` ........ disputed
//   denies what it reported itself ..... stays done, and is flagged for review
//
// Repeating the same answer has no effect, also after an operator has resolved the dispute. The change is committed first, then counted and
// logged: if the process dies between, Attention lists it. An operator's resolution has all effects of done or of refused.
import type { Database, Queries } from '../../database/database.ts';
import { ConstraintViolation } from '../../database/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { JsonObject, Outcome } from '../../link/protocol.ts';
import { type Command, isOpen, namesOf, type SettledBy } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import * as disputeStore from '../dispute-store.ts';
import { putOnReview } from '../review-store.ts';
import { compareWithSettled, contradictionOf, type Finding, secondOperation } from '../rules.ts';
import { completeDecision, correctToDone, type Extracted, findOtherHolder, latestOf } from '../store.ts';
import type { Timeline } from '../timeline.ts';
import type { Alongside, ChangeState } from './state-change.ts';

/** Two resolutions, or a resolution and a new command, may meet on one number or terminal: then the statement decides anew. */
const maxResolutionTries = 3;

export interface Disputes {
  /** Returns the command as it stands afterwards. `extracted`: of a report of `done` that can be taken as it is. */
  compare(settled: Command, finding: Finding, by: SettledBy, extracted?: Extracted): Promise<Command>;
  /** The device says that it has accepted, or is carrying out, what was settled as not done. */
  stillRuns(settled: Command): Promise<Command>;
  /** Undefined: the command is not disputed. */
  resolve(disputed: Command, resolution: disputeStore.Resolution, alongside?: Alongside): Promise<Command | undefined>;
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
    timeline.addCounted({ commandId, step: 'contradiction', detail: JSON.stringify({ why, report }) });
  }

  function recordRepeat({ id: commandId }: Command, outcome: Outcome): void {
    timeline.addCounted({ commandId, step: 'answered again', detail: outcome });
  }

  async function raise(
    settled: Command,
    outcome: Outcome,
    found: Omit<disputeStore.Contradiction, 'why'>,
    sentence: string,
    report?: JsonObject,
  ) {
    const other = settled.state === 'disputed' ? undefined : await findOtherHolder(queries, settled);
    const why = other ? `${sentence} Another operation was begun under the same number since (${other}): it may be done twice.` : sentence;
    const changed = await changeState({
      command: settled,
      to: 'disputed',
      update: (on) => disputeStore.dispute(on, settled, { ...found, why }),
    });
    if (!changed) return latestOf(queries, settled);
    record(settled, outcome, why, report);
    return changed;
  }

  async function flag(settled: Command, finding: Finding, contradiction: string): Promise<Command> {
    const second = settled.state === 'done' && finding.outcome === 'done' ? secondOperation(settled, finding) : undefined;
    const why = second
      ? `The device reports a second operation, ${second.reported}, for a command that was settled with ${second.settled}.`
      : sentenceOf(settled, finding);
    await putOnReview(queries, settled.id, why, { contradiction });
    record(settled, finding.outcome, why, finding.report);
    return latestOf(queries, settled);
  }

  /** It moves no money, so that nothing is left to decide [D143]. */
  async function closeAfterAll(settled: Command, { report, reason }: Finding, by: SettledBy): Promise<Command> {
    const settlement = { state: 'done', by, outcome: 'done', report: report && JSON.stringify(report), reason } as const;
    const changed = await changeState({ command: settled, to: 'done', update: (on) => correctToDone(on, settled, settlement) });
    return changed ?? latestOf(queries, settled);
  }

  return {
    async stillRuns(settled) {
      if (isOpen(settled) || settled.state === 'done' || settled.contradiction !== null) return settled;
      const why = `The device says that it is carrying the command out, but it was settled as "${settled.state}".`;
      return raise(settled, 'accepted', { contradiction: 'accepted', outcome: undefined }, why);
    },
    async compare(settled, finding, by, extracted) {
      if (isOpen(settled)) return settled;
      const comparison = compareWithSettled(settled, finding);
      if (comparison === 'agrees') {
        recordRepeat(settled, finding.outcome);
        return (await completed(queries, settled, finding, extracted)) ?? settled;
      }
      const contradiction = contradictionOf(finding);
      if (contradiction === settled.contradiction) {
        recordRepeat(settled, finding.outcome);
        return settled;
      }
      // Of a removed command nothing is left that could be resolved.
      if (comparison === 'flag' || settled.removedAtMs !== null) return flag(settled, finding, contradiction);
      const isDone = finding.outcome === 'done';
      if (isDone && kinds[settled.name]?.closesDocument && settled.state !== 'disputed') return closeAfterAll(settled, finding, by);
      const report = isDone && finding.report ? JSON.stringify(finding.report) : undefined;
      const found = { ...extracted, contradiction, outcome: finding.outcome, report };
      return raise(settled, finding.outcome, found, sentenceOf(settled, finding), finding.report);
    },
    resolve: (disputed, resolution, alongside) =>
      untilNoViolation(() =>
        changeState({
          command: disputed,
          to: resolution.state,
          update: (on) => disputeStore.resolve(on, disputed.id, resolution),
          alongside,
          reverses: resolution.state === 'refused' && disputed.disputedFrom === 'done',
        }),
      ),
    count: () => count,
  };
}

/**
 * The device's own answer completes what an operator decided, after which it need not be asked again. Only "unknown" leaves room for another;
 * a report that cannot be taken as it is completes nothing.
 */
async function completed(
  queries: Queries,
  settled: Command,
  { outcome, report }: Finding,
  extracted?: Extracted,
): Promise<Command | undefined> {
  const isUnconfirmed = settled.outcome === null || settled.outcome === 'unknown';
  if (settled.settledBy !== 'person' || !isUnconfirmed) return undefined;
  if (outcome !== 'done') return completeDecision(queries, settled, outcome, {});
  return extracted && completeDecision(queries, settled, outcome, { ...extracted, report });
}

function sentenceOf({ state, disputedFrom }: Command, { outcome }: Finding): string {
  return `The device now says "${outcome}", but the command was settled as "${state === 'disputed' ? disputedFrom : state}".`;
}

async function untilNoViolation<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ConstraintViolation) || tries === maxResolutionTries) throw error;
    }
  }
}

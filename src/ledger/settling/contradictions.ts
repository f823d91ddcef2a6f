// What a device says about a command that was settled before: it agrees, or it contradicts, and then a person must see it.
// What was settled stays as it is. A contradiction is put on the review list first, then counted and logged: if the process dies between,
// the list has it. A device may repeat it without end: its steps are counted (counted-steps.ts).
// One that agrees with what a person decided brings what the person did not know: the bank's numbers, without which nothing can be closed,
// refunded or voided. They are written once, and only where no device has spoken before.
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { JsonObject, Outcome } from '../../link/protocol.ts';
import { type Command, isOpen, namesOf } from '../command.ts';
import { contradicts, type Finding, secondDeed } from '../rules.ts';
import { completeDecision, type Extracted, latestOf, putOnReview } from '../store.ts';
import type { Timeline } from '../timeline.ts';

export interface Contradictions {
  /** Returns the command as it stands afterwards. `extracted`: of a report of `done` that can be taken as it is. */
  compare(settled: Command, finding: Finding, extracted?: Extracted): Promise<Command>;
  /** The device says that it is still carrying out what was settled: until it tells how that ended, its number stays taken. */
  stillRuns(settled: Command): Promise<Command>;
  /** Of a command that is on the review list already. */
  note(settled: Command, outcome: Outcome, why: string, report?: JsonObject): void;
  count(): number;
}

export function createContradictions(deps: { database: Database; logger: Logger; timeline: Timeline }): Contradictions {
  const { database, logger, timeline } = deps;
  let count = 0;

  function note(settled: Command, outcome: Outcome, why: string, report?: JsonObject): void {
    count += 1;
    const { id: commandId, state } = settled;
    logger.error({ ...namesOf(settled), outcome, settled: state }, 'an answer contradicts a settled outcome');
    timeline.addCounted({ commandId, step: 'contradiction', detail: JSON.stringify({ why, report }) });
  }

  /**
   * What a person decided is completed by the device's own word, after which it need not be asked again. Only "unknown" leaves room for
   * another; a report that cannot be taken as it is completes nothing.
   */
  async function completed(settled: Command, { outcome, report }: Finding, extracted?: Extracted): Promise<Command | undefined> {
    const isUnheard = settled.outcome === null || settled.outcome === 'unknown';
    if (settled.settledBy !== 'person' || !isUnheard) return undefined;
    if (outcome !== 'done') return completeDecision(database.queries, settled, outcome, {});
    return extracted && completeDecision(database.queries, settled, outcome, { ...extracted, report });
  }

  return {
    async stillRuns(settled) {
      if (isOpen(settled) || settled.state === 'done') return settled;
      const why = `The device says that it is at it, but the command was settled as "${settled.state}".`;
      if (settled.contradictedAtMs === null) {
        await putOnReview(database.queries, settled.id, why, { wasDone: true });
        note(settled, 'accepted', why);
      }
      return latestOf(database.queries, settled);
    },
    async compare(settled, finding, extracted) {
      if (isOpen(settled)) return settled;
      if (!contradicts(settled, finding)) {
        timeline.addCounted({ commandId: settled.id, step: 'answered again', detail: finding.outcome });
        return (await completed(settled, finding, extracted)) ?? settled;
      }
      const second = settled.state === 'done' ? secondDeed(settled, finding) : undefined;
      const why = second
        ? `The device reports a second operation, ${second.reported}, for a command that was settled with ${second.settled}.`
        : `The device now says "${finding.outcome}", but the command was settled as "${settled.state}".`;
      // Only a yes contradicts what was not done.
      const wasDone = settled.state !== 'done';
      await putOnReview(database.queries, settled.id, why, { wasDone, said: finding.outcome });
      note(settled, finding.outcome, why, finding.report);
      return latestOf(database.queries, settled);
    },
    note,
    count: () => count,
  };
}

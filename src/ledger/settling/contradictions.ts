// What a device says about a command that was settled before: it agrees, or it contradicts, and then a person must see it.
// What was settled stays as it is. A contradiction is put on the review list first, then counted and logged: if the process dies between,
// the list has it. A device may repeat it without end: its steps are counted (counted-steps.ts).
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { JsonObject, Outcome } from '../../link/protocol.ts';
import { type Command, isOpen, namesOf } from '../command.ts';
import { contradicts, type Finding } from '../rules.ts';
import { latestOf, putOnReview } from '../store.ts';
import type { Timeline } from '../timeline.ts';

export interface Contradictions {
  /** Returns the command as it stands afterwards. `operationId`: of the finding's report. */
  compare(settled: Command, finding: Finding, operationId?: string): Promise<Command>;
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

  return {
    async compare(settled, finding, operationId) {
      if (isOpen(settled)) return settled;
      if (!contradicts(settled, finding, operationId)) {
        timeline.addCounted({ commandId: settled.id, step: 'answered again', detail: finding.outcome });
        return settled;
      }
      const isSecond = finding.outcome === 'done' && settled.state === 'done';
      const why = isSecond
        ? `The device reports a second operation, ${operationId}, for a command that was settled with ${settled.operationId}.`
        : `The device now says "${finding.outcome}", but the command was settled as "${settled.state}".`;
      await putOnReview(database.queries, settled.id, why);
      note(settled, finding.outcome, why, finding.report);
      return latestOf(database.queries, settled);
    },
    note,
    count: () => count,
  };
}

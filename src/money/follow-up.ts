// What follows a change that was committed: other instances learn of it, the timeline lists it, the log says what a person must look at.
// If the process dies before, the change itself stands: waiting calls poll, and Attention reads the rows.
import type { Database } from '../database/database.ts';
import type { Logger } from '../kernel/logger.ts';
import { inStep, type Timeline } from '../ledger/timeline.ts';
import type { Added, Case, Op, Report } from './case.ts';
import { isOpen } from './rules/facts.ts';

/** Wake-up topic for changed operations, to every instance. */
export const commandsTopic = 'commands';

export interface FollowUp {
  changed(before: Case, after: Case | undefined, added: Added | undefined): void;
  /** Steps of a decision that changes nothing. */
  counted(added: Added | undefined): void;
  /** Answers of devices that contradict what was settled, on this instance. */
  contradictions(): number;
}

interface Deps {
  database: Pick<Database, 'hint'>;
  logger: Logger;
  timeline: Pick<Timeline, 'add' | 'addCounted'>;
}

export function createFollowUp({ database, logger, timeline }: Deps): FollowUp {
  let contradictions = 0;

  function noteState(op: Op): void {
    database.hint(commandsTopic, op.id);
    // The contradiction is a step of its own.
    if (op.state === 'disputed') return;
    const detail = op.settledBy === null ? undefined : `${op.state} by ${op.settledBy}`;
    timeline.add({ commandId: op.id, step: op.state === 'unknown' ? 'unknown' : 'settled', detail });
  }

  function noteReview({ id, deviceId, review }: Op): void {
    logger.warn({ commandId: id, deviceId, why: review?.reason }, 'the outcome of a command needs a person; it is on the review list');
    timeline.add({ commandId: id, step: 'review', detail: review?.reason });
  }

  function counted(added: Added | undefined): void {
    for (const { operationId, step, detail, report, isCounted } of added?.steps ?? [])
      if (isCounted) timeline.addCounted({ commandId: operationId, step, detail: report ? withReport(detail, report) : detail });
  }

  return {
    changed(before, after, added) {
      for (const op of Object.values(after?.ops ?? {})) {
        const was = before.ops[op.id];
        if (was && was.state !== op.state) noteState(op);
        if (was && isOpen(op) && was.review?.reason !== op.review?.reason) noteReview(op);
      }
      counted(added);
      for (const { operationId, step, detail } of added?.steps ?? []) {
        if (step !== 'contradiction') continue;
        contradictions += 1;
        const { deviceId, documentNr } = after?.ops[operationId] ?? {};
        const names = { commandId: operationId, deviceId, documentNr: documentNr ?? undefined };
        logger.error({ ...names, why: detail }, 'an answer contradicts a settled outcome');
      }
    },
    counted,
    contradictions: () => contradictions,
  };
}

/** The person who has to resolve it needs the numbers that the device says. */
const withReport = (why: string, report: Report): string => JSON.stringify({ why, report: inStep(report) });

// The finding in a device's answer: to the command itself, to Recall, to LastTransaction. Pure.
import { sameNumber } from '../../kernel/ids.ts';
import { readRecallReport } from '../../link/messages.ts';
import type { EndingOutcome } from '../../link/protocol.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import type { Command } from '../command.ts';
import type { Finding } from '../rules.ts';

/** For any answer but `accepted`: it ends the command. */
export function findingOfAnswer({ outcome, report, reason, journalId }: AnswerMessage): Finding {
  return { outcome: outcome as EndingOutcome, report, reason, journalId, wasAccepted: false };
}

/** Undefined: the answer is unusable. */
export function findingOfRecall(answer: AnswerMessage): Finding | 'running' | undefined {
  const recalled = answer.outcome === 'done' ? readRecallReport(answer.report) : undefined;
  if (recalled === undefined) return undefined;
  if (recalled.state === 'running') return 'running';
  const { state, outcome = 'unknown', report } = recalled;
  return {
    outcome: state === 'final' ? outcome : state,
    report: state === 'final' ? report : undefined,
    reason: recalled.reason ?? answer.reason,
    journalId: answer.journalId,
    wasAccepted: false,
  };
}

/** Undefined: the device's last transaction is another one, or the answer has no outcome for this one. */
export function findingOfLastTransaction(command: Command, answer: AnswerMessage): Finding | 'running' | undefined {
  const { outcome: word, report, journalId } = answer;
  const commandId = report?.['commandId'];
  if (!report || typeof commandId !== 'string' || sameNumber(commandId) !== command.id) return undefined;
  if (report['state'] === 'running') return 'running';
  const outcome = report['state'] === 'approved' ? 'done' : report['state'] === 'refused' ? 'refused' : undefined;
  return word === 'done' && outcome ? { outcome, report, reason: undefined, journalId, wasAccepted: false } : undefined;
}

/** The answer in short for the timeline, also if it settles nothing or is rejected. */
export function received(command: Command, answer: AnswerMessage, finding: Finding | 'running' | undefined): string {
  if (finding === 'running') return finding;
  if (finding) return finding.outcome === 'never' ? 'never' : `final ${finding.outcome}`;
  return command.journalId === null && answer.outcome === 'done' ? 'another' : `unusable ${answer.outcome}`;
}

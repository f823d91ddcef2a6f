// What a device's answer means for a command. Pure.
import type { EndingOutcome, JsonObject, Outcome } from '../link/protocol.ts';
import type { Command, SettledState } from './command.ts';

/** What became known about a command, from whatever source. */
export interface Finding {
  outcome: EndingOutcome;
  report: JsonObject | undefined;
  reason: string | undefined;
  /** The journal that the answer comes from; undefined for a device that keeps none. */
  journalId: string | undefined;
  /** The device had taken the command on before: a `never` after that cannot be true. */
  wasAccepted: boolean;
}

export type Verdict =
  | { kind: 'settle'; state: SettledState }
  /** A person must decide: the device cannot tell, or what it says cannot be trusted. */
  | { kind: 'review'; why: string };

/** `doubt` is the slice's own check of a `done` report: a sentence when it cannot be taken as it is. */
export function judge(command: Command, finding: Finding, doubt: string | undefined): Verdict {
  switch (finding.outcome) {
    case 'done':
      return doubt === undefined ? { kind: 'settle', state: 'done' } : { kind: 'review', why: doubt };
    case 'refused':
    case 'unsupported':
      return { kind: 'settle', state: 'refused' };
    case 'busy':
    case 'expired':
    case 'never':
      if (finding.wasAccepted) return { kind: 'review', why: 'The device had accepted the command and now says that it never began.' };
      return isFromSameJournal(command, finding)
        ? { kind: 'settle', state: 'never' }
        : {
            kind: 'review',
            why: 'The device says that the command never began, but its journal is not the one the command was sent under.',
          };
    case 'unknown':
      return { kind: 'review', why: `The device cannot tell how the command ended${finding.reason ? `: ${finding.reason}` : '.'}` };
  }
}

/**
 * Another journal never saw the command and so knows nothing about what happened before it began.
 * Without a journal there was one copy, and what the device turned down is that copy; but nothing it has not seen is ever certain.
 */
function isFromSameJournal(command: Command, finding: Finding): boolean {
  if (command.journalId === null) return finding.outcome !== 'never';
  return finding.journalId === command.journalId;
}

/** The device has finished with the command, although its answer settles nothing: an operator may decide at once [D63]. */
export function isFinishedByDevice(command: Command, { outcome, journalId }: Finding): boolean {
  if (outcome === 'done') return true;
  return outcome === 'unknown' && (command.journalId === null || journalId === command.journalId);
}

/**
 * What an answer that comes after the settlement means [D143].
 * agrees: it says the same, or nothing. dispute: it contradicts a settlement that an operator or the gateway decided, or that the device itself
 * gave as not done. flag: the device itself reported the settlement, so that stays, and an operator has to look.
 */
export type Comparison = 'agrees' | 'dispute' | 'flag';

export function compareWithSettled(command: Command, finding: Finding): Comparison {
  switch (finding.outcome) {
    case 'unknown':
      return 'agrees';
    case 'done':
      if (command.state !== 'done') return 'dispute';
      return secondOperation(command, finding) === undefined ? 'agrees' : 'flag';
    case 'refused':
    case 'unsupported':
      return deniesSettled(command);
    case 'busy':
    case 'expired':
    case 'never':
      return isFromSameJournal(command, finding) ? deniesSettled(command) : 'agrees';
  }
}

function deniesSettled({ state, outcome }: Command): Comparison {
  if (state !== 'done' && state !== 'disputed') return 'agrees';
  return outcome === 'done' ? 'flag' : 'dispute';
}

/** A contradicting answer in short: the same one again has no effect. */
export function contradictionOf({ outcome, report }: Pick<Finding, 'report'> & { outcome: Outcome }): string {
  const numbers = operationNumberFields.flatMap((name) => numberIn(report, name) ?? []);
  return [outcome, ...numbers].join(' ');
}

/** Numbers of the bank and of the fiscal memory: two of them for one command are two operations. */
const operationNumberFields = ['operationId', 'receiptId', 'documentNumber', 'number'] as const;

/** Done twice [D49]: which number the report has, and which the one that was settled with. */
export function secondOperation(command: Command, { report }: Finding): { reported: string; settled: string } | undefined {
  const settled = JSON.parse(command.report ?? '{}') as JsonObject;
  for (const name of operationNumberFields) {
    const [before, now] = [numberIn(settled, name), numberIn(report, name)];
    if (before !== undefined && now !== undefined && before !== now) return { reported: now, settled: before };
  }
  return undefined;
}

function numberIn(report: JsonObject | undefined, name: string): string | undefined {
  const value = report?.[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

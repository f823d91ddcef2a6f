// The meaning of a device's answer for a command. Pure.
import { shortened } from '../kernel/device-texts.ts';
import type { EndingOutcome, JsonObject, Outcome } from '../link/protocol.ts';
import type { Command, SettledState } from './command.ts';

/** A device's answer about a command, from any source. */
export interface Finding {
  outcome: EndingOutcome;
  report: JsonObject | undefined;
  reason: string | undefined;
  /** The journal that the answer comes from; undefined for a device that keeps none. */
  journalId: string | undefined;
  /** The device had accepted the command before: a `never` after that cannot be true. */
  wasAccepted: boolean;
}

export type Verdict =
  | { kind: 'settle'; state: SettledState }
  /** An operator must decide: the device does not know the outcome, or its answer is not plausible. */
  | { kind: 'review'; why: string };

/** `doubt`: the result of the slice's check of a `done` report, a sentence if the report is implausible. */
export function judge(command: Command, finding: Finding, doubt: string | undefined): Verdict {
  switch (finding.outcome) {
    case 'done':
      return doubt === undefined ? { kind: 'settle', state: 'done' } : { kind: 'review', why: doubt };
    case 'refused':
    case 'unsupported':
      return isFromOwnJournal(command, finding)
        ? { kind: 'settle', state: 'refused' }
        : { kind: 'review', why: `The device says "${finding.outcome}", but its journal is not the one the command was sent under.` };
    case 'busy':
    case 'expired':
    case 'never':
      if (finding.wasAccepted) return { kind: 'review', why: 'The device had accepted the command and now says that it never began.' };
      return isFromOwnJournal(command, finding)
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
 * Only the journal under whose id a command was sent can say that it was not executed [D304]: another one is other hardware, which tells
 * about itself. A device without a journal got one copy: `refused`, `busy` and `expired` refer to that copy, but its `never` proves nothing.
 */
export function isFromOwnJournal(command: Command, finding: Pick<Finding, 'outcome' | 'journalId'>): boolean {
  if (command.journalId === null) return finding.outcome !== 'never';
  return finding.journalId === command.journalId;
}

/** The device has finished the command, although its answer settles nothing: an operator may decide at once [D63]. */
export function isFinishedByDevice(command: Command, { outcome, journalId }: Finding): boolean {
  if (outcome === 'done') return true;
  return outcome === 'unknown' && (command.journalId === null || journalId === command.journalId);
}

/**
 * The meaning of an answer after the settlement [D143].
 * proves nothing: it comes from another journal [D304]. agrees: it confirms the settlement. dispute: it contradicts a settlement by an
 * operator or the gateway, or the device's own earlier "not done". flag: the device itself reported `done`, so that stays, and an operator
 * has to check it. `doubt`: as in `judge`.
 */
export type Comparison = 'agrees' | 'dispute' | 'flag' | 'proves nothing';

export function compareWithSettled(command: Command, finding: Finding, doubt?: string): Comparison {
  if (finding.outcome !== 'done' && !isFromOwnJournal(command, finding)) return 'proves nothing';
  switch (finding.outcome) {
    case 'unknown':
      return 'agrees';
    case 'done':
      if (command.state !== 'done') return 'dispute';
      return doubt === undefined && secondOperation(command, finding) === undefined ? 'agrees' : 'flag';
    case 'refused':
    case 'unsupported':
    case 'busy':
    case 'expired':
    case 'never':
      return deniesSettled(command);
  }
}

function deniesSettled({ state, outcome }: Command): Comparison {
  if (state !== 'done' && state !== 'disputed') return 'agrees';
  return outcome === 'done' ? 'flag' : 'dispute';
}

/** A contradicting answer in short: the same one again has no effect. */
export function contradictionOf({ outcome, report }: Pick<Finding, 'report'> & { outcome: Outcome }): string {
  const numbers = operationNumberFields.flatMap((name) => numberIn(report, name) ?? []);
  return [outcome, ...numbers.map(shortNumber)].join(' ');
}

/** Numbers of the bank and of the fiscal memory: two different ones for one command mean two operations. */
const operationNumberFields = ['operationId', 'receiptId', 'documentNumber', 'number'] as const;

/** Executed twice [D49]: the number in this report, and the number in the settled one. */
export function secondOperation(command: Command, { report }: Finding): { reported: string; settled: string } | undefined {
  const settled = JSON.parse(command.report ?? '{}') as JsonObject;
  for (const name of operationNumberFields) {
    const [before, now] = [numberIn(settled, name), numberIn(report, name)];
    if (before !== undefined && now !== undefined && before !== now) return { reported: shortNumber(now), settled: shortNumber(before) };
  }
  return undefined;
}

/** A number that is no number of a payment or receipt may have any length. */
const shortNumber = (number: string) => shortened(number, 200);

function numberIn(report: JsonObject | undefined, name: string): string | undefined {
  const value = report?.[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

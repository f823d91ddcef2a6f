// What a device's answer means for a command, and what a command's state means for the caller. Pure.
import { GatewayError } from '../kernel/error-codes.ts';
import type { EndingOutcome, JsonObject } from '../link/protocol.ts';
import type { Command, SettledState } from './command.ts';
import { wasRemoved } from './removed.ts';

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

/** The device that had the command says that it is over and that it cannot tell how: it will not act on it any more [D63]. */
export function endsAsUnknown(command: Command, finding: Finding): boolean {
  return finding.outcome === 'unknown' && (command.journalId === null || finding.journalId === command.journalId);
}

/** Whether an answer that comes after the settlement says something else than what was settled. */
export function contradicts(command: Command, finding: Finding): boolean {
  switch (finding.outcome) {
    case 'unknown':
      return false;
    case 'done':
      return command.state !== 'done' || secondDeed(command, finding) !== undefined;
    case 'refused':
    case 'unsupported':
      return command.state === 'done';
    case 'busy':
    case 'expired':
    case 'never':
      return command.state === 'done' && isFromSameJournal(command, finding);
  }
}

/** By which the bank or the fiscal memory knows what was done: two of them for one command are two deeds. */
const deedNumbers = ['operationId', 'receiptId', 'documentNumber', 'number'] as const;

/** Done twice [D49]: which number the report has, and which the one that was settled with. */
export function secondDeed(command: Command, { report }: Finding): { reported: string; settled: string } | undefined {
  const settled = JSON.parse(command.report ?? '{}') as JsonObject;
  for (const name of deedNumbers) {
    const [before, now] = [numberIn(settled, name), numberIn(report, name)];
    if (before !== undefined && now !== undefined && before !== now) return { reported: now, settled: before };
  }
  return undefined;
}

function numberIn(report: JsonObject | undefined, name: string): string | undefined {
  const value = report?.[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** What the caller gets of a command that was done. */
export interface DeviceAnswer {
  /** The command's id, which completion notices call #OID# [D61]; undefined where no command was needed. */
  OID?: string;
  /** The outcome of an earlier request with the same content, whose caller was left without it [D58]. */
  Repeated?: boolean;
  /** The device's own answer, as one JSON document in a string. */
  report?: string;
}

/** The answer of a command that was done; throws what the caller is told about any other [D13, D15]. `further` fields are in either. */
export function answerOf(command: Command, further: object = {}): DeviceAnswer {
  if (command.removedAtMs !== null) throw wasRemoved(command, further);
  if (command.contradictedAtMs !== null) throw saidSinceThatItWasDone(command, further);
  const report = command.report === null ? {} : { report: command.report };
  const fields = { OID: command.id, ...further };
  switch (command.state) {
    case 'done':
      return { ...fields, ...report };
    case 'refused':
      throw new GatewayError(
        'Refused_By_Device',
        command.reason ? `The device refused: ${command.reason}` : 'The device refused the operation.',
        { ...report, fields },
      );
    case 'never':
      if (command.outcome === 'busy')
        throw new GatewayError('Device_Busy', 'The device is busy with another operation; nothing was done.', { ...report, fields });
      throw new GatewayError('Device_Offline', 'The command did not reach the device in time; nothing was done and nothing will be.', {
        fields,
      });
    case 'sent':
    case 'unknown':
      throw outcomeUnknown(fields);
  }
}

/**
 * It was settled as not done, and the device says since that it did it [D129]: not known until a person has looked; and if he found the same,
 * it is not done again.
 */
export function saidSinceThatItWasDone({ id, reviewedAtMs }: Command, further: object = {}): GatewayError {
  const fields = { OID: id, ...further };
  if (reviewedAtMs !== null) {
    return new GatewayError(
      'The_status_cannot_be_applied',
      'The device did this, although it was first settled as not done, and a person has confirmed it; it is not done again.',
      { fields },
    );
  }
  return new GatewayError(
    'Timeout_or_no_response',
    'It was settled as not done, but the device says since that it did it, and a person has to look; learn the outcome by GET Device/Operation/Status with this OID, which starts nothing, and do not begin another operation instead.',
    { fields },
  );
}

/**
 * A person settled an earlier try as not done, and its device has not confirmed it: nothing goes out before it has [D129]. Without the OID of
 * that one, under which its caller would be told that it was refused.
 */
export function notHeardOut(): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'An earlier attempt of this was settled by a person as not done. The device is asked first whether it did it after all, and has not answered yet: nothing was sent. Repeat the request.',
  );
}

/** A repeat of what is under way, one too many. It must not sound as if nothing had been charged, and what it advises is safe to do again. */
export function tooManyWait(command: Command): GatewayError {
  return new GatewayError(
    'Too_Many_Requests',
    'As many calls as may wait for this operation are waiting already. It goes on, and its outcome is not known yet: ask Device/Operation/Status with this OID, which starts nothing.',
    { retryAfterS: 5, fields: { OID: command.id } },
  );
}

/** Mostly read by nobody; whoever reads it all the same may send the request again, as often as he likes [D117]. */
export function callerIsGone(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The caller hung up before the operation began, so it was not begun.', { httpStatus: 503 });
}

/** 3: not known is not the same as not done. The call that it names only asks, however often it is made [D64]. */
function outcomeUnknown(fields: { OID: string }): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'The outcome is not known yet and is being settled; learn it by GET Device/Operation/Status with this OID, which starts nothing, and do not begin another operation instead.',
    { fields },
  );
}

/** Why the device cannot serve a new command now [D14]; `holder` is what keeps it, unless that has ended meanwhile. */
export function busyWith(holder: Command | undefined): GatewayError {
  if (holder?.documentState === 'open') return new GatewayError('Device_Busy', 'An approved payment on this device awaits CloseDoc.');
  return holder?.state === 'unknown'
    ? new GatewayError('Device_Busy', 'The outcome of an earlier operation on this device is still being settled.')
    : new GatewayError('Device_Busy', 'The device is processing another operation.');
}

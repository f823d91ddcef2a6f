// What a caller gets about an operation: one table from its standing and the kind of question to the answer [D140]. Pure.
// Every answer about an operation carries its OID and its State, also a failure. No sentence suggests a new documentNr: a caller that
// followed it would charge again.
import { GatewayError } from '../kernel/error-codes.ts';
import { baniToLei } from '../kernel/money.ts';
import type { Command } from './command.ts';
import { type Follower, remainderOf, type Standing, standingOf, stateNames } from './standing.ts';

/** The answer of an operation that was done. */
export interface DeviceAnswer {
  /** The command's id, which completion notices call #OID# [D61]; undefined where no command was needed. */
  OID?: string;
  State?: string;
  /** Of a payment that was refunded in part: what is left of it, in lei. */
  Remainder?: number;
  /** The outcome of an earlier request with the same content, whose caller lacks it [D58]. */
  Repeated?: boolean;
  /** The device's own answer, as one JSON document in a string. */
  report?: string;
}

/** `query`: the call itself, its repeat with its own key, Operation/Status. `number`: another Pay under a documentNr that is taken. */
export type Question = 'query' | 'number';
type Reply = 'success' | 'ended' | 'unclear' | 'refused' | 'not done';

const toQuery = {
  open: 'unclear',
  done: 'success',
  closed: 'success',
  refunded: 'success',
  voided: 'ended',
  refused: 'refused',
  never: 'not done',
  disputed: 'unclear',
} as const satisfies Record<Standing, Reply>;

const replies: Readonly<Record<Question, Readonly<Record<Standing, Reply>>>> = {
  query: toQuery,
  number: { ...toQuery, closed: 'ended', refunded: 'ended' },
};

export interface Asked {
  question?: Question;
  /** Operations that refer to it, of a payment that may have some. */
  followers?: readonly Follower[];
  /** Further fields of the answer. */
  further?: object;
}

/** The answer of an operation that was done; throws what the caller gets about any other [D13, D15]. */
export function answerOf(command: Command, { question = 'query', followers = [], further = {} }: Asked = {}): DeviceAnswer {
  const standing = standingOf(command, followers);
  const fields = fieldsOf(command, followers, further);
  if (command.removedAtMs !== null) throw wasRemoved(command, fields);
  const report = command.report === null ? {} : { report: command.report };
  switch (replies[question][standing]) {
    case 'success':
      return { ...fields, ...report };
    case 'ended':
      throw new GatewayError('The_status_cannot_be_applied', endedSentences[standing] ?? '', { ...report, fields });
    case 'refused':
      throw refusedByDevice(command, fields);
    case 'not done':
      throw notDone(command, fields);
    case 'unclear':
      throw standing === 'disputed' ? disputed(fields) : outcomeUnknown(fields);
  }
}

/** What every answer about the operation carries. */
export function fieldsOf(command: Command, followers: readonly Follower[] = [], further: object = {}): { OID: string; State: string } {
  const remainderBani = remainderOf(command, followers);
  return {
    OID: command.id,
    State: stateNames[standingOf(command, followers)],
    ...(remainderBani === undefined ? {} : { Remainder: baniToLei(remainderBani) }),
    ...further,
  };
}

/** For another attempt under a number that is taken: throws unless it may get the stored answer [D13, D140]. */
export function refuseEndedNumber(command: Command, followers: readonly Follower[]): void {
  if (replies.number[standingOf(command, followers)] === 'ended') answerOf(command, { question: 'number', followers });
}

const endedSentences: Partial<Record<Standing, string>> = {
  closed: 'This is paid: the payment under this documentNr was approved and its document is closed. It is not charged again.',
  voided: 'The payment was approved and then voided, so nothing is charged any more. It is not charged again.',
  refunded: 'The payment was approved and then refunded in full. It is not charged again.',
};

function refusedByDevice({ reason, report, outcome, settledBy }: Command, fields: object): GatewayError {
  // A reason that an operator wrote is for the shop, not for the ERP; and what the device reported is no refusal if it said that it did it.
  const byOperator = settledBy === 'person';
  const sentence = byOperator
    ? 'An operator decided that the operation was not carried out.'
    : reason
      ? `The device refused: ${reason}`
      : 'The device refused the operation.';
  return new GatewayError('Refused_By_Device', sentence, { ...(report === null || outcome === 'done' ? {} : { report }), fields });
}

function notDone({ outcome, report }: Command, fields: object): GatewayError {
  if (outcome === 'busy') {
    const sentence = 'The device is busy with another operation; nothing was done.';
    return new GatewayError('Device_Busy', sentence, { ...(report === null ? {} : { report }), fields });
  }
  return new GatewayError('Device_Offline', 'The command did not reach the device in time; nothing was done and nothing will be.', {
    fields,
  });
}

/** 3: not known is not the same as not done. The call that it names only asks, however often it is made [D64]. */
function outcomeUnknown(fields: object): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'The outcome is not known yet and is being settled; learn it by GET Device/Operation/Status with this OID, which starts nothing, and do not begin another operation instead.',
    { fields },
  );
}

/** 3 at once, without asking the device: an operator has to resolve the dispute [D143]. */
export function disputed(fields: object): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'The device contradicts what was settled before, and an operator of the gateway has to resolve it. Ask GET Device/Operation/Status with this OID later, which starts nothing, and do not begin another operation instead.',
    { fields },
  );
}

/** The record was removed after its time [D66]: a row is left, so that a repeat never runs. */
export function wasRemoved(command: Command, fields: object = fieldsOf(command)): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    command.state === 'done'
      ? 'This was done long ago, and its record has been removed since; it is not done again.'
      : 'This was tried long ago and not done, and its record has been removed since; it is not tried again under this number.',
    { fields },
  );
}

/**
 * An operator settled an earlier attempt as not done, and its device has not confirmed it: nothing is sent before it has [D129]. Without the
 * OID of that one, under which its caller would get that it was refused.
 */
export function notConfirmedYet(): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'An earlier attempt of this was settled by an operator as not done. The device is asked first whether it did it after all, and has not answered yet: nothing was sent. Repeat the request.',
  );
}

/** An unnamed request that is equal to a disputed one: it may be its repeat, so nothing is sent [D143]. */
export function equalIsDisputed(command: Command): GatewayError {
  return new GatewayError(
    'Device_Busy',
    'An earlier request with the same content is disputed: the device contradicts how it was settled. Nothing was sent. An operator of the gateway has to resolve it: learn how by GET Device/Operation/Status with this OID, and repeat the request only if that one was refused.',
    { fields: fieldsOf(command) },
  );
}

/** A repeat of what is in progress, one too many. It must not sound as if nothing had been charged. */
export function tooManyWait(command: Command): GatewayError {
  return new GatewayError(
    'Too_Many_Requests',
    'As many calls as may wait for this operation are waiting already. It goes on, and its outcome is not known yet: ask Device/Operation/Status with this OID, which starts nothing.',
    { retryAfterS: 5, fields: fieldsOf(command) },
  );
}

/** The caller hung up before the operation began. The request may be sent again, as often as needed [D117]. */
export function callerIsGone(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The caller hung up before the operation began, so it was not begun.', { httpStatus: 503 });
}

/** Why the device cannot serve a new command now [D14]; `holder` is what locks it, unless that has ended meanwhile. */
export function busyWith(holder: Command | undefined): GatewayError {
  if (holder?.documentState === 'open') return new GatewayError('Device_Busy', 'An approved payment on this device awaits CloseDoc.');
  return holder?.state === 'unknown'
    ? new GatewayError('Device_Busy', 'The outcome of an earlier operation on this device is still being settled.')
    : new GatewayError('Device_Busy', 'The device is processing another operation.');
}

// The answer about an operation: one table from its standing and the kind of question to the answer [D140]. Pure.
// Every answer about an operation has its OID and its State, also a failure. No message suggests a new documentNr: a caller that followed
// it would charge again.
import { GatewayError } from '../kernel/error-codes.ts';
import { baniToLei } from '../kernel/money.ts';
import type { Command } from './command.ts';
import { type Follower, remainderOf, type Standing, standingOf, stateNames } from './standing.ts';

/** The answer of an operation that was done. */
export interface DeviceAnswer {
  /** The command's id, #OID# in completion notices [D61]; undefined if no command was needed. */
  OID?: string;
  State?: string;
  /** Of a payment that was refunded in part: the amount not refunded, in lei. */
  Remainder?: number;
  /** This is the outcome of an earlier request with the same content, whose caller lacks it [D58]. */
  Repeated?: boolean;
  /** The device's own answer, as one JSON document in a string. */
  report?: string;
}

/** `query`: the call itself, its repeat with the same key, Operation/Status. `number`: another Pay under a claimed documentNr. */
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
  /** Of a payment: the operations that refer to it. */
  followers?: readonly Follower[];
  /** Further fields of the answer. */
  further?: object;
}

/** The answer of an operation that was done; throws the answer about any other [D13, D15]. */
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

/** The fields of every answer about the operation. */
export function fieldsOf(command: Command, followers: readonly Follower[] = [], further: object = {}): { OID: string; State: string } {
  const remainderBani = remainderOf(command, followers);
  return {
    OID: command.id,
    State: stateNames[standingOf(command, followers)],
    ...(remainderBani === undefined ? {} : { Remainder: baniToLei(remainderBani) }),
    ...further,
  };
}

/** For another attempt under a claimed number: throws unless the attempt may get the stored answer [D13, D140]. */
export function refuseEndedNumber(command: Command, followers: readonly Follower[]): void {
  if (replies.number[standingOf(command, followers)] === 'ended') answerOf(command, { question: 'number', followers });
}

const endedSentences: Partial<Record<Standing, string>> = {
  closed: 'This is paid: the payment under this documentNr was approved and its document is closed. It is not charged again.',
  voided: 'The payment was approved and then voided, so nothing is charged any more. It is not charged again.',
  refunded: 'The payment was approved and then refunded in full. It is not charged again.',
};

function refusedByDevice({ reason, report, outcome, settledBy }: Command, fields: object): GatewayError {
  // An operator's reason is for the shop, not for the ERP; and a report of `done` is no refusal, so it is left out.
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

/** 3: the operation may have been done. The status call that the message names starts nothing [D64]. */
function outcomeUnknown(fields: object): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'The outcome is not known yet. Ask GET Device/Operation/Status with this OID, which starts nothing, until it is; do not begin another operation instead.',
    { fields },
  );
}

/** 3 at once, without a Recall: an operator has to resolve the dispute [D143]. */
export function disputed(fields: object): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'The device contradicts the outcome that was settled before, and an operator of the gateway has to resolve it. Ask GET Device/Operation/Status with this OID later, which starts nothing; do not begin another operation instead.',
    { fields },
  );
}

/** The record was removed after the retention time [D66]; its tombstone keeps a repeat from being executed. */
export function wasRemoved(command: Command, fields: object): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    command.state === 'done'
      ? 'This was done long ago, and its record has been removed since; it is not done again.'
      : 'This was tried long ago and not done, and its record has been removed since; it is not tried again under this number.',
    { fields },
  );
}

/**
 * An operator settled an earlier attempt as not done: nothing is sent until its device has confirmed that [D129]. Without the OID of that
 * attempt, because Operation/Status would answer that it was refused.
 */
export function notConfirmedYet(): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'An operator settled an earlier attempt of this operation as not done. The device must first confirm that and has not answered yet, so nothing was sent. Repeat the request.',
  );
}

/** The same, while other hardware is connected under the DeviceID: only the one that got the attempt can confirm [D304]. */
export function sentToOtherHardware(): GatewayError {
  return new GatewayError(
    'Timeout_or_no_response',
    'An operator settled an earlier attempt of this operation as not done, and other hardware is connected under this DeviceID since. Only the hardware that got the attempt can confirm it, so nothing was sent. Reconnect that hardware, or let an operator of the gateway declare it lost; on another device the number is free.',
  );
}

/** A request without number or key that equals a disputed one: it may be its repeat, so nothing is sent [D143]. */
export function equalIsDisputed(command: Command): GatewayError {
  return new GatewayError(
    'Device_Busy',
    'An earlier request with the same content is disputed: the device contradicts its settlement. Nothing was sent. An operator of the gateway has to resolve the dispute: ask GET Device/Operation/Status with this OID, and repeat the request only if the earlier one was refused.',
    { fields: fieldsOf(command) },
  );
}

/** Too many repeats wait for one operation. The message must not suggest that nothing was charged. */
export function tooManyWait(command: Command): GatewayError {
  return new GatewayError(
    'Too_Many_Requests',
    'Too many calls are waiting for this operation already. It continues, and its outcome is not known yet: ask GET Device/Operation/Status with this OID, which starts nothing.',
    { retryAfterS: 5, fields: fieldsOf(command) },
  );
}

/** The caller disconnected before the operation began. The request may be sent again [D117]. */
export function callerIsGone(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The caller disconnected before the operation began, so it was not started.', {
    httpStatus: 503,
  });
}

/** Why the device cannot accept a new command now [D14]. `holder`: the command that locks it; undefined if it has ended meanwhile. */
export function busyWith(holder: Command | undefined): GatewayError {
  if (holder?.documentState === 'open') return new GatewayError('Device_Busy', 'An approved payment on this device awaits CloseDoc.');
  return holder?.state === 'unknown'
    ? new GatewayError('Device_Busy', 'The outcome of an earlier operation on this device is still being settled.')
    : new GatewayError('Device_Busy', 'The device is processing another operation.');
}

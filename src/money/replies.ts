// Answers as the routes give them, and the few refusals that no rule decides: the caller is gone, too many callers wait.
import { errorCodes, GatewayError } from '../kernel/error-codes.ts';
import type { Id } from './case.ts';
import type { Answer } from './event.ts';

/** The answer of an operation that was done. */
export interface Reply {
  /** The operation's id, #OID# in completion notices [D61]. */
  OID?: string;
  State?: string;
  report?: string;
  [field: string]: unknown;
}

export const codeOf = ({ code }: Answer): number => errorCodes[code].code;

/** Throws every answer but success. */
export function replyTo({ code, sentence, fields, report }: Answer): Reply {
  const text = report === undefined ? undefined : JSON.stringify(report);
  if (code === 'NoError') return { ...fields, ...(text === undefined ? {} : { report: text }) };
  throw new GatewayError(code, sentence, { fields, ...(text === undefined ? {} : { report: text }) });
}

/** The caller disconnected before the operation began. The request may be sent again [D117]. */
export function callerIsGone(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The caller disconnected before the operation began, so it was not started.', {
    httpStatus: 503,
  });
}

export function tooManyWait(answer: Answer | undefined): GatewayError {
  return new GatewayError(
    'Too_Many_Requests',
    'Too many calls are waiting for this operation already. It continues, and its outcome is not known yet: ask GET Device/Operation/Status with this OID, which starts nothing.',
    { retryAfterS: 5, fields: answer?.fields ?? {} },
  );
}

/** Something was sent, and the database cannot be asked what became of it [D59]. */
export function notKnownYet(id: Id): Answer {
  return {
    code: 'Timeout_or_no_response',
    sentence:
      'The outcome is not known yet. Ask GET Device/Operation/Status with this OID, which starts nothing, until it is; do not begin another operation instead.',
    fields: { OID: id, State: 'Open' },
  };
}

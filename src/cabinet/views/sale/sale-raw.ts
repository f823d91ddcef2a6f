// The call and the device's report as received, and the answer to the caller, each as JSON. Pure.

import { maskReport } from '../../../kernel/card-mask.ts';
import { errorCodes, GatewayError } from '../../../kernel/error-codes.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { answerOf } from '../../../ledger/answers.ts';
import { isOpen } from '../../../ledger/command.ts';
import type { Sale, StoryCommand } from './sale-model.ts';
import { starred } from './starred.ts';

export function rawOf(sale: Pick<Sale, 'command' | 'followers'>) {
  const { command } = sale;
  const report = command.report === null ? undefined : starred(JSON.parse(command.report) as Record<string, unknown>);
  const isDecision = report?.['source'] === 'person';
  return {
    request: requestOf(command),
    report: isDecision ? undefined : report,
    // The ledger stores it in the place of a report.
    decision: isDecision ? report : undefined,
    answer: isOpen(command) && command.outcomeMissedAtMs === null ? undefined : answerToCaller(sale),
  };
}

function requestOf({ request, args, name }: StoryCommand): Record<string, unknown> | undefined {
  if (request === null) return undefined;
  const { body, ...call } = JSON.parse(request) as { body: Record<string, unknown> };
  // The receipt is stored once, in the arguments of the command.
  const receipt = operationOf(name).prints && args['receipt'] !== undefined ? { Receipt: maskReport(args['receipt']) } : {};
  return { ...call, body: starred({ ...body, ...receipt }) };
}

/** Derived, because an answer is a function of the command: every caller gets the same one, at any time. */
function answerToCaller({ command, followers }: Pick<Sale, 'command' | 'followers'>): Record<string, unknown> {
  try {
    const { report, ...answer } = answerOf(command, { followers });
    return { errorCode: 0, errorMessage: '', ...answer, ...(report === undefined ? {} : { report: 'as above' }) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { errorCode: errorCodes[error.errorName].code, errorMessage: `${error.errorName}: ${error.message}`, ...error.fields };
  }
}

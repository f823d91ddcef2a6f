// The call and the device's report as received, and the answer to the caller, each as JSON. Pure.

import { maskReport } from '../../../kernel/card-mask.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { isOpen } from '../../../ledger/command.ts';
import type { Sale, StoryCommand } from './sale-model.ts';
import { starred } from './starred.ts';

export function rawOf(sale: Pick<Sale, 'command' | 'said'>) {
  const { command } = sale;
  const report = command.report === null ? undefined : starred(JSON.parse(command.report) as Record<string, unknown>);
  const isDecision = report?.['source'] === 'person';
  return {
    request: requestOf(command),
    report: isDecision ? undefined : report,
    // The ledger stores it in the place of a report.
    decision: isDecision ? report : undefined,
    answer: isOpen(command) && command.outcomeMissedAtMs === null ? undefined : sale.said.answer,
  };
}

function requestOf({ request, args, name }: StoryCommand): Record<string, unknown> | undefined {
  if (request === null) return undefined;
  const { body, ...call } = JSON.parse(request) as { body: Record<string, unknown> };
  // The receipt is stored once, in the arguments of the command.
  const receipt = operationOf(name).prints && args['receipt'] !== undefined ? { Receipt: maskReport(args['receipt']) } : {};
  return { ...call, body: starred({ ...body, ...receipt }) };
}

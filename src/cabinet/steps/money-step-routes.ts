// Operations on a sale by a person. No logic; each requires the Idempotency-Key that its dialog generated when it opened.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { idempotencyOf } from '../../http/idempotency-key.ts';
import { originOfPerson } from '../../http/origin.ts';
import { amountField, deviceErrors, idempotencyHeaders, operationFields, readAmount, type SuccessAnswer } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { isInReview, isOpen } from '../../ledger/command.ts';
import { addRoute } from '../add-route.ts';
import { exampleIds } from '../shared-schemas.ts';
import { createMoneySteps, type MoneyStepsDeps, type PersonalCall } from './money-steps.ts';
import type { StepBound } from './step-refusals.ts';

export function answerOfDevice(description: string): SuccessAnswer {
  return { description, fields: operationFields, example: { OID: exampleIds.callback } };
}

export function personalCallOf(request: FastifyRequest, commandId: string): PersonalCall {
  const idempotency = idempotencyOf(request);
  if (idempotency === undefined)
    throw invalidRequest('Idempotency-Key is required: one for each dialog, so that a double click is one step.');
  return { commandId, actor: actorOf(request), origin: originOfPerson(request, viewerOf(request).name), idempotency };
}

export function registerMoneyStepRoutes(app: RouteApp, deps: MoneyStepsDeps & { bounded: StepBound }): void {
  const { bounded } = deps;
  const steps = createMoneySteps(deps);
  const shared = { headers: idempotencyHeaders, errors: ['Record_not_exist', ...deviceErrors] } as const;
  const callOf = (request: FastifyRequest) => personalCallOf(request, (request.params as { id: string }).id);

  addRoute(app, 'POST /commands/:id/refund', 'refundCommand', {
    ...shared,
    summary: 'Refund part or all of a payment',
    body: Type.Object({ amount: amountField('At most the remainder of the payment.') }),
    answer: answerOfDevice('The refund is made.'),
    handle: (request) => bounded(request, () => steps.refund(callOf(request), readAmount('amount', request.body.amount))),
  });

  addRoute(app, 'POST /commands/:id/void', 'voidCommand', {
    ...shared,
    summary: 'Void a whole payment',
    answer: answerOfDevice('The payment is voided.'),
    handle: (request) => bounded(request, () => steps.void(callOf(request))),
  });

  addRoute(app, 'POST /commands/:id/close', 'closeCommand', {
    ...shared,
    summary: 'Close the document of an approved payment by its terminal',
    answer: answerOfDevice('The document is closed.'),
    handle: (request) => bounded(request, () => steps.close(callOf(request))),
  });

  addRoute(app, 'POST /commands/:id/ask', 'askCommand', {
    summary: 'Ask the device again for the outcome of a command',
    description: 'Reads the device’s journal. It starts nothing; it settles an open outcome.',
    answer: {
      description: 'The current state of the command, whether the device has answered, and whether it contradicts what was settled.',
      fields: { state: Type.String(), isAnswered: Type.Boolean(), isContradicted: Type.Boolean() },
      example: { state: 'done', isAnswered: true, isContradicted: false },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { command, isAnswered } = await bounded(request, () => steps.ask(request.params.id, actorOf(request)));
      return { state: command.state, isAnswered, isContradicted: isInReview(command) && !isOpen(command) };
    },
  });
}

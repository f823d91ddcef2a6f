// Operations on a sale by a person. No logic; each requires the Idempotency-Key that its dialog generated when it opened.
import type { FastifyRequest } from 'fastify';
import { idempotencyOf } from '../../http/idempotency-key.ts';
import { originOfPerson } from '../../http/origin.ts';
import { adminAnswers, amountField, idempotencyHeaders, operationFields, readAmount } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { Type } from '../../kernel/schema-type.ts';
import { configOf } from '../roles.ts';
import { apiPath, exampleIds, idParams, tags } from '../shared-schemas.ts';
import { createMoneySteps, type MoneyStepsDeps, type PersonalCall } from './money-steps.ts';

const deviceErrors = [
  'Record_not_exist',
  'Timeout_or_no_response',
  'Device_Offline',
  'Device_Busy',
  'Refused_By_Device',
  'The_status_cannot_be_applied',
] as const;

export function personalCallOf(request: FastifyRequest, commandId: string): PersonalCall {
  const idempotency = idempotencyOf(request);
  if (idempotency === undefined)
    throw invalidRequest('Idempotency-Key is required: one for each dialog, so that a double click is one step.');
  return { commandId, actor: actorOf(request), origin: originOfPerson(request, viewerOf(request).name), idempotency };
}

export function registerMoneyStepRoutes(app: RouteApp, deps: MoneyStepsDeps): void {
  const steps = createMoneySteps(deps);
  const done = (description: string) =>
    adminAnswers({ description, fields: operationFields, example: { OID: exampleIds.callback } }, ...deviceErrors);
  const callOf = (request: FastifyRequest) => personalCallOf(request, (request.params as { id: string }).id.toLowerCase());

  app.post(
    `${apiPath}/commands/:id/refund`,
    {
      config: configOf('refundCommand'),
      schema: {
        tags,
        operationId: 'refundCommand',
        summary: 'Refund part or all of a payment',
        headers: idempotencyHeaders,
        params: idParams,
        body: Type.Object({ amount: amountField('At most the remainder of the payment.') }),
        response: done('The refund is made.'),
      },
    },
    (request) => steps.refund(callOf(request), readAmount('amount', request.body.amount)),
  );

  app.post(
    `${apiPath}/commands/:id/void`,
    {
      config: configOf('voidCommand'),
      schema: {
        tags,
        operationId: 'voidCommand',
        summary: 'Void a whole payment',
        headers: idempotencyHeaders,
        params: idParams,
        response: done('The payment is voided.'),
      },
    },
    (request) => steps.void(callOf(request)),
  );

  app.post(
    `${apiPath}/commands/:id/close`,
    {
      config: configOf('closeCommand'),
      schema: {
        tags,
        operationId: 'closeCommand',
        summary: 'Close the document of an approved payment by its terminal',
        headers: idempotencyHeaders,
        params: idParams,
        response: done('The document is closed.'),
      },
    },
    (request) => steps.close(callOf(request)),
  );

  app.post(
    `${apiPath}/commands/:id/ask`,
    {
      config: configOf('askCommand'),
      schema: {
        tags,
        operationId: 'askCommand',
        summary: 'Ask the device again for the outcome of a command',
        description: 'Reads the device’s journal. It starts nothing; it settles an open outcome.',
        params: idParams,
        response: adminAnswers(
          { description: 'The current state of the command.', fields: { state: Type.String() }, example: { state: 'done' } },
          'Record_not_exist',
        ),
      },
    },
    async (request) => ({ state: (await steps.ask(request.params.id.toLowerCase(), actorOf(request))).state }),
  );
}

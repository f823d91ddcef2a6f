// What an operator's tools ask: is it alive, is it ready, how does it do.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../kernel/error-codes.ts';
import { metricsOnly, open } from './authentication.ts';
import type { Metrics } from './metrics.ts';
import { adminAnswers, openAnswers } from './schemas.ts';

export interface OperationOptions {
  metrics: Metrics;
  /** Undefined when ready, otherwise one sentence that says what is missing; or it throws, where the catalogue has a name for that. */
  whyNotReady: () => Promise<string | undefined>;
}

export function registerOperationRoutes(app: FastifyInstance, { metrics, whyNotReady }: OperationOptions): void {
  app.get(
    '/health/live',
    {
      config: { access: open },
      schema: {
        tags: ['Operation'],
        operationId: 'healthLive',
        summary: 'The process answers',
        response: openAnswers({ description: 'Alive.', example: {} }),
      },
    },
    () => ({}),
  );

  app.get(
    '/health/ready',
    {
      config: { access: open },
      schema: {
        tags: ['Operation'],
        operationId: 'healthReady',
        summary: 'The gateway can serve',
        description: 'HTTP 503 while the database is away or the gateway is stopping.',
        response: openAnswers({ description: 'Ready.', example: {} }),
      },
    },
    async () => {
      const notReady = { httpStatus: 503, retryAfterS: 1 };
      const reason = await whyNotReady().catch((error: unknown) => {
        if (error instanceof GatewayError) throw new GatewayError(error.errorName, error.message, { ...notReady, cause: error });
        throw error;
      });
      if (reason !== undefined) throw new GatewayError('Internal_error', reason, notReady);
      return {};
    },
  );

  app.get(
    '/metrics',
    {
      config: { access: metricsOnly },
      schema: {
        tags: ['Operation'],
        operationId: 'metrics',
        summary: 'Metrics in the Prometheus text format',
        description: 'With the metrics token, or the admin token.',
        response: {
          ...adminAnswers({ description: 'Metrics.', example: {} }),
          200: { description: 'Metrics.', content: { 'text/plain': { schema: Type.String() } } },
        },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  );
}

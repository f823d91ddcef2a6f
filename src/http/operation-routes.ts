// Routes for an operator's tools: liveness, readiness and metrics.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { GatewayError } from '../kernel/error-codes.ts';
import { metricsOnly, open } from './authentication.ts';
import type { Metrics } from './metrics.ts';
import { adminAnswers, healthAnswers, openAnswers } from './schemas.ts';

export interface OperationOptions {
  metrics: Metrics;
  /** The modes and channels that work; throws if none does. */
  readiness: () => Promise<Readiness>;
  /** Throws while the gateway is stopping. */
  refuseStopping: () => void;
}

const modes = ['POS', 'QR', 'Fiscal'] as const;
/** `partly`: one of the two channels to the devices is down. */
const modeStates = ['up', 'partly', 'down'] as const;

export interface Readiness {
  modes: Record<(typeof modes)[number], (typeof modeStates)[number]>;
  channels: Record<string, boolean>;
}

const readyQuery = Type.Object({
  mode: Type.Optional(Type.Enum(modes, { description: 'Check only this mode: 503 also if only this mode is down.' })),
});
const modeField = Type.Enum(modeStates);
const readyFields = {
  modes: Type.Object({ POS: modeField, QR: modeField, Fiscal: modeField }),
  channels: Type.Object(
    { mqtt: Type.Boolean(), queue: Type.Boolean() },
    { description: 'Whether each channel to the devices is connected.' },
  ),
};

export function registerOperationRoutes(app: FastifyInstance, { metrics, readiness, refuseStopping }: OperationOptions): void {
  app.get(
    '/health/live',
    {
      config: { access: open, logsSuccessAtDebug: true },
      schema: {
        tags: ['Monitoring'],
        operationId: 'healthLive',
        summary: 'The process answers',
        response: openAnswers({ description: 'Alive.', example: {} }),
      },
    },
    () => ({}),
  );

  app.get(
    '/health/accepting',
    {
      config: { access: open, logsSuccessAtDebug: true },
      schema: {
        tags: ['Monitoring'],
        operationId: 'healthAccepting',
        summary: 'The gateway accepts calls',
        description:
          'For whatever sends calls to instances. HTTP 503 only while the gateway is stopping: without its database it answers calls with errorCode 2, which a proxy without an instance could not.',
        response: healthAnswers({ description: 'Calls are accepted.', example: {} }, 'Too_Many_Requests'),
      },
    },
    () => {
      refuseStopping();
      return {};
    },
  );

  app.get(
    '/health/ready',
    {
      config: { access: open, logsSuccessAtDebug: true },
      schema: {
        tags: ['Monitoring'],
        operationId: 'healthReady',
        summary: 'The gateway can serve',
        description:
          'HTTP 503 while the database cannot be reached or written, or the gateway is stopping. Without its brokers, only QR Mode works: the answer has the state of each mode, and ?mode= checks one.',
        querystring: readyQuery,
        response: healthAnswers(
          {
            description: 'Ready, at least for QR Mode.',
            fields: readyFields,
            example: { modes: { POS: 'partly', QR: 'up', Fiscal: 'partly' }, channels: { mqtt: true, queue: false } },
          },
          'Internal_error',
          'Error_Connection_Database',
          'Too_Many_Requests',
        ),
      },
    },
    async (request) => {
      refuseStopping();
      const notReady = { httpStatus: 503, retryAfterS: 1 };
      const ready = await readiness().catch((error: unknown) => {
        if (error instanceof GatewayError) throw new GatewayError(error.errorName, error.message, { ...notReady, cause: error });
        throw error;
      });
      const { mode } = request.query as { mode?: (typeof modes)[number] };
      if (mode !== undefined && ready.modes[mode] === 'down') throw new GatewayError('Internal_error', `${mode} Mode is down.`, notReady);
      return ready;
    },
  );

  app.get(
    '/metrics',
    {
      config: { access: metricsOnly, logsSuccessAtDebug: true },
      schema: {
        tags: ['Monitoring'],
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

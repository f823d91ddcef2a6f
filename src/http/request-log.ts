// The operator's log: one line a request. It holds the route's pattern, never the URL: keys may stand in query strings [D9].
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DestinationStream, type Logger as PinoLogger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { maskCardNumbers } from '../kernel/card-mask.ts';
import type { Logger } from '../kernel/logger.ts';
import { factsOf } from './request-facts.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

// A net under the rule that nobody logs these in the first place.
const secretPaths = ['APIKey', 'apiKey', 'secret', 'password', 'token', 'adminToken', 'authorization'];

export function createLogger(level: LogLevel, destination?: DestinationStream): PinoLogger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: { paths: [...secretPaths, ...secretPaths.map((path) => `*.${path}`)], censor: '[secret]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** An error's own words and those of its causes. What drivers hang on it (the whole connection, the failing row) may hold secrets. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return maskCardNumbers(String(error));
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message: maskCardNumbers(message), code: (error as { code?: unknown }).code, stack: maskCardNumbers(stack ?? '') };
}

export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
}

export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply, durationMs: number): void {
  const { merchantId, errorCode } = factsOf(request);
  const line = {
    requestId: request.id,
    method: request.method,
    route: routeOf(request),
    merchantId,
    httpStatus: reply.raw.statusCode,
    errorCode,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(reply.raw.writableFinished ? {} : { clientLeft: true }),
  };
  if (errorCode === 1 || errorCode === 2) logger.warn(line, 'request');
  else logger.info(line, 'request');
}

/** A crash, with the text of the error freed from card numbers and from whatever secrets the caller had presented. */
export function logCrash(logger: Logger, request: FastifyRequest, error: unknown): void {
  const secrets = factsOf(request).presentedSecrets.filter((secret) => secret.length >= 4);
  const scrub = (text: string) => maskCardNumbers(secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text));
  const stack = scrub(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const cause = error instanceof Error && error.cause instanceof Error ? scrub(error.cause.message) : undefined;
  logger.error({ requestId: request.id, route: routeOf(request), stack, cause }, 'request handler crashed');
}

// The operator's log: one line a request. It holds the route's pattern, never the URL: keys may stand in query strings [D9].
// What the request speaks of (device, document, operation) is told where it is a UUID that is no secret of the caller: nothing else that
// a caller wrote gets into the log.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { maskCardNumbers } from '../kernel/card-mask.ts';
import type { Logger } from '../kernel/logger.ts';
import { factsOf } from './request-facts.ts';

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
    ...subjectsOf(request),
    httpStatus: reply.raw.statusCode,
    errorCode,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(reply.raw.writableFinished ? {} : { clientLeft: true }),
  };
  if (errorCode === 1 || errorCode === 2) logger.warn(line, 'request');
  else if (errorCode === 0 && request.routeOptions.config.isAskedAllTheTime === true) logger.debug(line, 'request');
  else logger.info(line, 'request');
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** For the log and for traces. */
export function subjectsOf(request: FastifyRequest): { deviceId?: string; documentNr?: string; oid?: string } {
  const { presentedSecrets, oid } = factsOf(request);
  const secrets = new Set(presentedSecrets.map((secret) => secret.toLowerCase()));
  const sent = (name: string): unknown => {
    for (const part of [request.body, request.query]) {
      if (part !== null && typeof part === 'object' && Object.hasOwn(part, name)) return (part as Record<string, unknown>)[name];
    }
    return undefined;
  };
  const named = Object.entries({ deviceId: sent('DeviceID'), documentNr: sent('documentNr'), oid: oid ?? sent('OID') })
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string' && uuidPattern.test(entry[1]))
    .map(([name, value]): [string, string] => [name, value.toLowerCase()]);
  return Object.fromEntries(named.filter(([, value]) => !secrets.has(value)));
}

/** A crash, with the text of the error freed from card numbers and from whatever secrets the caller had presented. */
export function logCrash(logger: Logger, request: FastifyRequest, error: unknown): void {
  const secrets = factsOf(request).presentedSecrets.filter((secret) => secret.length >= 4);
  const scrub = (text: string) => maskCardNumbers(secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text));
  const stack = scrub(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const cause = error instanceof Error && error.cause instanceof Error ? scrub(error.cause.message) : undefined;
  logger.error({ requestId: request.id, route: routeOf(request), stack, cause }, 'request handler crashed');
}

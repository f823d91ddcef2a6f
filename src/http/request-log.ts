// The operator's log: one line per request. It has the route's pattern, never the URL: query strings may contain keys [D9].
// The device, document and operation of the request are logged if they are UUIDs and no secret of the caller. No other text of the
// caller is logged.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import { parseUuid } from '../kernel/ids.ts';
import type { Logger } from '../kernel/logger.ts';
import { factsOf } from './request-facts.ts';

export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
}

export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply, durationMs: number): void {
  const { merchantId, errorCode } = factsOf(request);
  const { deviceId, documentNr, oid } = subjectsOf(request);
  // Absent values are undefined: spreading objects here was a twentieth of all memory that a call allocated.
  const line = {
    requestId: request.id,
    method: request.method,
    route: routeOf(request),
    merchantId,
    deviceId,
    documentNr,
    oid,
    httpStatus: reply.raw.statusCode,
    errorCode,
    durationMs: Math.round(durationMs * 10) / 10,
    clientLeft: reply.raw.writableFinished ? undefined : true,
  };
  if (errorCode === 1 || errorCode === 2) logger.warn(line, 'request');
  else if ((errorCode ?? 0) === 0 && request.routeOptions.config.logsSuccessAtDebug === true) logger.debug(line, 'request');
  else logger.info(line, 'request');
}

/** For the log and for traces. */
export function subjectsOf(request: FastifyRequest): Record<'deviceId' | 'documentNr' | 'oid', string | undefined> {
  const { presentedSecrets, oid } = factsOf(request);
  const loggable = (value: unknown): string | undefined => {
    const uuid = parseUuid(value);
    return uuid !== undefined && presentedSecrets.some((secret) => secret.toLowerCase() === uuid) ? undefined : uuid;
  };
  return {
    deviceId: loggable(sent(request, 'DeviceID')),
    documentNr: loggable(sent(request, 'documentNr')),
    oid: loggable(oid ?? sent(request, 'OID')),
  };
}

function sent({ body, query }: FastifyRequest, name: string): unknown {
  return ownField(body, name) ?? ownField(query, name);
}

function ownField(part: unknown, name: string): unknown {
  return part !== null && typeof part === 'object' && Object.hasOwn(part, name) ? (part as Record<string, unknown>)[name] : undefined;
}

/** Logs a crash, with card numbers and the caller's secrets masked in the error. */
export function logCrash(logger: Logger, request: FastifyRequest, error: unknown): void {
  const secrets = factsOf(request).presentedSecrets.filter((secret) => secret.length >= 4);
  const scrub = (text: string) => maskCardNumbers(secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text));
  const stack = scrub(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const cause = error instanceof Error && error.cause instanceof Error ? scrub(error.cause.message) : undefined;
  logger.error({ requestId: request.id, route: routeOf(request), stack, cause }, 'request handler crashed');
}

// The envelope [D4 to D7] and the common headers of every answer. Every failure is answered here, whatever threw it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorCodes, GatewayError } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import { failureBody, successBody, toGatewayError } from './envelope.ts';
import { factsOf, type RequestFacts } from './request-facts.ts';
import { logCrash } from './request-log.ts';
import { aboutThisRequest } from './this-request.ts';

/** A year, for this host alone: other hosts of the domain are not ours to decide on. */
const httpsOnly = 'max-age=31536000';

function setCommonHeaders(reply: FastifyReply, request: FastifyRequest): void {
  if (request.protocol === 'https') reply.header('strict-transport-security', httpsOnly);
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer').header('x-request-id', request.id);
}

export function answerFailure(logger: Logger, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toGatewayError(thrown, request.id);
  const facts = factsOf(request);
  facts.errorCode = errorCodes[error.errorName].code;
  noteOid(facts, error.fields);
  if (error.errorName === 'Internal_error' && !(thrown instanceof GatewayError)) logCrash(logger, request, thrown);
  setCommonHeaders(reply, request);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  // Fastify would close at once, and a client that is still writing could receive the reset before the answer.
  // The rest of the body is read and dropped instead; the request time-out bounds it.
  if (error.httpStatus === 413) reply.removeHeader('connection');
  // The client may never stop sending a body that was cut.
  if (error.httpStatus === 408) reply.header('connection', 'close');
  if (error.httpStatus === 401) reply.header('www-authenticate', 'Bearer');
  const body = failureBody(error, aboutThisRequest(error.errorName, request.routeOptions.config.access));
  reply.code(error.httpStatus).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body);
}

/** For the log. */
function noteOid(facts: RequestFacts, fields: object | undefined): void {
  if (fields !== undefined && 'OID' in fields && typeof fields.OID === 'string') facts.oid = fields.OID;
}

/** `isLast`: whether the connection ends with this answer. */
export function answerInEnvelope(app: FastifyInstance, isLast: () => boolean): void {
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));

  // `next` and not a promise: the hook is synchronous.
  app.addHook('preSerialization', (request, _reply, payload: unknown, next) => {
    const facts = factsOf(request);
    if (facts.errorCode !== undefined) return next(null, payload);
    if (payload === null || typeof payload !== 'object' || Array.isArray(payload))
      throw new Error('A handler must return an object of fields.');
    facts.errorCode = errorCodes.NoError.code;
    noteOid(facts, payload);
    next(null, successBody(payload));
  });

  app.addHook('onSend', (request, reply, payload, next) => {
    // Pictures and pages have no envelope, but metrics count them as successes.
    factsOf(request).errorCode ??= errorCodes.NoError.code;
    setCommonHeaders(reply, request);
    if (isLast()) reply.header('connection', 'close');
    next(null, payload);
  });
}

// From the headers of a request to its handler: it is counted, its body comes in, it gets a slot, and its caller is judged [D8] [D62].
// A slot is taken first for the address, then for the merchant whose key it was, and given back when the request is over: when its
// response is closed and the work on it has ended. Probes of the operator's tools need no slot, so that they see an overload too.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import { networkOf } from '../kernel/network-of.ts';
import { type AccessOptions, createAccessJudge, ownerOf } from './authentication.ts';
import { noSuchPath } from './envelope.ts';
import { createInFlight, type Flight } from './in-flight.ts';
import { checkQuery, textFault } from './json-body.ts';
import type { HttpLimits } from './limits.ts';
import type { Metrics } from './metrics.ts';
import type { Newcomers } from './newcomers.ts';
import { createNotes } from './notes.ts';
import { factsOf } from './request-facts.ts';
import { logRequest, routeOf } from './request-log.ts';
import { createRequestSlots, type Slot } from './request-slots.ts';

export interface AdmissionDeps extends AccessOptions {
  basePath: string;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  limits: HttpLimits;
  newcomers: Newcomers;
  /** Why requests are refused now; undefined while they are accepted. */
  whyNot(): GatewayError | undefined;
}

export interface Admission {
  /** Adds its hooks. */
  attach(app: FastifyInstance): void;
  /** The handler is through with this request, however it went. */
  workEnded(request: FastifyRequest): void;
  /** Resolves when nothing is under way any more, or after the bound. */
  drained(withinMs: number): Promise<void>;
}

export function createAdmission(deps: AdmissionDeps): Admission {
  const { basePath, clock, logger, metrics, limits, newcomers, whyNot } = deps;
  const judge = createAccessJudge(deps);
  const inFlight = createInFlight(clock);
  const flights = createNotes<FastifyRequest, Flight>();
  const slots = createRequestSlots({ clock, count: limits.requestsInFlight, defaultSharePercent: limits.merchantSharePercent });
  const slotOf = createNotes<FastifyRequest, Slot>();

  function isProbe(request: FastifyRequest): boolean {
    return routeOf(request).startsWith(`${basePath}/health/`) || routeOf(request) === `${basePath}/metrics`;
  }

  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const startedAtMs = clock.elapsed();
    const flight = inFlight.begin(() => {
      const durationMs = clock.elapsed() - startedAtMs;
      logRequest(logger, request, reply, durationMs);
      metrics.observeRequest(request.method, routeOf(request), factsOf(request).errorCode, durationMs);
      slotOf.of(request)?.leave();
    });
    flights.set(request, flight);
    reply.raw.once('close', () => flight.responseClosed());
  }

  /** Undefined for those that need none: probes, and what stays open for hours. */
  function takeSlot(request: FastifyRequest): Slot | undefined {
    if (flights.of(request) === undefined || isProbe(request)) return undefined;
    const slot = slots.take({ name: networkOf(request.ip) });
    if (slot === undefined) throw overloaded('The gateway is overloaded.');
    slotOf.set(request, slot);
    return slot;
  }

  /** The headers are in. */
  function onRequest(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    if (request.routeOptions.config.isLongLived !== true) begin(request, reply);
    const refusal = whyNot();
    if (refusal !== undefined && !isProbe(request)) throw refusal;
    checkQuery(request.query);
    // Nothing is stored under such a name, so nothing is there; a hidden path stays hidden by the same answer.
    if (Object.values(request.params ?? {}).some((text) => textFault(String(text)) !== undefined)) throw noSuchPath();
    next();
  }

  /** The body is in. */
  async function preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { socket } = request.raw;
    newcomers.busy(socket, true);
    reply.raw.once('close', () => newcomers.busy(socket, false));
    flights.of(request)?.workStarted();
    const slot = takeSlot(request);
    const { access } = request.routeOptions.config;
    if (request.is404 || access === undefined) return;
    await judge(request, access);
    const owner = ownerOf(request);
    if (owner === undefined) return;
    newcomers.loggedIn(socket);
    if (slot?.moveTo(owner) === false) throw overloaded('This merchant has as many requests under way as its share allows.');
  }

  return {
    attach(app) {
      app.addHook('onRequest', onRequest);
      app.addHook('preValidation', preValidation);
    },
    workEnded: (request) => flights.of(request)?.workEnded(),
    drained: inFlight.drained,
  };
}

function overloaded(reason: string): GatewayError {
  return new GatewayError('Too_Many_Requests', reason, { retryAfterS: 1 });
}

// The steps of a request before its handler: it is counted, its body is read, its caller is authenticated, and it takes a slot [D8] [D62].
// The slot belongs to the merchant of the key or, without a credential, to the anonymous callers. It is released when the response is
// closed and the handler has ended. Health probes and scrapes need no slot, so that they work during an overload. A request whose
// credential is being checked holds none.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../kernel/error-codes.ts';
import { networkOf } from '../kernel/network-of.ts';
import type { World } from '../kernel/world.ts';
import { type AnonymousSlot, createAnonymousSlots } from './anonymous-slots.ts';
import { type Access, type AccessOptions, createAccessJudge, ownerOf } from './authentication.ts';
import { createRequestTurns } from './begins.ts';
import { createCredentialChecks, type Next } from './credential-checks.ts';
import { noSuchPath } from './envelope.ts';
import { readErpFields } from './erp-fields.ts';
import { createInFlight, type Flight } from './in-flight.ts';
import { checkQuery, textFault } from './json-body.ts';
import type { HttpLimits } from './limits.ts';
import type { Metrics } from './metrics.ts';
import { createNotes } from './notes.ts';
import { factsOf } from './request-facts.ts';
import { logRequest, routeOf } from './request-log.ts';
import { createRequestSlots, type Owner, type Slot } from './request-slots.ts';
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts';

export interface AdmissionDeps extends AccessOptions, Pick<World, 'clock' | 'logger'> {
  basePath: string;
  metrics: Metrics;
  limits: HttpLimits;
  unauthenticated: UnauthenticatedConnections;
  /** Why requests are refused now; undefined while they are accepted. */
  whyNot(): GatewayError | undefined;
}

export interface Admission {
  /** Adds its hooks. */
  attach(app: FastifyInstance): void;
  /** Throws unless a large body comes with a valid credential. */
  judgeUnparsed(request: FastifyRequest, needed: Access, body: Buffer): Promise<void>;
  /** Calls `read` when it is the turn of the body of so many bytes, which has arrived. */
  bodyArrived(request: FastifyRequest, bytes: number, read: () => void): void;
  /** The handler of this request has ended, with or without an error. */
  workEnded(request: FastifyRequest): void;
  /** Resolves when no request is in flight, or after the bound. */
  drained(withinMs: number): Promise<void>;
}

export function createAdmission(deps: AdmissionDeps): Admission {
  const { basePath, clock, logger, metrics, limits, unauthenticated, whyNot } = deps;
  const access = createAccessJudge(deps);
  const line = createCredentialChecks(limits.requestsInFlight);
  const turns = createRequestTurns(unauthenticated);
  const inFlight = createInFlight(clock);
  const flights = createNotes<FastifyRequest, Flight>();
  const places = limits.requestsInFlight;
  const slots = createRequestSlots({ clock, count: places, defaultSharePercent: limits.merchantSharePercent });
  const anonymousSlots = createAnonymousSlots({ clock, places, sharePercent: limits.merchantSharePercent });
  const slotOf = createNotes<FastifyRequest, Slot | AnonymousSlot>();
  const isWorkedOn = createNotes<FastifyRequest, boolean>();

  const isProbe = (request: FastifyRequest) => isProbeRoute(basePath, routeOf(request));

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

  function takeSlot(owner: Owner): Slot {
    const slot = slots.take(owner);
    if (slot === undefined) throw overloaded(slots.taken >= places ? full : overShare);
    return slot;
  }

  function takeAnonymousSlot(request: FastifyRequest): AnonymousSlot {
    const slot = anonymousSlots.take(networkOf(request.ip), () => request.raw.socket.destroy());
    if (slot === undefined) throw overloaded('Too many requests without a key are in flight.');
    return slot;
  }

  /** Runs after authentication. Throws if there is no slot. */
  function admit(request: FastifyRequest): void {
    const owner = ownerOf(request);
    if (owner !== undefined) unauthenticated.loggedIn(request.raw.socket, owner.name);
    // Probes and long-lived streams need no slot.
    if (flights.of(request) === undefined || isProbe(request)) return;
    slotOf.set(request, owner === undefined ? takeAnonymousSlot(request) : takeSlot(owner));
  }

  const admitNext = passOn((request) => {
    admit(request);
    if (isErpCall(request)) readErpFields(request);
  });

  /** The headers have arrived. */
  function onRequest(request: FastifyRequest, reply: FastifyReply): void {
    if (request.routeOptions.config.isLongLived !== true) begin(request, reply);
    const refusal = whyNot();
    if (refusal !== undefined && !isProbe(request)) throw refusal;
    checkQuery(request.query);
    // No stored name holds such a text. The answer is that of an unknown path, so that hidden paths stay hidden.
    if (Object.values(request.params ?? {}).some((text) => textFault(String(text)) !== undefined)) throw noSuchPath();
  }

  /** The body has arrived. */
  function preValidation(request: FastifyRequest, _reply: FastifyReply, next: Next): void {
    isWorkedOn.set(request, true);
    unauthenticated.busy(request.raw.socket, true);
    flights.of(request)?.workStarted();
    const { access: needed } = request.routeOptions.config;
    if (request.is404 || needed === undefined || needed.kind === 'open') admitNext(request, next);
    else line.judge(request, access.judge(request, needed), (error) => (error === undefined ? admitNext(request, next) : next(error)));
  }

  /** The answer is ready. A handler that sends its own answer ends only when the client has read it. */
  function onSend(request: FastifyRequest, _reply: FastifyReply, payload: unknown, next: Next): void {
    turns.answered(request, payload);
    if (isWorkedOn.of(request) === true) {
      isWorkedOn.set(request, false);
      unauthenticated.busy(request.raw.socket, false);
      noteAnswered(slotOf.of(request));
    }
    next();
  }

  return {
    attach(app) {
      turns.attach(app.server);
      app.addHook('onRequest', turns.begin(onRequest));
      app.addHook('preValidation', preValidation);
      app.addHook('onSend', onSend);
    },
    judgeUnparsed: (request, needed, body) => line.judged(request, access.judgeUnparsed(request, needed, body)),
    bodyArrived: turns.bodyArrived,
    workEnded: (request) => flights.of(request)?.workEnded(),
    drained: inFlight.drained,
  };
}

function noteAnswered(slot: Slot | AnonymousSlot | undefined): void {
  if (slot !== undefined && 'answered' in slot) slot.answered();
}

function passOn(step: (request: FastifyRequest) => void): (request: FastifyRequest, next: Next) => void {
  return (request, next) => {
    try {
      step(request);
    } catch (error) {
      return next(error as GatewayError);
    }
    next();
  };
}

function isErpCall(request: FastifyRequest): boolean {
  const kind = request.routeOptions.config.access?.kind;
  return kind === 'key' || kind === 'optionalKey';
}

function isProbeRoute(basePath: string, route: string): boolean {
  return route.startsWith(`${basePath}/health/`) || route === `${basePath}/metrics`;
}

const full = 'The gateway is overloaded.';
const overShare = 'This merchant has as many requests in flight as its share allows.';

function overloaded(reason: string): GatewayError {
  return new GatewayError('Too_Many_Requests', reason, { retryAfterS: 1 });
}

// Of the requests of one caller, a few begin in a turn of the event loop; the others wait for the next turns, in their order [D298]. So a
// caller on hundreds of connections delays the others by a few requests for each turn that theirs need, and not by hundreds.
// Invariant: an owner whose requests have all begun takes no memory after the end of the turn.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../kernel/network-of.ts';
import { atTurnsEnd } from '../kernel/system.ts';
import type { Next } from './credential-checks.ts';
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts';

/** A caller with a valid credential, or an address behind a trusted proxy, whose connections carry many callers. */
export const callerBeginsPerTurn = 32;
/** An address whose connections have not logged in. */
export const anonymousBeginsPerTurn = 8;

interface BeginOwner {
  owner: string;
  perTurn: number;
}

interface Waiting {
  perTurn: number;
  begun: number;
  begins: (() => void)[];
}

export function createBegins() {
  const owners = new Map<string, Waiting>();

  function nextTurn(): void {
    for (const [owner, waiting] of [...owners]) {
      const some = waiting.begins.splice(0, waiting.perTurn);
      waiting.begun = some.length;
      if (some.length === 0) owners.delete(owner);
      for (const begin of some) begin();
    }
    if (owners.size > 0) atTurnsEnd(nextTurn);
  }

  return {
    /** Calls `begin` at once, or in a later turn. */
    enter({ owner, perTurn }: BeginOwner, begin: () => void): void {
      const waiting = owners.get(owner);
      if (waiting !== undefined && waiting.begun >= perTurn) return void waiting.begins.push(begin);
      if (waiting !== undefined) waiting.begun += 1;
      else {
        if (owners.size === 0) atTurnsEnd(nextTurn);
        owners.set(owner, { perTurn, begun: 1, begins: [] });
      }
      begin();
    },
    get owners() {
      return owners.size;
    },
  };
}

type OwnerOf = Pick<UnauthenticatedConnections, 'ownerOf'>;

function ownerOf(connections: OwnerOf, request: FastifyRequest): BeginOwner {
  const owner = connections.ownerOf(request.raw.socket);
  if (owner?.isLoggedIn === true) return { owner: `caller ${owner.name}`, perTurn: callerBeginsPerTurn };
  if (owner !== undefined) return { owner: `anonymous ${owner.name}`, perTurn: anonymousBeginsPerTurn };
  // The address of a connection that has ended is not known.
  const address: string | undefined = request.ip;
  return { owner: `proxied ${networkOf(address ?? '')}`, perTurn: callerBeginsPerTurn };
}

/** A hook for the begin of a request, called when it may begin. A request whose connection ends while it waits is never handled. */
export function beginInTurn(connections: OwnerOf, hook: (request: FastifyRequest, reply: FastifyReply) => void) {
  const begins = createBegins();
  return (request: FastifyRequest, reply: FastifyReply, next: Next) =>
    begins.enter(ownerOf(connections, request), () => {
      if (reply.raw.destroyed) return;
      try {
        hook(request, reply);
      } catch (error) {
        return next(error as Error);
      }
      next();
    });
}

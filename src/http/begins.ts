// The work of one caller in a turn of the event loop is bounded; the rest waits for the next turns, in its order [D298, D318]. So a caller on
// hundreds of connections delays the others by a little in each turn that theirs need, and not by all of it. A request is counted when it
// begins and when its body has arrived, and a large body or answer as many. In a turn that accepts a connection far less is begun: Node accepts
// one for each port and turn, so that a new caller waits for as many turns as there are connections before its own.
// Invariant: an owner whose requests have all begun, and who owes nothing, takes no memory after the end of the turn.
import type { Server, Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../kernel/network-of.ts';
import { atTurnsEnd } from '../kernel/system.ts';
import type { Next } from './credential-checks.ts';
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts';

/** A caller with a valid credential, or an address behind a trusted proxy, whose connections carry many callers. */
export const callerBeginsPerTurn = 32;
/** An address whose connections have not logged in. */
export const anonymousBeginsPerTurn = 8;

/** In a turn that accepts a connection: this part of the bounds above. */
const partWhileAccepting = 1 / 8;
/** These bytes of a body or of an answer cost about as much as a small request. */
const bytesPerBegin = 1_024;

export interface BeginOwner {
  owner: string;
  perTurn: number;
}

interface Waiting {
  cost: number;
  begin: () => void;
}

interface Account {
  perTurn: number;
  /** What this turn has begun, and what is left of earlier turns that began more than the bound. */
  spent: number;
  waiting: Waiting[];
}

const costOf = (bytes: number) => Math.floor(bytes / bytesPerBegin);

export function createBegins() {
  const owners = new Map<string, Account>();
  let isAccepting = false;
  let isTurnCounted = false;

  const boundOf = ({ perTurn }: Account) => (isAccepting ? Math.max(1, perTurn * partWhileAccepting) : perTurn);

  function countTurn(): void {
    if (isTurnCounted) return;
    isTurnCounted = true;
    atTurnsEnd(nextTurn);
  }

  function nextTurn(): void {
    isTurnCounted = false;
    for (const [owner, account] of [...owners]) {
      account.spent = Math.max(0, account.spent - boundOf(account));
      while (account.waiting.length > 0 && account.spent < boundOf(account)) spendNext(account);
      if (account.spent === 0) owners.delete(owner);
    }
    isAccepting = false;
    if (owners.size > 0) countTurn();
  }

  function spendNext(account: Account): void {
    const next = account.waiting.shift();
    if (next === undefined) return;
    account.spent += next.cost;
    next.begin();
  }

  function accountOf({ owner, perTurn }: BeginOwner): Account {
    const account = owners.get(owner) ?? { perTurn, spent: 0, waiting: [] };
    owners.set(owner, account);
    countTurn();
    return account;
  }

  return {
    /** Calls `begin` at once, or in a later turn. */
    enter(owner: BeginOwner, begin: () => void, cost = 1): void {
      const account = accountOf(owner);
      account.waiting.push({ cost, begin });
      if (account.waiting.length === 1 && account.spent < boundOf(account)) spendNext(account);
    },
    /** Of work that is done; later work of the owner waits for as long. */
    charge(owner: BeginOwner, cost: number): void {
      if (cost > 0) accountOf(owner).spent += cost;
    },
    /** This turn accepts a connection. */
    accepting(): void {
      isAccepting = true;
      countTurn();
    },
    get owners() {
      return owners.size;
    },
  };
}

type OwnerOf = Pick<UnauthenticatedConnections, 'ownerOf'>;

/** Whose work the data of a connection is. The address of a connection that has ended is not known. */
export function ownerOfSocket(connections: OwnerOf, socket: Socket, address = socket.remoteAddress ?? ''): BeginOwner {
  const owner = connections.ownerOf(socket);
  if (owner?.isLoggedIn === true) return { owner: `caller ${owner.name}`, perTurn: callerBeginsPerTurn };
  if (owner !== undefined) return { owner: `anonymous ${owner.name}`, perTurn: anonymousBeginsPerTurn };
  return { owner: `proxied ${networkOf(address)}`, perTurn: callerBeginsPerTurn };
}

const ownerOf = (connections: OwnerOf, { raw, ip }: FastifyRequest) => ownerOfSocket(connections, raw.socket, ip ?? '');

type Hook = (request: FastifyRequest, reply: FastifyReply) => void;

export function createRequestTurns(connections: OwnerOf) {
  const begins = createBegins();

  return {
    attach: (server: Server) => void server.on('connection', begins.accepting),
    /** Calls the hook when the request may begin. A request whose connection ends while it waits is never handled. */
    begin: (hook: Hook) => (request: FastifyRequest, reply: FastifyReply, next: Next) =>
      begins.enter(ownerOf(connections, request), () => {
        if (reply.raw.destroyed) return;
        try {
          hook(request, reply);
        } catch (error) {
          return next(error as Error);
        }
        next();
      }),
    /** Calls `read` when the body of so many bytes, which has arrived, may be parsed and its request handled. */
    bodyArrived: (request: FastifyRequest, bytes: number, read: () => void) =>
      begins.enter(ownerOf(connections, request), read, 1 + costOf(bytes)),
    answered(request: FastifyRequest, payload: unknown): void {
      const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
      begins.charge(ownerOf(connections, request), costOf(bytes));
    },
  };
}

// What the gateway learns about a request on its way: who asks, what was answered. Kept on Fastify's request
// under a symbol of this room (notes.ts).
import type { FastifyRequest } from 'fastify';
import { createNotes } from './notes.ts';

export interface RequestFacts {
  /** The secrets that the caller presented, so that an error's text can be scrubbed of them before it is logged. */
  presentedSecrets: string[];
  merchantId?: string;
  errorCode?: number;
  /** Of the operation or invoice that the answer names. */
  oid?: string;
}

const factsOfRequest = createNotes<FastifyRequest, RequestFacts>();

export function factsOf(request: FastifyRequest): RequestFacts {
  let facts = factsOfRequest.of(request);
  if (facts === undefined) {
    facts = { presentedSecrets: [] };
    factsOfRequest.set(request, facts);
  }
  return facts;
}

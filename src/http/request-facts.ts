// Data collected while a request is processed: the caller and the answer. Stored on Fastify's request (notes.ts).
import type { FastifyRequest } from 'fastify';
import { createNotes } from './notes.ts';

export interface RequestFacts {
  /** The secrets that the caller presented; they are masked in errors before logging. */
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

// What makes a repeated POST recognisable [D13, D58]: the header Idempotency-Key and a hash of what was asked.
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asPairs, canonicalJson } from '../kernel/canonical-json.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import { type Recipient, recipientOf } from './recipient.ts';

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The header's value, undefined if there is none. */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const value = request.headers['idempotency-key'];
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !visibleAscii.test(value)) {
    throw invalidRequest('Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  return value;
}

/** SHA-256, in hex, of the route and the body, whatever the order of its fields. The key is left out: it may be rotated between two tries. */
export function requestHash(request: FastifyRequest): string {
  const { body } = request;
  const fields = body !== null && typeof body === 'object' ? { ...body, APIKey: undefined } : body;
  const route = `${request.method} ${request.routeOptions.url ?? ''}`.toLowerCase();
  return hash('sha256', `[${JSON.stringify(route)},${canonicalJson(fields, asPairs)}]`);
}

/** What the ledger needs to recognise a repeat; undefined when the caller sent no key. */
export function idempotencyOf(request: FastifyRequest): { key: string; requestHash: string } | undefined {
  const key = idempotencyKeyOf(request);
  return key === undefined ? undefined : { key, requestHash: requestHash(request) };
}

export interface Recognition {
  idempotency: { key: string; requestHash: string } | undefined;
  /** Worked out where it is asked for: most calls are known by a number. */
  hashRequest: () => string;
  recipient: Recipient;
}

/** By what the ledger recognises a repeat of this call, with or without a key, and who waits for its answer. */
export function recognitionOf(request: FastifyRequest, reply: FastifyReply): Recognition {
  const idempotency = idempotencyOf(request);
  return { idempotency, hashRequest: () => idempotency?.requestHash ?? requestHash(request), recipient: recipientOf(reply) };
}

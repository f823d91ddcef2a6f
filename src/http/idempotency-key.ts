// Repeated POSTs are recognised by the header Idempotency-Key and a hash of the request [D13, D58].
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

/** SHA-256, in hex, of the route and the body, independent of field order. The API key is left out: it may be rotated between two tries. */
export function requestHash(request: FastifyRequest): string {
  const { body } = request;
  const fields = body !== null && typeof body === 'object' ? { ...body, APIKey: undefined } : body;
  const route = `${request.method} ${request.routeOptions.url ?? ''}`.toLowerCase();
  return hash('sha256', `[${JSON.stringify(route)},${canonicalJson(fields, asPairs)}]`);
}

/** The idempotency key and the request hash; undefined if the caller sent no key. */
export function idempotencyOf(request: FastifyRequest): { key: string; requestHash: string } | undefined {
  const key = idempotencyKeyOf(request);
  return key === undefined ? undefined : { key, requestHash: requestHash(request) };
}

export interface Recognition {
  idempotency: { key: string; requestHash: string } | undefined;
  /** Computed on demand: most calls are recognised by a number. */
  hashRequest: () => string;
  recipient: Recipient;
}

/** Input of the ledger: how to recognise a repeat of this call, with or without a key, and the caller that waits for the answer. */
export function recognitionOf(request: FastifyRequest, reply: FastifyReply): Recognition {
  const idempotency = idempotencyOf(request);
  return { idempotency, hashRequest: () => idempotency?.requestHash ?? requestHash(request), recipient: recipientOf(reply) };
}

// The origin of a command: the caller and the call as received. It is stored in the command's row, so it costs no extra statement. The API
// key is not in it: the key check removes it from the body. Card numbers are masked, and so is every secret of the caller that occurs
// elsewhere in the call [D163].
import type { FastifyRequest } from 'fastify';
import { maskReport } from '../kernel/card-mask.ts';
import { mayHoldCardNumber } from '../kernel/card-numbers.ts';
import { callerOf } from './authentication.ts';
import { factsOf } from './request-facts.ts';

export interface Origin {
  /** `key <id>`, or `person <name>` for an action in the cabinet. */
  caller: string;
  /** JSON of method, path, body and the Idempotency-Key, if there was one. */
  request: string;
}

/** Begins the caller of an action in the cabinet. */
export const personPrefix = 'person ';

/** `leaveOut`: fields that the command stores anyway, such as the receipt. */
export function originOf(request: FastifyRequest, ...leaveOut: string[]): Origin {
  return { caller: `key ${callerOf(request).keyId}`, request: describeCall(request, leaveOut) };
}

export function originOfPerson(request: FastifyRequest, name: string): Origin {
  return { caller: `${personPrefix}${name}`, request: describeCall(request, []) };
}

function describeCall(request: FastifyRequest, leaveOut: readonly string[]): string {
  const { method, body } = request;
  const kept = body !== null && typeof body === 'object' ? without(body, leaveOut) : {};
  const key = request.headers['idempotency-key'];
  const path = request.routeOptions.url;
  const write = (kept: unknown) => JSON.stringify({ method, path, idempotencyKey: key, body: kept });
  const text = write(kept);
  return withoutSecrets(mayHoldCardNumber(text) ? write(maskReport(kept)) : text, factsOf(request).presentedSecrets);
}

/** Shorter texts are no secrets of this gateway; masking them would garble other words. */
const shortestSecret = 8;

/** In a JSON text; letter case is ignored, as in a UUID. */
function withoutSecrets(json: string, secrets: readonly string[]): string {
  const found = new Set(secrets.filter((secret) => secret.length >= shortestSecret).map((secret) => JSON.stringify(secret).slice(1, -1)));
  // The key check has removed the key, so nearly always there is nothing to mask, and no expression to compile. In capitals, because a
  // small sigma depends on the letter after it.
  const folded = json.toUpperCase();
  if (![...found].some((secret) => folded.includes(secret.toUpperCase()))) return json;
  return json.replace(new RegExp([...found].map(RegExp.escape).join('|'), 'gi'), '[secret]');
}

function without(body: object, leaveOut: readonly string[]): object {
  return leaveOut.length === 0 ? body : Object.fromEntries(Object.entries(body).filter(([name]) => !leaveOut.includes(name)));
}

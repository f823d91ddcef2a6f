// The cookies of the cabinet, and the proof that a change comes from the cabinet's own page and from no other site.
// The cookies cannot be read by scripts and do not travel from other sites (SameSite). With HTTPS their names begin with __Host-, so that
// no other host and no page without HTTPS can set them. Besides, every change needs a header that a foreign page cannot send without
// asking first (which this server never grants), and an Origin, where the browser sends one, of our own.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../kernel/error-codes.ts';

const ownHeader = 'x-tillgate-request';

/** session: who is signed in. browser: that a user has signed in here before. */
type Kind = 'session' | 'browser';

export interface CookiePlace {
  basePath: string;
  /** {base_url} as others call it, if it is configured: HTTPS there means HTTPS in the browser, whatever reaches this process. */
  publicUrl?: string | undefined;
}

function isSecure(request: FastifyRequest, { publicUrl }: CookiePlace): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}

/** A __Host- cookie has the path /, so that its name keeps gateways on one host apart. */
function nameOf(kind: Kind, request: FastifyRequest, place: CookiePlace): string {
  return isSecure(request, place) ? `__Host-${place.basePath.slice(1) || 'tillgate'}_${kind}` : `tillgate_${kind}`;
}

/** Its value, or undefined. Two of one name with different values are none: one of them was set by another site. */
export function readCookie(request: FastifyRequest, place: CookiePlace, kind: Kind): string | undefined {
  const wanted = nameOf(kind, request, place);
  const values = new Set<string>();
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === wanted && pair.slice(at + 1).trim() !== '') values.add(pair.slice(at + 1).trim());
  }
  const [value] = values;
  return values.size === 1 ? value : undefined;
}

/** Seconds: how long the browser keeps it. */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  place: CookiePlace,
  kind: Kind,
  { value, lifetimeMs }: { value: string; lifetimeMs: number },
): void {
  const isHttps = isSecure(request, place);
  const parts = [
    `${nameOf(kind, request, place)}=${value}`,
    `Path=${isHttps ? '/' : place.basePath || '/'}`,
    `Max-Age=${Math.max(0, Math.floor(lifetimeMs / 1000))}`,
    'HttpOnly',
    'SameSite=Strict',
  ];
  // Fastify adds to the cookies that are set already.
  reply.header('set-cookie', [...parts, ...(isHttps ? ['Secure'] : [])].join('; '));
}

export function clearCookie(request: FastifyRequest, reply: FastifyReply, place: CookiePlace, kind: Kind): void {
  setCookie(request, reply, place, kind, { value: '', lifetimeMs: 0 });
}

/** Scheme, host and port. Of the public host only the public scheme is ours, whatever reaches this process behind a proxy. */
function isOwnOrigin(request: FastifyRequest, publicUrl: string | undefined): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const given = new URL(origin);
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (known !== undefined && given.host === known.host) return given.protocol === known.protocol;
  return given.origin === `${request.protocol}://${request.host.toLowerCase()}`;
}

/** Throws unless the request can only have come from our own page, or from a program that means it. */
export function requireOwnPage(request: FastifyRequest, publicUrl: string | undefined): void {
  const refused = (sentence: string) => new GatewayError('Invalid_Request', sentence, { httpStatus: 403 });
  if (request.headers[ownHeader] !== '1') throw refused(`The header ${ownHeader} must be 1.`);
  if (!isOwnOrigin(request, publicUrl)) {
    throw refused('The header Origin must be that of the cabinet; behind a proxy, TILLGATE_PUBLIC_URL is the address in the browser.');
  }
}

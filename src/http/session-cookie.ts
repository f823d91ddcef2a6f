// The cookies of the cabinet, and its protection against cross-site request forgery.
// Scripts cannot read the cookies, and other sites cannot send them (SameSite). With HTTPS their names begin with __Host-, so that no other
// host and no page without HTTPS can set them. Besides, every change needs a header that a foreign page can send only after a CORS
// preflight, which this server never grants; and the Origin, if the browser sends one, must be ours.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../kernel/error-codes.ts';

const ownHeader = 'x-tillgate-request';

/** session: the signed-in user. browser: a user has signed in from this browser before. */
type Kind = 'session' | 'browser';

export interface CookiePlace {
  basePath: string;
  /** The public {base_url}, if configured: HTTPS there means HTTPS in the browser, even if this process receives plain HTTP. */
  publicUrl?: string | undefined;
}

function isSecure(request: FastifyRequest, { publicUrl }: CookiePlace): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}

/** A __Host- cookie must have the path /, so the name must keep gateways on one host apart. */
function nameOf(kind: Kind, request: FastifyRequest, place: CookiePlace): string {
  return isSecure(request, place) ? `__Host-${place.basePath.slice(1) || 'tillgate'}_${kind}` : `tillgate_${kind}`;
}

/** The value, or undefined. Two cookies of one name with different values are ignored: another site set one of them. */
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
  // Fastify appends to cookies that are already set.
  reply.header('set-cookie', [...parts, ...(isHttps ? ['Secure'] : [])].join('; '));
}

export function clearCookie(request: FastifyRequest, reply: FastifyReply, place: CookiePlace, kind: Kind): void {
  setCookie(request, reply, place, kind, { value: '', lifetimeMs: 0 });
}

/** Compares scheme, host and port. For the public host only the public scheme counts, even if a proxy forwards plain HTTP. */
function isOwnOrigin(request: FastifyRequest, publicUrl: string | undefined): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const given = new URL(origin);
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (known !== undefined && given.host === known.host) return given.protocol === known.protocol;
  return given.origin === `${request.protocol}://${request.host.toLowerCase()}`;
}

/** Throws unless the request comes from our own page or from a program other than a browser. */
export function requireOwnPage(request: FastifyRequest, publicUrl: string | undefined): void {
  const refused = (sentence: string) => new GatewayError('Invalid_Request', sentence, { httpStatus: 403 });
  if (request.headers[ownHeader] !== '1') throw refused(`The header ${ownHeader} must be 1.`);
  if (!isOwnOrigin(request, publicUrl)) {
    throw refused('The header Origin must be that of the cabinet; behind a proxy, TILLGATE_PUBLIC_URL is the address in the browser.');
  }
}

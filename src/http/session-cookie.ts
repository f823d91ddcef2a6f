// The cookie of a cabinet session, and the proof that a change comes from the cabinet's own page and from no other site.
// The cookie cannot be read by scripts and does not travel from other sites (SameSite). Besides, every change needs a header that a foreign
// page cannot send without asking first (and nobody here answers such a question), and an Origin, where the browser tells one, of our own.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../kernel/error-codes.ts';

export const sessionCookie = 'tillgate_session';
const ownHeader = 'x-tillgate-request';

/** The token, or undefined; another cookie of that name that came from a wider path stands behind ours. */
export function readSessionToken(request: FastifyRequest): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.split('=', 2);
    if (name.trim() === sessionCookie && value.trim() !== '') return value.trim();
  }
  return undefined;
}

export interface CookiePlace {
  basePath: string;
  /** {base_url} as others call it, if it is configured: HTTPS there means HTTPS in the browser, whatever reaches this process. */
  publicUrl?: string | undefined;
}

function writeCookie(request: FastifyRequest, reply: FastifyReply, place: CookiePlace, value: string, seconds: number): void {
  const isSecure = request.protocol === 'https' || place.publicUrl?.startsWith('https:') === true;
  const parts = [`${sessionCookie}=${value}`, `Path=${place.basePath || '/'}`, `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Strict'];
  reply.header('set-cookie', [...parts, ...(isSecure ? ['Secure'] : [])].join('; '));
}

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  place: CookiePlace,
  session: { token: string; leftMs: number },
): void {
  writeCookie(request, reply, place, session.token, Math.max(0, Math.floor(session.leftMs / 1000)));
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply, place: CookiePlace): void {
  writeCookie(request, reply, place, '', 0);
}

function isOwnOrigin(request: FastifyRequest, publicUrl: string | undefined): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return host === request.host.toLowerCase() || (publicUrl !== undefined && host === new URL(publicUrl).host);
}

/** Throws unless the request can only have come from our own page, or from a program that means it. */
export function requireOwnPage(request: FastifyRequest, publicUrl: string | undefined): void {
  const refused = (sentence: string) => new GatewayError('Invalid_Request', sentence, { httpStatus: 403 });
  if (request.headers[ownHeader] !== '1') throw refused(`The header ${ownHeader} must be 1.`);
  if (!isOwnOrigin(request, publicUrl)) throw refused('The header Origin must name the host that is called.');
}

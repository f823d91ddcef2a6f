// Shared parts of the routes about users: the form of a user, and the caller.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { knownBrowserMs } from '../../access/people/known-browsers.ts';
import type { Person } from '../../access/people/own-account.ts';
import type { NewSession } from '../../access/people/sessions.ts';
import { textField } from '../../http/schemas.ts';
import { setCookie } from '../../http/session-cookie.ts';
import { viewerOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { networkOf } from '../../kernel/network-of.ts';
import type { CabinetDeps } from '../deps.ts';
import { exampleIds, exampleTime, moment } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';

export const roleField = Type.Enum(['operator', 'merchant', 'viewer']);
export const emailField = textField('E-mail, by which they sign in; letter case does not matter.', 254);
// Only an upper bound: the rule for new passwords is checked where one is set.
export const passwordField = Type.String({ minLength: 1, maxLength: 1024, description: 'Password; a new one has 12 to 256 characters.' });
export const codeField = textField('Six digits of the authenticator app; each code works once.', 16);
export const linkFields = {
  link: Type.String({ description: 'One-time link, shown only once; give it to the user.' }),
  linkExpiresAt: moment,
};
export const exampleLink = {
  link: 'https://pay.example.md/tillgate/cabinet/link#wT3xq0Yv8mN5bK2rJ7cH4gF9dS1aL6pZ0uE3iO8yXkM',
  linkExpiresAt: exampleTime,
};

export const userFields = {
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: roleField,
  merchantId: Type.Optional(Type.String({ description: 'Absent: all merchants.' })),
  merchantName: Type.Optional(Type.String()),
  hasTotp: Type.Boolean(),
  state: Type.Enum(['invited', 'active', 'disabled']),
  createdAt: moment,
};
export const exampleUser = {
  id: 'a3f1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c66',
  email: 'ana@shop.md',
  name: 'Ana',
  role: 'merchant',
  merchantId: exampleIds.merchant,
  merchantName: 'Corner shop',
  hasTotp: false,
  state: 'active',
  createdAt: exampleTime,
};

export function originOf(request: FastifyRequest): { address: string; agent: string } {
  return { address: networkOf(request.ip), agent: request.headers['user-agent'] ?? '' };
}

/** The signed-in user; the admin token has no account. */
export function personOf(request: FastifyRequest): Person {
  const { userId, sessionId, actor, role } = viewerOf(request);
  if (userId === undefined || sessionId === undefined) {
    throw new GatewayError('API_Key_Wrong_Product', 'The admin token has no account; sign in as a user.', { httpStatus: 403 });
  }
  return { userId, sessionId, actor, role, ...originOf(request) };
}

export function setSessionCookie(deps: CabinetDeps, request: FastifyRequest, reply: FastifyReply, session: NewSession): void {
  setCookie(request, reply, deps, 'session', { value: session.token, lifetimeMs: session.leftMs });
}

/** Sets the cookies and returns the signed-in user. */
export async function welcome(
  deps: CabinetDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, session }: { userId: string; session: NewSession },
) {
  setSessionCookie(deps, request, reply, session);
  const value = await deps.people.browsers.sign(userId);
  setCookie(request, reply, deps, 'browser', { value, lifetimeMs: knownBrowserMs });
  const user = await deps.people.findUser(userId);
  return { user: user && shownRow(user) };
}

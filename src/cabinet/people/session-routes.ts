// Sign in, confirm, list and end sessions, the sandbox's sign-in button, and one-time links.
// No token is part of a URL: that of a link is sent in a body, that of a session in a cookie that scripts cannot read.

import { Type } from 'typebox';
import { noSuchPath } from '../../http/envelope.ts';
import { dateTimeField, openAnswers, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { clearCookie, readCookie } from '../../http/session-cookie.ts';
import { actorOf, optionalViewerOf, viewerOf } from '../../http/viewer.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { exampleIds, exampleTime, listOf, moment } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import {
  codeField,
  emailField,
  exampleUser,
  originOf,
  passwordField,
  personOf,
  setSessionCookie,
  userFields,
  welcome,
} from './people-schemas.ts';

const tokenField = textField('The part after the # of the link.', 128);
const whoCameIn = {
  description: 'The signed-in user; the cookie is set.',
  fields: { user: Type.Object(userFields) },
  example: { user: exampleUser },
};

const whoCameInOrCode = {
  description: 'The signed-in user, and the cookie is set; or needsCode: repeat the call with a code.',
  fields: { user: Type.Optional(Type.Object(userFields)), needsCode: Type.Optional(Type.Boolean()) },
  example: { user: exampleUser },
};

export function registerSessionRoutes(app: RouteApp, deps: CabinetDeps): void {
  registerSession(app, deps);
  registerSessionList(app, deps);
  registerEndOfAll(app, deps);
  registerLinks(app, deps);
}

function registerSession(app: RouteApp, deps: CabinetDeps): void {
  const { people, isSandbox, version, basePath, banks } = deps;
  addRoute(app, 'GET /session', 'readSession', {
    summary: 'The signed-in user, and facts about this gateway',
    response: openAnswers({
      description: 'Without a user: not signed in.',
      fields: {
        user: Type.Optional(Type.Object(userFields)),
        confirmedUntil: Type.Optional(dateTimeField('Until then no confirmation is needed.')),
        needsTotp: Type.Optional(Type.Boolean({ description: 'true: one-time codes must be set up before anything else.' })),
        isSandbox: Type.Boolean(),
        version: Type.String(),
        basePath: Type.String(),
        banks: listOf({ code: Type.String(), name: Type.String() }),
      },
      example: {
        user: exampleUser,
        confirmedUntil: exampleTime,
        needsTotp: false,
        isSandbox: false,
        version: '1.0.0',
        basePath: '/tillgate',
        banks: [{ code: 'maib', name: 'maib' }],
      },
    }),
    handle: async (request) => {
      const viewer = optionalViewerOf(request);
      const user = viewer?.userId === undefined ? undefined : await people.findUser(viewer.userId);
      return {
        user: user && shownRow(user),
        confirmedUntil: viewer && user && isoTime(people.confirmedUntilMs(viewer)),
        needsTotp: user && viewer?.needsTotp,
        isSandbox,
        version,
        basePath,
        banks,
      };
    },
  });

  addRoute(app, 'POST /session', 'signIn', {
    summary: 'Sign in',
    description:
      'Wrong attempts are limited per network, per account and in all; a browser that has signed in before is limited only by its own attempts. An earlier session of this browser ends.',
    body: Type.Object({ email: emailField, password: passwordField, code: Type.Optional(codeField) }),
    answer: whoCameInOrCode,
    handle: async (request, reply) => {
      const earlierSessionId = optionalViewerOf(request)?.sessionId;
      const browserOf = await people.browsers.read(readCookie(request, deps, 'browser'));
      const signedIn = await people.signIn({ ...request.body, earlierSessionId, browserOf }, originOf(request));
      return 'needsCode' in signedIn ? signedIn : welcome(deps, request, reply, signedIn);
    },
  });

  addRoute(app, 'POST /session/sandbox', 'enterSandbox', {
    summary: 'Enter the sandbox',
    description: 'Only in a sandbox; elsewhere there is no such path.',
    response: openAnswers(whoCameIn),
    handle: async (request, reply) => {
      const entered = await people.enterSandbox(originOf(request));
      if (!entered) throw noSuchPath();
      return welcome(deps, request, reply, entered);
    },
  });

  addRoute(app, 'DELETE /session', 'signOut', {
    summary: 'Sign out',
    response: openAnswers({ description: 'Signed out.', example: {} }),
    handle: async (request, reply) => {
      if (optionalViewerOf(request)?.sessionId !== undefined) await people.signOut(personOf(request));
      clearCookie(request, reply, deps, 'session');
    },
  });

  addRoute(app, 'POST /session/confirm', 'confirmSession', {
    summary: 'Confirm with the password or a code',
    description: 'Allows calls that answer needsConfirmation for 15 minutes. The cookie is replaced.',
    body: Type.Object({ password: Type.Optional(passwordField), code: Type.Optional(codeField) }),
    answer: {
      description: 'Confirmed.',
      fields: { confirmedUntil: moment },
      example: { confirmedUntil: exampleTime },
    },
    handle: async (request, reply) => {
      const { password, code } = request.body;
      if ((password === undefined) === (code === undefined)) throw invalidRequest('password or code is needed, one of the two.');
      const session = await people.confirm(personOf(request), { password, code });
      setSessionCookie(deps, request, reply, session);
      return { confirmedUntil: isoTime(session.confirmedUntilMs) };
    },
  });
}

function registerSessionList(app: RouteApp, { people }: CabinetDeps): void {
  addRoute(app, 'GET /sessions', 'listSessions', {
    summary: 'Open sessions',
    querystring: Type.Object({ userId: Type.Optional(uuidField('The user; operators only. Absent: your own sessions.')) }),
    answer: {
      description: 'Newest first.',
      fields: {
        sessions: listOf({
          id: Type.String(),
          isThis: Type.Boolean({ description: 'The session of this request.' }),
          createdAt: moment,
          expiresAt: moment,
          address: Type.String(),
          agent: Type.String({ description: 'The User-Agent of the browser.' }),
        }),
      },
      example: {
        sessions: [
          { id: exampleIds.key, isThis: true, createdAt: exampleTime, expiresAt: exampleTime, address: '192.0.2.7', agent: 'Firefox' },
        ],
      },
    },
    handle: async (request) => {
      const viewer = viewerOf(request);
      const asked = viewer.role === 'operator' ? request.query.userId?.toLowerCase() : undefined;
      const sessions = await people.listSessions(asked ?? personOf(request).userId);
      return {
        sessions: sessions.map(({ userId: _userId, ...session }) => ({ ...shownRow(session), isThis: session.id === viewer.sessionId })),
      };
    },
  });

  addRoute(app, 'DELETE /sessions/:id', 'endSession', {
    summary: 'End a session',
    description: 'Your own; operators may end every session. Its event streams end with it.',
    answer: 'The session has ended.',
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { role, userId } = viewerOf(request);
      await people.endSession(actorOf(request), request.params.id, role === 'operator' ? undefined : userId);
    },
  });
}

function registerEndOfAll(app: RouteApp, { people }: CabinetDeps): void {
  addRoute(app, 'DELETE /sessions', 'endAllSessions', {
    summary: 'End all sessions',
    description: "For an emergency. The caller's own session ends, too.",
    answer: { description: 'The number of ended sessions.', fields: { ended: Type.Integer() }, example: { ended: 12 } },
    handle: async (request) => ({ ended: await people.endAllSessions(actorOf(request)) }),
  });
}

function registerLinks(app: RouteApp, deps: CabinetDeps): void {
  const { people } = deps;
  addRoute(app, 'POST /links/read', 'readLink', {
    summary: 'What a one-time link is for',
    body: Type.Object({ token: tokenField }),
    response: openAnswers(
      {
        description: 'Without an e-mail: the link is for the first operator, who enters the e-mail when using it.',
        fields: {
          purpose: Type.Enum(['invitation', 'reset']),
          needsCode: Type.Boolean({ description: 'true: a code of the authenticator app is needed, too.' }),
          email: Type.Optional(Type.String()),
          name: Type.Optional(Type.String()),
          expiresAt: moment,
        },
        example: { purpose: 'invitation', needsCode: false, email: 'ana@shop.md', name: 'Ana', expiresAt: exampleTime },
      },
      'Record_not_exist',
    ),
    handle: async (request) => {
      const { subject: _subject, merchantId: _merchantId, ...link } = await people.readLink(request.body.token);
      return shownRow(link);
    },
  });

  addRoute(app, 'POST /links/use', 'useLink', {
    summary: 'Set a password with a one-time link, and sign in',
    description: 'All other sessions of the user end. One-time codes stay on: with them, a code is needed here, too.',
    body: Type.Object({
      token: tokenField,
      password: passwordField,
      name: Type.Optional(textField('Another name.', 200)),
      email: Type.Optional(emailField),
      code: Type.Optional(codeField),
    }),
    answer: whoCameInOrCode,
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request, reply) => {
      const signedIn = await people.useLink(request.body, originOf(request));
      return 'needsCode' in signedIn ? signedIn : welcome(deps, request, reply, signedIn);
    },
  });
}

// Users in the cabinet: invite, change, remove, reset the password; and changes of one's own account.

import { Type } from 'typebox';
import { cursorOf, type ListedUser } from '../../access/people/users.ts';
import { textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOf } from '../own-rows.ts';
import { listOf, merchantQuery } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import {
  codeField,
  emailField,
  exampleLink,
  exampleUser,
  linkFields,
  passwordField,
  personOf,
  roleField,
  setSessionCookie,
  userFields,
} from './people-schemas.ts';

const standingFields = {
  merchantId: Type.Optional(uuidField('Merchant of the user: required for the role merchant, and for a viewer of one merchant.')),
  allMerchants: Type.Optional(Type.Boolean({ description: 'A viewer of all merchants; only an operator can grant this.' })),
};
const userBody = Type.Object({ email: emailField, name: textField('Their name.', 200), role: roleField, ...standingFields });
const changeBody = Type.Object({
  name: Type.Optional(textField('Another name.', 200)),
  role: Type.Optional(roleField),
  ...standingFields,
  isActive: Type.Optional(Type.Boolean({ description: 'false: they cannot sign in, and their sessions end.' })),
  totp: Type.Optional(
    Type.Literal(false, { description: 'false: one-time codes are turned off, for a user who has lost the app; operators only.' }),
  ),
});
const usersQuery = Type.Object({
  ...merchantQuery.properties,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'How many at most (50).' })),
  cursor: Type.Optional(textField('`next` of the previous page.', 300)),
});

export function registerUserRoutes(app: RouteApp, deps: CabinetDeps): void {
  registerUsers(app, deps);
  registerUserChanges(app, deps);
  registerOwnAccount(app, deps);
}

function registerUsers(app: RouteApp, { people }: CabinetDeps): void {
  addRoute(app, 'GET /users', 'listUsers', {
    summary: 'List users',
    querystring: usersQuery,
    answer: {
      description: 'By e-mail, with the cursor of the next page if there is one.',
      fields: { users: listOf(userFields), next: Type.String() },
      example: { users: [exampleUser] },
    },
    handle: async (request) => {
      const { merchantId, cursor, limit = 50 } = request.query;
      const users = await people.listUsers({ merchantId: scopeOf(request, merchantId), after: cursor, limit: limit + 1 });
      const page = users.slice(0, limit);
      return { users: page.map(shownRow), next: users.length > limit ? cursorOf(page[limit - 1] as ListedUser) : undefined };
    },
  });

  addRoute(app, 'POST /users', 'createUser', {
    summary: 'Invite a user',
    description:
      'They set their password with the link, within 24 hours; the first operator within one. A user cannot grant a role above their own or outside their merchant.',
    body: userBody,
    answer: {
      description: 'The user, and the link to give to them.',
      fields: { user: Type.Object(userFields), ...linkFields },
      example: { user: { ...exampleUser, state: 'invited' }, ...exampleLink },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { merchantId, ...wanted } = request.body;
      // A merchant's user invites to their own merchant; an operator names it.
      const own = wanted.role === 'operator' || wanted.allMerchants === true ? merchantId : scopeOf(request, merchantId);
      const { user, link, expiresAtMs } = await people.createUser(viewerOf(request), { ...wanted, merchantId: own });
      return { user: shownRow(user), link, linkExpiresAt: isoTime(expiresAtMs) };
    },
  });

  addRoute(app, 'POST /users/first-operator', 'inviteFirstOperator', {
    summary: 'Create a link for the first operator',
    description: 'Valid for an hour; a newer link replaces it. Only while no operator can sign in; invite later operators by e-mail.',
    answer: { description: 'The operator enters name and e-mail when using it.', fields: linkFields, example: exampleLink },
    errors: ['The_status_cannot_be_applied'],
    handle: async (request) => {
      const made = await people.firstOperatorLink(actorOf(request), false);
      if (typeof made === 'string') {
        throw new GatewayError('The_status_cannot_be_applied', 'There is an operator already; invite others by their e-mail.');
      }
      return { link: made.link, linkExpiresAt: isoTime(made.expiresAtMs) };
    },
  });
}

function registerUserChanges(app: RouteApp, { people }: CabinetDeps): void {
  addRoute(app, 'PATCH /users/:id', 'changeUser', {
    summary: 'Change a user',
    description:
      'A change of role or merchant, or making them inactive, ends their sessions and an open link at once. A user who gains rights also loses password and one-time codes, and the answer has a new link for them; only an operator can do that to a user who has a password. The last operator cannot be changed to another role.',
    body: changeBody,
    answer: {
      description: 'The changed user; with a link to give to them if they gained rights.',
      fields: { user: Type.Object(userFields), ...linkFields },
      example: { user: exampleUser },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { id } = request.params;
      const { merchantId, ...change } = request.body;
      const wanted = { ...change, merchantId: merchantId?.toLowerCase() };
      const { link, expiresAtMs } = await people.changeUser(viewerOf(request), id, wanted);
      const user = await people.findUser(id);
      return { user: user && shownRow(user), link, linkExpiresAt: expiresAtMs === undefined ? undefined : isoTime(expiresAtMs) };
    },
  });

  addRoute(app, 'DELETE /users/:id', 'deleteUser', {
    summary: 'Remove a user',
    description: 'Their sessions end at once; their entries stay in the audit log. The last operator cannot be removed.',
    answer: 'The user is removed.',
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: (request) => people.deleteUser(viewerOf(request), request.params.id),
  });

  addRoute(app, 'POST /users/:id/link', 'renewUserLink', {
    summary: 'Create a new one-time link for a user',
    description:
      'For a forgotten password (operators only) or a lost invitation. An older link ends; the old password works until the link is used.',
    params: Type.Object({ id: textField('Id or e-mail of the user.', 254) }),
    answer: { description: 'The link to give to the user.', fields: linkFields, example: exampleLink },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { link, expiresAtMs } = await people.renewLink(viewerOf(request), request.params.id);
      return { link, linkExpiresAt: isoTime(expiresAtMs) };
    },
  });
}

function registerOwnAccount(app: RouteApp, deps: CabinetDeps): void {
  const { people } = deps;
  addRoute(app, 'POST /me/password', 'changePassword', {
    summary: 'Change your password',
    description: 'All other sessions end; the cookie of this one is replaced.',
    body: Type.Object({ current: passwordField, next: passwordField }),
    answer: 'The password is changed.',
    handle: async (request, reply) => {
      setSessionCookie(deps, request, reply, await people.changePassword(personOf(request), request.body));
    },
  });

  addRoute(app, 'POST /me/totp', 'startTotp', {
    summary: 'Create a secret for an authenticator app',
    description: 'It becomes active when the confirm call gets a code made with it.',
    answer: {
      description: 'Shown only once.',
      fields: { secret: Type.String(), uri: Type.String({ description: 'Content of the QR code for the app.' }) },
      example: {
        secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
        uri: 'otpauth://totp/Tillgate%3Aana%40shop.md?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Tillgate',
      },
    },
    handle: (request) => people.startTotp(personOf(request)),
  });

  addRoute(app, 'POST /me/totp/confirm', 'confirmTotp', {
    summary: 'Turn one-time codes on',
    body: Type.Object({ code: codeField }),
    answer: 'Signing in needs a code from now on.',
    errors: ['The_status_cannot_be_applied'],
    handle: (request) => people.confirmTotp(personOf(request), request.body.code),
  });

  addRoute(app, 'DELETE /me/totp', 'removeTotp', {
    summary: 'Turn one-time codes off',
    answer: 'The password is enough again.',
    handle: (request) => people.removeTotp(personOf(request)),
  });
}

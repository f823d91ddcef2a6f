// Users in the cabinet: invite, change, remove, reset the password; and changes of one's own account.

import { cursorOf, type ListedUser } from '../../access/people/users.ts';
import { adminAnswers, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { Type } from '../../kernel/schema-type.ts';
import { scopeOf } from '../own-rows.ts';
import { configOf } from '../roles.ts';
import { apiPath, idParams, listOf, merchantQuery, tags } from '../shared-schemas.ts';
import {
  codeField,
  emailField,
  exampleLink,
  exampleUser,
  linkFields,
  type PeopleRoutesDeps,
  passwordField,
  personOf,
  roleField,
  setSessionCookie,
  shownUser,
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
const done = (description: string) => adminAnswers({ description, example: {} }, 'Record_not_exist', 'The_status_cannot_be_applied');

export function registerUserRoutes(app: RouteApp, deps: PeopleRoutesDeps): void {
  registerUsers(app, deps);
  registerUserChanges(app, deps);
  registerOwnAccount(app, deps);
}

function registerUsers(app: RouteApp, { people }: PeopleRoutesDeps): void {
  app.get(
    `${apiPath}/users`,
    {
      config: configOf('listUsers'),
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        querystring: usersQuery,
        response: adminAnswers({
          description: 'By e-mail, with the cursor of the next page if there is one.',
          fields: { users: listOf(userFields), next: Type.String() },
          example: { users: [exampleUser] },
        }),
      },
    },
    async (request) => {
      const { merchantId, cursor, limit = 50 } = request.query;
      const users = await people.listUsers({ merchantId: scopeOf(request, merchantId), after: cursor, limit: limit + 1 });
      const page = users.slice(0, limit);
      return { users: page.map(shownUser), next: users.length > limit ? cursorOf(page[limit - 1] as ListedUser) : undefined };
    },
  );

  app.post(
    `${apiPath}/users`,
    {
      config: configOf('createUser'),
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Invite a user',
        description:
          'They set their password with the link, within 24 hours; the first operator within one. A user cannot grant a role above their own or outside their merchant.',
        body: userBody,
        response: adminAnswers(
          {
            description: 'The user, and the link to give to them.',
            fields: { user: Type.Object(userFields), ...linkFields },
            example: { user: { ...exampleUser, state: 'invited' }, ...exampleLink },
          },
          'Record_not_exist',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { merchantId, ...wanted } = request.body;
      // A merchant's user invites to their own merchant; an operator names it.
      const own = wanted.role === 'operator' || wanted.allMerchants === true ? merchantId : scopeOf(request, merchantId);
      const { user, link, expiresAtMs } = await people.createUser(viewerOf(request), { ...wanted, merchantId: own });
      return { user: shownUser(user), link, linkExpiresAt: isoTime(expiresAtMs) };
    },
  );

  app.post(
    `${apiPath}/users/first-operator`,
    {
      config: configOf('inviteFirstOperator'),
      schema: {
        tags,
        operationId: 'inviteFirstOperator',
        summary: 'Create a link for the first operator',
        description: 'Valid for an hour; a newer link replaces it. Only while no operator can sign in; invite later operators by e-mail.',
        response: adminAnswers(
          { description: 'The operator enters name and e-mail when using it.', fields: linkFields, example: exampleLink },
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const made = await people.firstOperatorLink(actorOf(request), false);
      if (typeof made === 'string') {
        throw new GatewayError('The_status_cannot_be_applied', 'There is an operator already; invite others by their e-mail.');
      }
      return { link: made.link, linkExpiresAt: isoTime(made.expiresAtMs) };
    },
  );
}

function registerUserChanges(app: RouteApp, { people }: PeopleRoutesDeps): void {
  app.patch(
    `${apiPath}/users/:id`,
    {
      config: configOf('changeUser'),
      schema: {
        tags,
        operationId: 'changeUser',
        summary: 'Change a user',
        description:
          'A change of role or merchant, or making them inactive, ends their sessions and an open link at once. A user who gains rights also loses password and one-time codes, and the answer has a new link for them. The last operator cannot be changed to another role.',
        params: idParams,
        body: changeBody,
        response: adminAnswers(
          {
            description: 'The changed user; with a link to give to them if they gained rights.',
            fields: { user: Type.Object(userFields), ...linkFields },
            example: { user: exampleUser },
          },
          'Record_not_exist',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const id = request.params.id.toLowerCase();
      const { merchantId, ...change } = request.body;
      const wanted = { ...change, merchantId: merchantId?.toLowerCase() };
      const { link, expiresAtMs } = await people.changeUser(viewerOf(request), id, wanted);
      const user = await people.findUser(id);
      return { user: user && shownUser(user), link, linkExpiresAt: expiresAtMs === undefined ? undefined : isoTime(expiresAtMs) };
    },
  );

  app.delete(
    `${apiPath}/users/:id`,
    {
      config: configOf('deleteUser'),
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Remove a user',
        description: 'Their sessions end at once; their entries stay in the audit log. The last operator cannot be removed.',
        params: idParams,
        response: done('The user is removed.'),
      },
    },
    async (request) => {
      await people.deleteUser(viewerOf(request), request.params.id.toLowerCase());
      return {};
    },
  );

  app.post(
    `${apiPath}/users/:id/link`,
    {
      config: configOf('renewUserLink'),
      schema: {
        tags,
        operationId: 'renewUserLink',
        summary: 'Create a new one-time link for a user',
        description:
          'For a forgotten password (operators only) or a lost invitation. An older link ends; the old password works until the link is used.',
        params: Type.Object({ id: textField('Id or e-mail of the user.', 254) }),
        response: adminAnswers(
          { description: 'The link to give to the user.', fields: linkFields, example: exampleLink },
          'Record_not_exist',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { link, expiresAtMs } = await people.renewLink(viewerOf(request), request.params.id);
      return { link, linkExpiresAt: isoTime(expiresAtMs) };
    },
  );
}

function registerOwnAccount(app: RouteApp, deps: PeopleRoutesDeps): void {
  const { people } = deps;
  app.post(
    `${apiPath}/me/password`,
    {
      config: configOf('changePassword'),
      schema: {
        tags,
        operationId: 'changePassword',
        summary: 'Change your password',
        description: 'All other sessions end; the cookie of this one is replaced.',
        body: Type.Object({ current: passwordField, next: passwordField }),
        response: adminAnswers({ description: 'The password is changed.', example: {} }),
      },
    },
    async (request, reply) => {
      setSessionCookie(deps, request, reply, await people.changePassword(personOf(request), request.body));
      return {};
    },
  );

  app.post(
    `${apiPath}/me/totp`,
    {
      config: configOf('startTotp'),
      schema: {
        tags,
        operationId: 'startTotp',
        summary: 'Create a secret for an authenticator app',
        description: 'It becomes active when the confirm call gets a code made with it.',
        response: adminAnswers({
          description: 'Shown only once.',
          fields: { secret: Type.String(), uri: Type.String({ description: 'Content of the QR code for the app.' }) },
          example: {
            secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
            uri: 'otpauth://totp/Tillgate%3Aana%40shop.md?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Tillgate',
          },
        }),
      },
    },
    (request) => people.startTotp(personOf(request)),
  );

  app.post(
    `${apiPath}/me/totp/confirm`,
    {
      config: configOf('confirmTotp'),
      schema: {
        tags,
        operationId: 'confirmTotp',
        summary: 'Turn one-time codes on',
        body: Type.Object({ code: codeField }),
        response: adminAnswers({ description: 'Signing in needs a code from now on.', example: {} }, 'The_status_cannot_be_applied'),
      },
    },
    async (request) => {
      await people.confirmTotp(personOf(request), request.body.code);
      return {};
    },
  );

  app.delete(
    `${apiPath}/me/totp`,
    {
      config: configOf('removeTotp'),
      schema: {
        tags,
        operationId: 'removeTotp',
        summary: 'Turn one-time codes off',
        response: adminAnswers({ description: 'The password is enough again.', example: {} }),
      },
    },
    async (request) => {
      await people.removeTotp(personOf(request));
      return {};
    },
  );
}

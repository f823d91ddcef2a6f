// Merchants, API keys and the audit log in the cabinet's API.

import { Type } from 'typebox';
import { listAudit } from '../../access/audit.ts';
import { dateTimeField, readUuid, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { parseMoment } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOf } from '../own-rows.ts';
import { defaultPage, exampleIds, exampleTime, listOf, merchantQuery, moment, pageFields } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';

const moduleField = Type.Enum(['POS', 'QR', 'Fiscal']);

const merchantBody = Type.Object({ name: textField('Name of the merchant.', 200) });

const shareField = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Percent of the request slots that the merchant may take, all its keys together.',
});

const keyBody = Type.Object({
  merchantId: uuidField('Owner of the key.'),
  name: textField('What the key is for.', 200),
  modules: Type.Array(moduleField, { minItems: 1, maxItems: 3, description: 'The modules that the key opens.' }),
  expiresAt: Type.Optional(dateTimeField('When the key ends; absent: never.')),
});

// The body is optional.
const rotateBody = Type.Union([
  Type.Object({
    overlapS: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'Seconds for which the old key stays valid (86400).' }),
    ),
  }),
  Type.Null(),
]);

const auditQuery = Type.Object({
  ...pageFields,
  ...merchantQuery.properties,
  subject: Type.Optional(textField('Only changes of the object with this id.', 100)),
  actor: Type.Optional(textField('Only changes by this actor; among the newest fifty thousand entries.', 254)),
  action: Type.Optional(textField('Only this action, such as key.create; among the newest fifty thousand entries.', 60)),
  before: Type.Optional(Type.Integer({ minimum: 1, description: 'Only entries older than the one with this id.' })),
});

export function registerAccessRoutes(app: RouteApp, deps: CabinetDeps): void {
  registerMerchants(app, deps);
  registerShare(app, deps);
  registerKeys(app, deps);

  addRoute(app, 'GET /audit', 'listAudit', {
    summary: 'Who changed what, newest first',
    querystring: auditQuery,
    answer: {
      description: 'Entries of the audit log.',
      fields: {
        audit: listOf({
          id: Type.Integer(),
          at: moment,
          actor: Type.String(),
          action: Type.String(),
          subject: Type.String(),
          detail: Type.Object({}, { additionalProperties: true }),
        }),
      },
      example: {
        audit: [{ id: 17, at: exampleTime, actor: 'admin token', action: 'key.revoke', subject: exampleIds.key, detail: {} }],
      },
    },
    handle: async (request) => {
      const { query } = request;
      const entries = await listAudit(deps.database.pages, {
        merchantId: scopeOf(request, query.merchantId),
        hidesOperators: viewerOf(request).merchantId !== undefined,
        limit: query.limit ?? defaultPage,
        subject: query.subject,
        actor: query.actor,
        action: query.action,
        beforeId: query.before,
      });
      return { audit: entries.map(shownRow) };
    },
  });
}

function registerMerchants(app: RouteApp, { access }: CabinetDeps): void {
  addRoute(app, 'POST /merchants', 'createMerchant', {
    summary: 'Create a merchant',
    body: merchantBody,
    answer: {
      description: 'The new merchant. callbackSecret verifies the signatures of its callbacks and is shown only once.',
      fields: { id: uuidField('Its id.'), name: Type.String(), callbackSecret: Type.String() },
      example: { id: exampleIds.merchant, name: 'Corner shop', callbackSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw4xN7s0p1Qe4=' },
    },
    handle: (request) => access.createMerchant(actorOf(request), request.body.name),
  });

  addRoute(app, 'GET /merchants', 'listMerchants', {
    summary: 'List merchants',
    answer: {
      description: 'All merchants, oldest first.',
      fields: {
        merchants: listOf({ id: Type.String(), name: Type.String(), createdAt: moment, sharePercent: Type.Optional(shareField) }),
      },
      example: { merchants: [{ id: exampleIds.merchant, name: 'Corner shop', createdAt: exampleTime }] },
    },
    handle: async (request) => {
      return { merchants: (await access.listMerchants(scopeOf(request))).map(shownRow) };
    },
  });
}

function registerShare(app: RouteApp, { access }: CabinetDeps): void {
  addRoute(app, 'POST /merchants/:id/share', 'setMerchantShare', {
    summary: 'Set the share of a merchant in the request slots',
    description:
      'It gets more while slots are free and no other merchant waits. Without sharePercent the setting TILLGATE_MERCHANT_SHARE applies again.',
    body: Type.Object({ sharePercent: Type.Optional(shareField) }, { examples: [{ sharePercent: 30 }] }),
    answer: 'The share is set.',
    errors: ['Record_not_exist'],
    handle: (request) => access.setShare(actorOf(request), request.params.id, request.body.sharePercent),
  });
}

function registerKeys(app: RouteApp, { access }: CabinetDeps): void {
  const exampleKey = 'c0ffee00-8a7b-4c6d-9e5f-1a2b3c4d5e6f';

  addRoute(app, 'POST /keys', 'createKey', {
    summary: 'Create an API key',
    body: keyBody,
    answer: {
      description: 'The key, shown only once: only its hash is stored.',
      fields: { id: uuidField('Id of the key, for lists and revocation.'), key: uuidField('The key itself.'), expiresAt: moment },
      example: { id: exampleIds.key, key: exampleKey },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { merchantId, name, modules, expiresAt } = request.body;
      const fresh = await access.createKey(actorOf(request), {
        merchantId: readUuid('merchantId', merchantId),
        name,
        modules,
        expiresAtMs: expiresAt === undefined ? undefined : parseMoment('expiresAt', expiresAt),
      });
      return shownRow(fresh);
    },
  });

  addRoute(app, 'GET /keys', 'listKeys', {
    summary: 'List API keys',
    querystring: merchantQuery,
    answer: {
      description: 'Keys without the keys themselves, newest first. `lastUsedAt` may be a minute late.',
      fields: {
        keys: listOf({
          id: Type.String(),
          merchantId: Type.String(),
          name: Type.String(),
          modules: Type.Array(moduleField),
          state: Type.Enum(['active', 'expired', 'revoked']),
          createdAt: moment,
          expiresAt: Type.Optional(moment),
          revokedAt: Type.Optional(moment),
          replacedBy: Type.Optional(Type.String()),
          lastUsedAt: Type.Optional(moment),
        }),
      },
      example: {
        keys: [
          {
            id: exampleIds.key,
            merchantId: exampleIds.merchant,
            name: 'ERP',
            modules: ['POS', 'QR'],
            state: 'active',
            createdAt: exampleTime,
            lastUsedAt: exampleTime,
          },
        ],
      },
    },
    handle: async (request) => {
      const keys = await access.listKeys(scopeOf(request, request.query.merchantId));
      return { keys: keys.map(shownRow) };
    },
  });

  addRoute(app, 'POST /keys/:id/revoke', 'revokeKey', {
    summary: 'Revoke an API key',
    description: 'Takes effect at once on this instance and within seconds on the others. Repeating it changes nothing.',
    answer: { description: 'The key is revoked.', fields: { revokedAt: moment }, example: { revokedAt: exampleTime } },
    errors: ['Record_not_exist'],
    handle: async (request) => shownRow(await access.revokeKey(actorOf(request), request.params.id)),
  });

  addRoute(app, 'POST /keys/:id/rotate', 'rotateKey', {
    summary: 'Rotate an API key',
    description:
      'A new key with the same name, modules and lifetime; the old one stays valid for the overlap, or until its own expiry if that is sooner.',
    body: rotateBody,
    answer: {
      description: 'The new key, shown only once.',
      fields: { id: uuidField('Id of the new key.'), key: uuidField('The new key.'), expiresAt: moment, oldKeyEndsAt: moment },
      example: { id: exampleIds.key, key: exampleKey, oldKeyEndsAt: exampleTime },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const overlapS = request.body?.overlapS;
      const overlapMs = overlapS === undefined ? undefined : overlapS * 1000;
      return shownRow(await access.rotateKey(actorOf(request), request.params.id, overlapMs));
    },
  });
}

// The signing secret of a merchant's callbacks: rotation with an overlap, and a test callback to check that the ERP verifies signatures.

import { Type } from 'typebox';
import { writeAudit } from '../../access/audit.ts';
import { newCallbackSecret } from '../../access/secrets.ts';
import { replaceSigningSecret } from '../../callbacks/signing-secrets.ts';
import { textField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { exampleIds, exampleTime, moment } from '../shared-schemas.ts';
import { hideLogin } from '../views/sale/hidden-login.ts';

const defaultOverlapS = 24 * 3600;
// The body is optional.
const overlapBody = Type.Union([
  Type.Object({
    overlapS: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000, description: 'Seconds for which the old secrets stay valid at most (86400).' }),
    ),
  }),
  Type.Null(),
]);

export function registerSigningRoutes(app: RouteApp, { database, random }: CabinetDeps): void {
  addRoute(app, 'POST /merchants/:id/secret', 'rotateSigningSecret', {
    summary: "Replace a merchant's signing secret",
    description:
      'During the overlap every callback has a signature by the new secret and by each old one, so the ERP can switch at any time. With overlapS 0 the old secrets end at once.',
    body: overlapBody,
    answer: {
      description: 'The new secret, shown only once.',
      fields: { secret: Type.String(), oldSecretEndsAt: moment },
      example: { secret: 'whsec_ZXhhbXBsZS1zZWNyZXQtb2YtYS1tZXJjaGFudC0wMQ==', oldSecretEndsAt: exampleTime },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { id: merchantId } = request.params;
      const secret = newCallbackSecret(random);
      const overlapMs = (request.body?.overlapS ?? defaultOverlapS) * 1000;
      const { oldSecretEndsAtMs } = await database.transaction(async (queries) => {
        const replaced = await replaceSigningSecret(database.engine, queries, merchantId, secret, overlapMs);
        const detail = { oldSecretEndsAtMs: replaced.oldSecretEndsAtMs };
        await writeAudit(queries, { actor: actorOf(request), action: 'merchant.secret', subject: merchantId, merchantId, detail });
        return replaced;
      });
      return { secret, oldSecretEndsAt: isoTime(oldSecretEndsAtMs) };
    },
  });
}

export function registerTestCallback(app: RouteApp, { database, random, callbacks }: CabinetDeps): void {
  addRoute(app, 'POST /merchants/:id/test-callback', 'sendTestCallback', {
    summary: 'Send a test callback',
    description:
      'One GET at once, signed like any other, to a URL in the form of CallbackURI: #OID# is all zeros, #State# is Test, tillgate-sequence is 0. Nothing is stored or retried.',
    body: Type.Object({ url: textField('The URL, with optional placeholders.', 2048) }),
    answer: {
      description: 'The HTTP status of the answer, or the reason why there is none.',
      fields: {
        id: Type.String({ description: 'webhook-id of the call.' }),
        url: Type.String(),
        isDelivered: Type.Boolean(),
        status: Type.Integer(),
        error: Type.String(),
        durationMs: Type.Integer(),
        responseHead: Type.String(),
      },
      example: {
        id: exampleIds.callback,
        url: 'https://erp.example.md/paid?oid=00000000-0000-0000-0000-000000000000&state=Test',
        isDelivered: true,
        status: 200,
        durationMs: 41,
      },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { id: merchantId } = request.params;
      const id = random.uuid();
      const sent = await callbacks.sendTest({ id, merchantId, template: request.body.url });
      const { url, status, error, durationMs, responseHead } = sent;
      const isDelivered = status !== null && status >= 200 && status <= 299;
      const detail = { url: hideLogin(url), isDelivered };
      await writeAudit(database.queries, { actor: actorOf(request), action: 'callback.test', subject: merchantId, merchantId, detail });
      return {
        id,
        url: hideLogin(url),
        isDelivered,
        status: status ?? undefined,
        error: error ?? undefined,
        durationMs,
        responseHead: responseHead ?? undefined,
      };
    },
  });
}

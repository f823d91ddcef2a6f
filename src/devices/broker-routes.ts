// The routes for RabbitMQ's HTTP authentication backend: may this device log in, enter the vhost, use the queue, the exchange, the topic.
// Without the envelope: RabbitMQ reads the word `allow` or `deny`, and treats everything else, also a failure, as `deny`.
// A disabled device is always denied. But RabbitMQ caches the answers of a connection, so an existing connection must be closed there
// (docs/operating.md).
// The path contains a token that only RabbitMQ and the gateway know. A request without it gets the 404 of a missing path before any of it
// is read. Logs, metrics and the API document contain only the pattern of the path, never the token.

import { Type } from 'typebox';
import { createTokenCheck, knownAs, open } from '../http/authentication.ts';
import { noSuchPath } from '../http/envelope.ts';
import { factsOf } from '../http/request-facts.ts';
import type { RouteApp } from '../http/server.ts';
import { type BrokerQuestion, type Decision, decideResource, decideTopic, decideUser, decideVhost } from '../link/broker-auth.ts';
import type { Devices } from './devices.ts';

export interface BrokerRoutesDeps {
  devices: Pick<Devices, 'checkSecret' | 'mayStay'>;
  /** The logins of a device that floods the broker are refused for a while. */
  isRefused?: ((deviceId: string) => boolean) | undefined;
  /** Each of them is valid: two while one is being replaced. None: the routes are not registered. */
  tokens: readonly string[];
  /** The vhost of the devices. */
  vhost?: string;
}

const field = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const questionSchema = Type.Object({
  username: field('DeviceID.'),
  password: field('Secret of the device; asked with user only.'),
  client_id: field('Client id of an MQTT connection.'),
  'variable_map.client_id': field('The same in a question about a topic.'),
  vhost: field('Virtual host.'),
  resource: field('queue, exchange or topic.'),
  name: field('Name of the queue or exchange.'),
  permission: field('configure, write or read.'),
  routing_key: field('Routing key of the message or subscription.'),
});

function readQuestion(fields: unknown): BrokerQuestion {
  const entries = Object.entries((fields ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

export function registerBrokerRoutes(app: RouteApp, { devices, isRefused = () => false, tokens, vhost = '/' }: BrokerRoutesDeps): void {
  if (tokens.length === 0) return;
  const checks = tokens.map(createTokenCheck);
  // All tokens are compared, so that the timing reveals nothing about them.
  const isToken = (candidate: string) => checks.filter((check) => check(candidate)).length > 0;

  const ifItMayStay =
    (decide: (question: BrokerQuestion, vhost: string) => Decision) =>
    async (question: BrokerQuestion): Promise<Decision> =>
      decide(question, vhost) === 'allow' && (await devices.mayStay(question['username'] ?? '')) ? 'allow' : 'deny';

  const decisions: Record<string, (question: BrokerQuestion) => Promise<Decision>> = {
    user: (question) =>
      decideUser(question, async (deviceId, secret) => !isRefused(deviceId) && (await devices.checkSecret(deviceId, secret)) !== undefined),
    vhost: ifItMayStay(decideVhost),
    resource: ifItMayStay(decideResource),
    topic: ifItMayStay(decideTopic),
  };

  // A separate scope: forms are parsed only here.
  app.register(async (scope) => {
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, async (_request: unknown, body: string) =>
      Object.fromEntries(new URLSearchParams(body)),
    );
    scope.addHook('onRequest', async (request) => {
      const { token } = request.params as { token: string };
      factsOf(request).presentedSecrets.push(token);
      if (!isToken(token)) throw noSuchPath();
      knownAs(request, 'broker');
    });
    for (const [name, decide] of Object.entries(decisions)) {
      const answer = async (fields: unknown, secrets: string[]) => {
        const question = readQuestion(fields);
        if (question['password'] !== undefined) secrets.push(question['password']);
        return decide(question);
      };
      const path = `/broker/rabbitmq/:token/${name}`;
      const config = { access: open, logsSuccessAtDebug: true };
      // For http_method get and post of rabbitmq_auth_backend_http.
      scope.get(path, { config, schema: { hide: true, querystring: questionSchema } }, async (request, reply) =>
        reply.type('text/plain').send(await answer(request.query, factsOf(request).presentedSecrets)),
      );
      scope.post(path, { config, schema: { hide: true, body: questionSchema } }, async (request, reply) =>
        reply.type('text/plain').send(await answer(request.body, factsOf(request).presentedSecrets)),
      );
    }
  });
}

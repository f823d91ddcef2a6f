// What RabbitMQ's HTTP authentication backend asks: may this device log in, enter the vhost, use the queue, the exchange, the topic.
// Not the envelope: RabbitMQ reads the one word `allow` or `deny`, and takes everything else, a failure included, as no.
// A disabled device is denied on every question. RabbitMQ remembers what it was told about a connection, though: one that exists
// already has to be ended there (docs/operating.md).
import Type from 'typebox';
import { open } from '../http/authentication.ts';
import { factsOf } from '../http/request-facts.ts';
import { errorResponses } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { type BrokerQuestion, type Decision, decideResource, decideTopic, decideUser, decideVhost } from '../link/broker-auth.ts';
import type { Devices } from './devices.ts';

export interface BrokerRoutesDeps {
  devices: Pick<Devices, 'checkSecret' | 'mayStay'>;
  /** The vhost that devices live in. */
  vhost?: string;
}

const field = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const questionSchema = Type.Object({
  username: field('DeviceID.'),
  password: field('Secret of the device; asked with user only.'),
  client_id: field('Client id of an MQTT connection.'),
  vhost: field('Virtual host.'),
  resource: field('queue, exchange or topic.'),
  name: field('Name of the queue or exchange.'),
  permission: field('configure, write or read.'),
  routing_key: field('Routing key of the message or subscription.'),
});

const response = {
  ...errorResponses('Invalid_Request'),
  200: {
    description: 'One word of plain text, as RabbitMQ expects it.',
    content: { 'text/plain': { schema: Type.Enum(['allow', 'deny']), examples: { Allow: { value: 'allow' }, Deny: { value: 'deny' } } } },
  },
};

function readQuestion(fields: unknown): BrokerQuestion {
  const entries = Object.entries((fields ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

export function registerBrokerRoutes(app: RouteApp, { devices, vhost = '/' }: BrokerRoutesDeps): void {
  const ifItMayStay =
    (decide: (question: BrokerQuestion, vhost: string) => Decision) =>
    async (question: BrokerQuestion): Promise<Decision> =>
      decide(question, vhost) === 'allow' && (await devices.mayStay(question['username'] ?? '')) ? 'allow' : 'deny';

  const decisions: Record<string, { summary: string; decide: (question: BrokerQuestion) => Promise<Decision> }> = {
    user: {
      summary: 'May this device log in?',
      decide: (question) => decideUser(question, async (deviceId, secret) => (await devices.checkSecret(deviceId, secret)) !== undefined),
    },
    vhost: { summary: 'May it enter the virtual host?', decide: ifItMayStay(decideVhost) },
    resource: { summary: 'May it use the queue or exchange?', decide: ifItMayStay(decideResource) },
    topic: { summary: 'May it use the routing key?', decide: ifItMayStay(decideTopic) },
  };

  // A scope of its own: forms are read here and nowhere else.
  app.register(async (scope) => {
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, async (_request: unknown, body: string) =>
      Object.fromEntries(new URLSearchParams(body)),
    );
    for (const [name, { summary, decide }] of Object.entries(decisions)) {
      const answer = async (fields: unknown, secrets: string[]) => {
        const question = readQuestion(fields);
        if (question['password'] !== undefined) secrets.push(question['password']);
        return decide(question);
      };
      const description = 'For rabbitmq_auth_backend_http, with http_method get or post. The answer is plain text and not the envelope.';
      const schema = { tags: ['Devices'], summary, description, response };
      const config = { access: open };
      scope.get(
        `/broker/rabbitmq/${name}`,
        { config, schema: { ...schema, operationId: `${name}OfRabbitmqByGet`, querystring: questionSchema } },
        async (request, reply) => reply.type('text/plain').send(await answer(request.query, factsOf(request).presentedSecrets)),
      );
      const posted = {
        ...schema,
        operationId: `${name}OfRabbitmqByPost`,
        consumes: ['application/x-www-form-urlencoded'],
        body: questionSchema,
      };
      scope.post(`/broker/rabbitmq/${name}`, { config, schema: posted }, async (request, reply) =>
        reply.type('text/plain').send(await answer(request.body, factsOf(request).presentedSecrets)),
      );
    }
  });
}

// Authorisation of devices on an external broker, as pure functions: RabbitMQ queries them over HTTP (rabbitmq_auth_backend_http), Mosquitto
// gets them as an ACL. Denied by default. The gateway's own login is internal to RabbitMQ and never checked here.
import { isDeviceId, isGatewayId } from './messages.ts';
import { mqttTopics, queueNames } from './protocol.ts';

/** RabbitMQ reads the body as plain text. */
export type Decision = 'allow' | 'deny';

/**
 * The form fields or query of the request, as RabbitMQ names them: username, password, vhost, client_id, resource, name, permission,
 * routing_key, variable_map.client_id...
 */
export type BrokerQuestion = Readonly<Record<string, string | undefined>>;

const mqttExchange = 'amq.topic';

/** Login. For an MQTT client RabbitMQ also sends the client id, which must equal the user: else one device could end another's session. */
export async function decideUser(
  question: BrokerQuestion,
  checkDevice: (deviceId: string, secret: string) => Promise<boolean>,
): Promise<Decision> {
  const { username, password, client_id: clientId } = question;
  if (!isDeviceId(username) || password === undefined || password === '') return 'deny';
  if (clientId !== undefined && clientId !== '' && clientId !== username) return 'deny';
  return (await checkDevice(username, password)) ? 'allow' : 'deny';
}

export function decideVhost(question: BrokerQuestion, vhost = '/'): Decision {
  return isDeviceId(question['username']) && question['vhost'] === vhost ? 'allow' : 'deny';
}

/**
 * Queues and exchanges. The default exchange (`amq.default`) is never allowed, because it routes to any queue. Resources of the MQTT plugin
 * are allowed only to MQTT connections [D130]: RabbitMQ checks the routing key of a message, but not its headers CC and BCC nor the
 * dead-letter address of a queue, which only AMQP clients can set.
 */
export function decideResource(question: BrokerQuestion, vhost = '/'): Decision {
  const { username, vhost: askedVhost, resource, name = '', permission = '' } = question;
  if (!isDeviceId(username) || askedVhost !== vhost) return 'deny';
  if (resource === 'queue') {
    if (name === queueNames.commands(username)) return allowIf(permission === 'configure' || permission === 'read');
    // The MQTT plugin names its queues after the client id; this check forces the client id to equal the user.
    const isOwnMqttQueue = name === `mqtt-subscription-${username}qos0` || name === `mqtt-subscription-${username}qos1`;
    return allowIf(isOwnMqttQueue && isOverMqtt(question) && ['configure', 'write', 'read'].includes(permission));
  }
  if (resource === 'exchange') {
    if (name === queueNames.answersExchange) return allowIf(permission === 'write');
    if (name === mqttExchange) return allowIf(isOverMqtt(question) && (permission === 'write' || permission === 'read'));
  }
  return 'deny';
}

/** Routing keys. MQTT topics arrive with dots for slashes and `*` for `+`, so a wildcard never equals a device's own address. */
export function decideTopic(question: BrokerQuestion, vhost = '/'): Decision {
  const { username, vhost: askedVhost, name, permission, routing_key: routingKey = '' } = question;
  if (!isDeviceId(username) || askedVhost !== vhost) return 'deny';
  if (name === queueNames.answersExchange) return allowIf(permission === 'write' && isOwnAnswerKey(username, routingKey));
  if (name !== mqttExchange || !isOverMqtt(question)) return 'deny';
  if (permission === 'read') return allowIf(routingKey === dotted(mqttTopics.commands(username)));
  if (permission !== 'write') return 'deny';
  const answersPrefix = dotted(mqttTopics.answers(username, ''));
  const isAnswer = routingKey.startsWith(answersPrefix) && isGatewayId(routingKey.slice(answersPrefix.length));
  return allowIf(isAnswer || routingKey === dotted(mqttTopics.presence(username)));
}

/** Mosquitto's acl_file: `%u` is the user, which `use_username_as_clientid` also makes the client id. Each gateway instance has its own user. */
export function mosquittoAcl(gatewayUsers: readonly string[]): string {
  const gateways = gatewayUsers.flatMap((user) => [
    `user ${user}`,
    `topic write ${mqttTopics.commands('+')}`,
    `topic read ${mqttTopics.answers('+', '+')}`,
    `topic read ${mqttTopics.presence('+')}`,
    '',
  ]);
  const devices = [
    `pattern read ${mqttTopics.commands('%u')}`,
    `pattern write ${mqttTopics.answers('%u', '+')}`,
    `pattern write ${mqttTopics.presence('%u')}`,
  ];
  return `${[...gateways, ...devices].join('\n')}\n`;
}

/**
 * RabbitMQ sends the client id of an MQTT connection with every check, as `client_id` or, for topics, in `variable_map`. Only the MQTT plugin
 * sets it (3.10 to 4.3); an AMQP client cannot.
 */
function isOverMqtt(question: BrokerQuestion): boolean {
  return (question['client_id'] ?? question['variable_map.client_id']) === question['username'];
}

function isOwnAnswerKey(deviceId: string, routingKey: string): boolean {
  const prefix = queueNames.answerKey(deviceId, '');
  const address = routingKey.slice(prefix.length);
  return routingKey.startsWith(prefix) && (isGatewayId(address) || routingKey === queueNames.presenceKey(deviceId));
}

function dotted(topic: string): string {
  return topic.replaceAll('/', '.');
}

function allowIf(condition: boolean): Decision {
  return condition ? 'allow' : 'deny';
}

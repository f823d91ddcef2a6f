// Writes asyncapi/v1.json, the device protocol as an AsyncAPI 3.0 document, and the command table of docs/device-protocol.md, from the
// operation catalogue, src/link/wire-schemas.ts and asyncapi-schemas.ts; with --check compares them. The document is written from the device's side: it receives commands and sends
// answers and presence.
import { readFileSync } from 'node:fs';
import { commandNames, mqttTopics, queueNames } from '../src/link/protocol.ts';
import { answerSchema, commandSchema, presenceSchema } from '../src/link/wire-schemas.ts';
import { exampleAnswers, exampleCommand, exampleDevice, examplePresence } from './asyncapi-examples.ts';
import { answerSchemaOf, commandSchemaOf, frameSchemas, messagesOf, withCommandTable } from './asyncapi-schemas.ts';
import { runGenerator, runTextGenerator } from './generated-file.ts';

const ref = (path: string) => ({ $ref: `#/${path}` });
const refs = (path: string, names: readonly string[]) => names.map((name) => ref(`${path}/${name}`));
const from = (entries: (readonly [string, unknown])[]): Record<string, unknown> => Object.fromEntries(entries);

const commandMessages = commandNames.map((name) => `${name}Command`);
const answerMessages = commandNames.map((name) => `${name}Answer`);
const deviceId = { deviceId: ref('components/parameters/deviceId') };
const withReplyTo = { ...deviceId, replyTo: ref('components/parameters/replyTo') };
const bindingVersions = { mqtt: '0.2.0', amqp: '0.3.0', ws: '0.1.0' };

function schemas(): Record<string, unknown> {
  return {
    Command: commandSchema,
    Answer: answerSchema,
    Presence: presenceSchema,
    ...from(commandNames.map((name) => [`${name}Args`, messagesOf[name].args])),
    ...from(commandNames.map((name) => [`${name}Report`, messagesOf[name].report])),
    ...from(commandNames.map((name) => [`${name}Command`, commandSchemaOf(name)])),
    ...from(commandNames.map((name) => [`${name}Answer`, answerSchemaOf(name)])),
    ...frameSchemas,
  };
}

function messages(): Record<string, unknown> {
  const correlationId = { location: '$message.payload#/id', description: 'An answer repeats the id of its command.' };
  const message = (name: string, title: string, examples: unknown[]) => ({
    name,
    title,
    contentType: 'application/json',
    payload: ref(`components/schemas/${name}`),
    examples,
  });
  const frame = (name: string, title: string, payload: object) => message(name, title, [{ name: 'frame', payload }]);
  const [presence] = examplePresence;
  const [accepted] = exampleAnswers('Pay');
  return {
    ...from(
      commandNames.map((name) => [
        `${name}Command`,
        {
          ...message(`${name}Command`, `${name}: ${messagesOf[name].does}`, [
            { name: 'command', summary: name, payload: exampleCommand(name) },
          ]),
          correlationId,
        },
      ]),
    ),
    ...from(
      commandNames.map((name) => [
        `${name}Answer`,
        { ...message(`${name}Answer`, `An answer to ${name}`, exampleAnswers(name)), correlationId },
      ]),
    ),
    Presence: message('Presence', 'Here I am', examplePresence),
    CommandFrame: frame('CommandFrame', 'A command on the built-in queue', { command: exampleCommand('Pay') }),
    AnswerFrame: frame('AnswerFrame', 'An answer on the built-in queue', { answer: accepted?.payload }),
    PresenceFrame: frame('PresenceFrame', 'Presence on the built-in queue', { presence: presence?.payload }),
  };
}

function channels(): Record<string, unknown> {
  const channel = (server: string, address: string | null, description: string, names: readonly string[], more: object) => ({
    address,
    description,
    servers: [ref(`servers/${server}`)],
    messages: from(names.map((name) => [name, ref(`components/messages/${name}`)])),
    ...more,
  });
  const exchange = { name: queueNames.answersExchange, type: 'topic', durable: true, autoDelete: false, vhost: '/' };
  const toExchange = { bindings: { amqp: { is: 'routingKey', exchange, bindingVersion: bindingVersions.amqp } } };
  const queue = { name: queueNames.commands('{deviceId}'), durable: false, exclusive: true, autoDelete: true, vhost: '/' };
  return {
    mqttCommands: channel('mqtt', mqttTopics.commands('{deviceId}'), 'Commands for one device.', commandMessages, {
      parameters: deviceId,
    }),
    mqttAnswers: channel('mqtt', mqttTopics.answers('{deviceId}', '{replyTo}'), 'Answers to one gateway.', answerMessages, {
      parameters: withReplyTo,
    }),
    mqttPresence: channel('mqtt', mqttTopics.presence('{deviceId}'), 'Presence of one device, and its will.', ['Presence'], {
      parameters: deviceId,
    }),
    rabbitmqCommands: channel('rabbitmq', queueNames.commands('{deviceId}'), 'Declared and read by the device.', commandMessages, {
      parameters: deviceId,
      bindings: { amqp: { is: 'queue', queue, bindingVersion: bindingVersions.amqp } },
    }),
    rabbitmqAnswers: channel('rabbitmq', queueNames.answerKey('{deviceId}', '{replyTo}'), 'A routing key.', answerMessages, {
      parameters: withReplyTo,
      ...toExchange,
    }),
    rabbitmqPresence: channel('rabbitmq', queueNames.presenceKey('{deviceId}'), 'A routing key.', ['Presence'], {
      parameters: deviceId,
      ...toExchange,
    }),
    builtInQueue: channel('builtInQueue', '/', 'One WebSocket a device; a second one replaces the first.', Object.keys(frameSchemas), {
      bindings: { ws: { method: 'GET', bindingVersion: bindingVersions.ws } },
    }),
  };
}

function operations(): Record<string, unknown> {
  const operation = (action: 'send' | 'receive', channel: string, names: readonly string[], summary: string, bindings: object) => ({
    action,
    channel: ref(`channels/${channel}`),
    summary,
    messages: refs(`channels/${channel}/messages`, names),
    ...bindings,
  });
  const mqtt = (qos: number) => ({ bindings: { mqtt: { qos, retain: false, bindingVersion: bindingVersions.mqtt } } });
  const amqpIn = { bindings: { amqp: { ack: false, bindingVersion: bindingVersions.amqp } } };
  const amqpOut = { bindings: { amqp: { userId: '{deviceId}', deliveryMode: 1, bindingVersion: bindingVersions.amqp } } };
  const answers = 'Answers, on any live channel.';
  const presence = 'At connect and every 30 s.';
  return {
    receiveMqttCommand: operation('receive', 'mqttCommands', commandMessages, 'Commands; retained ones are ignored.', mqtt(0)),
    sendMqttAnswer: operation('send', 'mqttAnswers', answerMessages, answers, mqtt(1)),
    sendMqttPresence: operation('send', 'mqttPresence', ['Presence'], presence, mqtt(1)),
    receiveRabbitmqCommand: operation('receive', 'rabbitmqCommands', commandMessages, 'Commands, read without acks.', amqpIn),
    sendRabbitmqAnswer: operation('send', 'rabbitmqAnswers', answerMessages, answers, amqpOut),
    sendRabbitmqPresence: operation('send', 'rabbitmqPresence', ['Presence'], presence, amqpOut),
    receiveFrame: operation('receive', 'builtInQueue', ['CommandFrame'], 'Commands.', {}),
    sendFrame: operation('send', 'builtInQueue', ['AnswerFrame', 'PresenceFrame'], 'Answers and presence.', {}),
  };
}

export function deviceDocument(): object {
  const login = [ref('components/securitySchemes/deviceLogin')];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Tillgate device protocol',
      version: '1',
      description:
        "How a card terminal or fiscal register talks with Tillgate, seen from the device. The prose is docs/device-protocol.md: a device also has to keep the promises that stand there. 'Ledger commands' move money or write fiscal memory; they are answered `accepted` first and then once more.",
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      mqtt: {
        host: 'pay.example.md:8883',
        protocol: 'mqtts',
        protocolVersion: '3.1.1',
        description: 'The message bus. Client id and user are the DeviceID, the password is its secret.',
        security: login,
        bindings: {
          mqtt: {
            clientId: '{deviceId}',
            cleanSession: true,
            keepAlive: 15,
            lastWill: {
              topic: mqttTopics.presence('{deviceId}'),
              qos: 1,
              retain: false,
              message: '{"v":1,"device":"{deviceId}","online":false}',
            },
            bindingVersion: bindingVersions.mqtt,
          },
        },
      },
      rabbitmq: {
        host: 'pay.example.md:5671',
        protocol: 'amqps',
        protocolVersion: '0.9.1',
        description: 'The queue in production. User is the DeviceID, password its secret, heartbeat 10 s.',
        security: login,
      },
      builtInQueue: {
        host: 'pay.example.md',
        pathname: '/tillgate/queue',
        protocol: 'wss',
        description: 'The queue with nothing installed: a WebSocket with HTTP Basic, DeviceID and secret.',
        security: login,
      },
    },
    channels: channels(),
    operations: operations(),
    components: {
      parameters: {
        deviceId: { description: 'DeviceID from the pairing, a UUID in lower case.', examples: [exampleDevice] },
        replyTo: { description: 'The replyTo of the command, or of the Recall that asked for the answer.' },
      },
      securitySchemes: { deviceLogin: { type: 'userPassword', description: 'DeviceID and the secret that pairing gave.' } },
      schemas: schemas(),
      messages: messages(),
    },
  };
}

const page = 'docs/device-protocol.md';
await runGenerator(import.meta.url, 'asyncapi/v1.json', deviceDocument);
await runTextGenerator(import.meta.url, page, () => withCommandTable(readFileSync(new URL(`../${page}`, import.meta.url), 'utf8')));

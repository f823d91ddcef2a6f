// Uses the brokers like the gateway: connects, logs in, creates its queues and subscriptions, and removes them again.
// It claims only what a broker reports: RabbitMQ refuses a forbidden publication or queue. MQTT 3.1.1 has no such answer: Mosquitto accepts
// every subscription and silently drops messages that its ACL forbids.

import type { Logger } from '../../kernel/logger.ts';
import type { World } from '../../kernel/world.ts';
import { createMosquittoLogins } from '../../link/brokers/mosquitto-logins.ts';
import { endConnections, isEnded } from '../../link/brokers/rabbitmq-connections.ts';
import { type Channel, type ChannelListener, DeviceNotOnChannel } from '../../link/channel.ts';
import { MqttChannel } from '../../link/channels/mqtt/mqtt.ts';
import { RabbitmqChannel } from '../../link/channels/queue/rabbitmq.ts';
import { isMqttPlainOpen } from '../../setting-dangers.ts';
import type { Config } from '../../settings.ts';
import { isPortFree } from '../free-port.ts';
import { doubt, type Finding, good, trouble, wordsOf } from './finding.ts';

type CheckWorld = Pick<World, 'clock' | 'random'>;

const apiAnswerMs = 5_000;

/** Ignores all messages of devices. */
const deaf: ChannelListener = { offer() {}, answer() {}, presence() {}, gone() {}, up() {}, down() {}, dropped() {} };

export async function checkMqtt(config: Config, world: CheckWorld): Promise<Finding[]> {
  const { mqttUrl: url } = config;
  if (url === undefined) return checkEmbedded(config);
  return tryChannel(
    'mqtt broker',
    'TILLGATE_MQTT_URL',
    url,
    (logger, gatewayId) => new MqttChannel({ ...world, url, logger, gatewayId }),
    world,
  );
}

export async function checkQueue({ queueUrl: url }: Config, world: CheckWorld): Promise<Finding[]> {
  if (url === undefined) return [good('queue', 'Built in: devices connect to the gateway itself.')];
  return tryChannel(
    'queue',
    'TILLGATE_QUEUE_URL',
    url,
    (logger, gatewayId) => new RabbitmqChannel({ ...world, url, logger, gatewayId }),
    world,
  );
}

/** Checks the admin logins with which the gateway writes logins and ends connections, with a device that does not exist, so that nothing changes. */
export async function checkCutOff({ mosquittoAdminUrl, rabbitmqApiUrl }: Config, world: CheckWorld): Promise<Finding[]> {
  return [
    ...(mosquittoAdminUrl === undefined ? [] : [await tryLogins(mosquittoAdminUrl, world)]),
    ...(rabbitmqApiUrl === undefined ? [] : [await tryApi(rabbitmqApiUrl, world)]),
  ];
}

async function tryLogins(url: string, { clock, random }: CheckWorld): Promise<Finding> {
  const check = 'device logins';
  const { host, username } = new URL(url);
  const said: unknown[] = [];
  const logins = createMosquittoLogins({ url, clock, random, logger: { warn: (fields) => said.push((fields as { err?: unknown }).err) } });
  try {
    await logins.check();
    return good(check, `${host} allows ${username} to change the logins of devices.`);
  } catch (error) {
    return trouble(
      check,
      `${host} does not allow ${username} to change the logins of devices: ${wordsOf(said[0] ?? error)}`,
      'Check TILLGATE_MOSQUITTO_ADMIN_URL, and that its user has the role admin of the dynamic security plugin: without it no device can be paired.',
    );
  }
}

async function tryApi(url: string, { random }: CheckWorld): Promise<Finding> {
  const check = 'queue connections';
  const { host, username } = new URL(url);
  const advice = 'Check TILLGATE_RABBITMQ_API_URL, and that its user has the tag administrator: devices that are cut off stay connected.';
  try {
    const status = await endConnections(url, random.uuid(), AbortSignal.timeout(apiAnswerMs));
    if (isEnded(status)) return good(check, `The management API at ${host} allows ${username} to end connections.`);
    return trouble(check, `The management API at ${host} does not allow ${username} to end connections (HTTP ${status}).`, advice);
  } catch (error) {
    return trouble(check, `The management API at ${host}: ${wordsOf(error)}`, advice);
  }
}

async function tryChannel(
  check: string,
  variable: string,
  url: string,
  open: (logger: Logger, gatewayId: string) => Channel,
  world: CheckWorld,
): Promise<Finding[]> {
  const { host, username } = new URL(url);
  const said: unknown[] = [];
  const note = (fields: object, message: string) => {
    said.push((fields as { err?: unknown }).err ?? new Error(message));
  };
  // The error objects are logged at debug; louder lines have only the reason.
  const channel = open({ debug: note, info() {}, warn() {}, error: note }, `doctor-${world.random.uuid()}`);
  try {
    await channel.start(deaf);
    if (!channel.isConnected) return [notConnected(check, variable, host, username, said[0])];
    if (channel.tellsAbsence) await publishToUnknownDevice(channel, world);
  } catch (error) {
    // The broker's message is the reason; the send error only reports an unclear result.
    return [
      trouble(
        check,
        `${host}: ${wordsOf(said[0] ?? error)}`,
        `The user ${username} needs to configure, write and read, as in deploy/rabbitmq.conf.`,
      ),
    ];
  } finally {
    await channel.stop();
  }
  const took = channel.tellsAbsence
    ? 'its queues were created, and it may publish'
    : 'it accepts the subscriptions; MQTT cannot show whether its ACL passes messages';
  return [good(check, `${host} accepts the login of ${username || 'the gateway'}: ${took}.`)];
}

/** Publishes to a device that does not exist: the broker returns the message, or refuses this user. */
async function publishToUnknownDevice(channel: Channel, { clock, random }: CheckWorld): Promise<void> {
  const issuedAt = new Date(clock.now()).toISOString();
  try {
    await channel.send(random.uuid(), { v: 1, id: random.uuid(), name: 'Status', replyTo: 'doctor', issuedAt, args: {} }, 1_000);
  } catch (error) {
    if (!(error instanceof DeviceNotOnChannel)) throw error;
  }
}

function notConnected(check: string, variable: string, host: string, username: string, error: unknown): Finding {
  if (error === undefined) return trouble(check, `${host} does not answer.`, `Check that it is running, and check ${variable}.`);
  const words = wordsOf(error);
  // Each broker has its own words, and neither says whether the user or the password is wrong.
  if (/not authorized|bad user ?name|ACCESS.REFUSED|refused.*credential/i.test(words))
    return trouble(
      check,
      `${host} refuses ${username || 'a login without a name'}: ${words}`,
      `Check user and password in ${variable}, and the rights of that user at the broker.`,
    );
  return trouble(check, `${host}: ${words}`, `Check ${variable}, and the broker's own log.`);
}

async function checkEmbedded(config: Config): Promise<Finding[]> {
  const ports = [...(isMqttPlainOpen(config) ? [config.mqttPort] : []), ...(config.tlsCert === undefined ? [] : [config.mqttsPort])];
  const taken: number[] = [];
  for (const port of ports) if (!(await isPortFree(config.host, port))) taken.push(port);
  if (taken.length === 0) return [good('mqtt broker', `Embedded: port ${ports.join(' and ')} is free for it.`)];
  return [
    doubt(
      'mqtt broker',
      `Port ${taken.join(' and ')} of the embedded broker is taken.`,
      'Expected if this gateway is running; otherwise stop the program that uses it, or set TILLGATE_MQTT_PORT or TILLGATE_MQTTS_PORT.',
    ),
  ];
}

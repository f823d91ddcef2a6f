// The two channels according to the settings: an external broker if configured, otherwise the embedded one.

import type { Shared } from '../database/shared-deps.ts';
import { EmbeddedBroker } from '../link/channels/mqtt/embedded-broker.ts';
import { MqttChannel } from '../link/channels/mqtt/mqtt.ts';
import { BuiltInQueue } from '../link/channels/queue/built-in-queue.ts';
import { RabbitmqChannel } from '../link/channels/queue/rabbitmq.ts';
import { isMqttPlainOpen } from '../setting-dangers.ts';
import type { Config } from '../settings.ts';
import type { Certificate } from './certificate.ts';

interface Deps extends Pick<Shared, 'clock' | 'random' | 'logger' | 'instanceId'> {
  certificate: Certificate | undefined;
  checkDevice(deviceId: string, secret: string): Promise<{ merchantId: string } | undefined>;
}

export function createChannels(config: Config, deps: Deps) {
  const { clock, random, logger, instanceId: gatewayId } = deps;
  const { mqttUrl, queueUrl, deviceLogins, deviceRate: messagesPerS } = config;
  // The other half of the connections is for callers.
  const maxDevices = Math.max(1, Math.floor(config.connections / 2));
  const embeddedBroker = mqttUrl === undefined ? createEmbeddedBroker(config, deps) : undefined;
  const builtInQueue = queueUrl === undefined ? new BuiltInQueue({ clock, logger, deviceLogins, messagesPerS, maxDevices }) : undefined;
  return {
    all: [
      embeddedBroker ?? new MqttChannel({ url: mqttUrl ?? '', gatewayId, clock, random, logger }),
      builtInQueue ?? new RabbitmqChannel({ url: queueUrl ?? '', gatewayId, clock, random, logger }),
    ],
    /** Channels inside this process; undefined if an external broker is used. */
    embeddedBroker,
    builtInQueue,
    /** Their names in messages. */
    embedded: [...(embeddedBroker ? ['MQTT broker'] : []), ...(builtInQueue ? ['queue'] : [])],
  };
}

function createEmbeddedBroker(config: Config, { clock, logger, instanceId, certificate, checkDevice }: Deps): EmbeddedBroker {
  return new EmbeddedBroker({
    host: config.host,
    port: isMqttPlainOpen(config) ? config.mqttPort : undefined,
    secure: certificate && { port: config.mqttsPort, context: certificate.context },
    gatewayId: instanceId,
    clock,
    logger,
    limits: {
      connections: config.mqttConnections,
      withoutLogin: config.mqttNewcomers,
      withoutLoginPerAddress: config.mqttNewcomersPerAddress,
      loginWithinMs: config.mqttLoginS * 1000,
    },
    deviceLogins: config.deviceLogins,
    messagesPerS: config.deviceRate,
    checkDevice,
  });
}

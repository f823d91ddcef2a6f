// A gateway for one device under test: pairs it, serves its channels, and passes all messages to the bench. It stores nothing, accepts no other
// device, and ends with the run. External brokers may replace the two channels; then the device needs a login there.

import { connectionGuide, newCode, readCode } from '../devices/pairing.ts';
import { registerPairingRoute } from '../devices/routes.ts';
import { createTokenCheck } from '../http/authentication.ts';
import { createMetrics } from '../http/metrics.ts';
import { createHttpServer } from '../http/server.ts';
import { sleep } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { createGuessLimit } from '../kernel/guess-limit.ts';
import { hostInUrl, withoutLogin } from '../kernel/url-parts.ts';
import type { World } from '../kernel/world.ts';
import { EmbeddedBroker } from '../link/channels/mqtt/embedded-broker.ts';
import { MqttChannel } from '../link/channels/mqtt/mqtt.ts';
import { BuiltInQueue } from '../link/channels/queue/built-in-queue.ts';
import { RabbitmqChannel } from '../link/channels/queue/rabbitmq.ts';
import type { DeviceKind } from '../link/protocol.ts';
import { Bench } from './bench.ts';

export interface DeskOptions extends World {
  /** An address to which the device can connect. */
  host: string;
  port: number;
  mqttPort: number;
  kind: DeviceKind;
  /** The code that the device will send; absent: a new one. */
  code?: string | undefined;
  /** The device's login from an earlier run, or at external brokers. */
  known?: { deviceId: string; secret: string } | undefined;
  /** Instead of the embedded broker: mqtt://gateway:password@host */
  mqttUrl?: string | undefined;
  /** Instead of the built-in queue: amqp://gateway:password@host */
  queueUrl?: string | undefined;
}

export type Desk = ReturnType<typeof createDesk>;

const basePath = '/tillgate';
const wrongCodes = {
  perAddress: { burst: 10, perS: 10 / 60 },
  inAll: { burst: 50, perS: 1 },
  maxWaiting: 20,
  sentence: 'Too many wrong pairing codes were tried; wait a little.',
};

export function createDesk(options: DeskOptions) {
  const { clock, random, logger, host, kind } = options;
  const deviceId = options.known?.deviceId ?? random.uuid();
  const secret = options.known?.secret ?? Buffer.from(random.bytes(24)).toString('base64url');
  const code = options.code ?? newCode(random);
  const gatewayId = `conformance-${random.uuid().slice(0, 8)}`;
  const guesses = createGuessLimit({ clock, ...wrongCodes });
  const given = (url: string | undefined) => (url === undefined ? '' : withoutLogin(url));
  const addresses = { baseUrl: '', mqttUrl: given(options.mqttUrl), queueUrl: given(options.queueUrl) };
  const isSecret = createTokenCheck(secret);
  let isLocked = false;
  let isCodeUsed = false;

  const mayEnter = (id: string, given: string) => !isLocked && id === deviceId && isSecret(given);
  const wire = { gatewayId, clock, random, logger };
  const broker =
    options.mqttUrl === undefined
      ? new EmbeddedBroker({
          ...wire,
          host,
          port: options.mqttPort,
          secure: undefined,
          checkDevice: async (id, given) => (mayEnter(id, given) ? { merchantId: 'conformance' } : undefined),
          onLogin: (_id, login) => bench.loggedIn(login),
          onRetained: (_id, topic) => bench.publishedRetained(topic),
        })
      : undefined;
  const queue = options.queueUrl === undefined ? new BuiltInQueue({ clock, logger }) : undefined;
  const channels = [
    broker ?? new MqttChannel({ ...wire, url: options.mqttUrl ?? '' }),
    queue ?? new RabbitmqChannel({ ...wire, url: options.queueUrl ?? '' }),
  ];
  const bench = new Bench({ clock, deviceId, channels });
  const server = createHttpServer({
    clock,
    random,
    logger,
    host,
    port: options.port,
    basePath,
    metrics: createMetrics(),
    rateLimitPerS: 100,
    merchantRatePerS: 100,
    readiness: async () => ({ modes: { POS: 'up', QR: 'up', Fiscal: 'up' }, channels: { mqtt: true, queue: true } }),
    findCaller: async () => undefined,
    findDevice: async (id, given) => (mayEnter(id, given) ? { deviceId: id, merchantId: '' } : undefined),
    isAdminToken: () => false,
    // Logins are checked synchronously here, so no cut-off can happen in between.
    onCutOff: () => () => {},
  });
  if (queue) server.onUpgrade('/queue', (upgrade) => queue.handleUpgrade(upgrade));
  server.routes((app) => registerPairingRoute(app, { pair }));

  function pair(typed: string, address: string) {
    return guesses.attempt(address, async () => {
      if (isCodeUsed || readCode(typed) !== readCode(code))
        throw new GatewayError('Record_not_exist', 'The code is wrong, has expired or was used before; ask for a new one.');
      isCodeUsed = true;
      return {
        deviceId,
        secret,
        kind,
        name: 'On the desk',
        bank: kind === 'terminal' ? 'bank' : undefined,
        ...connectionGuide(deviceId, addresses),
      };
    });
  }

  async function lockOut(durationMs: number): Promise<void> {
    isLocked = true;
    for (const channel of [broker, queue]) channel?.disconnectDevice(deviceId);
    await sleep(clock, durationMs);
    isLocked = false;
  }

  return {
    bench,
    code,
    deviceId,
    secret,
    gatewayId,
    async start(): Promise<{ baseUrl: string; mqttUrl: string; queueUrl: string }> {
      await bench.start();
      const listening = await server.listen().catch(async (error: unknown) => {
        await bench.stop();
        throw error;
      });
      addresses.baseUrl = listening.url;
      if (broker) addresses.mqttUrl = `mqtt://${hostInUrl(host)}:${broker.port}`;
      if (queue) addresses.queueUrl = `ws://${hostInUrl(host)}:${listening.port}${basePath}/queue`;
      return { ...addresses };
    },
    async stop(): Promise<void> {
      await bench.stop();
      await server.stop(0);
    },
    ...(broker && queue ? { lockOut } : {}),
  };
}

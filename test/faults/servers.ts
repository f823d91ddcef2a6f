// Real servers for gateways in tests: PostgreSQL, Mosquitto, and RabbitMQ with the shipped configuration,
// which authenticates devices at any running gateway, as through a load balancer.
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../support/free-port.ts';
import { type Settings, serveSettings } from '../support/gateway-process.ts';
import { type MosquittoServer, startMosquitto } from '../support/servers/mosquitto.ts';
import { type PostgresServer, startPostgres } from '../support/servers/postgres.ts';
import type { RabbitmqServer } from '../support/servers/rabbitmq.ts';
import { startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';

export interface Servers {
  postgres: PostgresServer;
  mosquitto: MosquittoServer;
  rabbitmq: RabbitmqServer;
  /** Settings of `count` gateways that share all three. */
  settings: Settings[];
  stop(): Promise<void>;
}

function forward(port: number, path: string, body: string, headers: IncomingMessage['headers']): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, method: 'POST', headers }, async (response) => {
      let text = '';
      for await (const chunk of response) text += String(chunk);
      resolve(text);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Forwards RabbitMQ's auth requests to the first gateway that answers. */
async function startBalancer(ports: number[]) {
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming) body += String(chunk);
    for (const port of ports) {
      const answer = await forward(port, incoming.url ?? '', body, incoming.headers).catch(() => undefined);
      if (answer !== undefined) return void response.end(answer);
    }
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

const brokerToken = 'the-token-of-the-test-broker';

/** `database`: starts PostgreSQL, by default a single server. */
export async function startServers(
  count: number,
  more: Settings = {},
  database: () => Promise<PostgresServer> = startPostgres,
): Promise<Servers> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const balancer = await startBalancer(ports);
  const [postgres, mosquitto, rabbitmq] = await Promise.all([
    database(),
    startMosquitto(),
    startShippedRabbitmq(balancer.port, brokerToken),
  ]);
  const settings = ports.map((port) =>
    serveSettings({
      TILLGATE_PORT: String(port),
      TILLGATE_DATABASE_URL: postgres.url,
      TILLGATE_MQTT_URL: mosquitto.url,
      TILLGATE_QUEUE_URL: rabbitmq.url,
      TILLGATE_BROKER_TOKEN: brokerToken,
      ...more,
    }),
  );
  return {
    postgres,
    mosquitto,
    rabbitmq,
    settings: await Promise.all(settings),
    async stop() {
      await Promise.all([postgres.stop(), mosquitto.stop(), rabbitmq.stop()]);
      balancer.close();
    },
  };
}

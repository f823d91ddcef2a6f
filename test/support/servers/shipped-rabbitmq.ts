// A RabbitMQ with the configuration and the plugins that the project ships, on ports of its own, asking at a port of ours about devices.
import { readFileSync } from 'node:fs';
import { freePort } from '../free-port.ts';
import { type RabbitmqServer, startRabbitmq } from './rabbitmq.ts';

const shipped = (name: string) => readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), 'utf8');

export interface ShippedRabbitmq extends RabbitmqServer {
  /** Of the management API, with a login. */
  readonly apiUrl: string;
}

/** `authPort`: where its questions are answered, by a proxy or a gateway on 127.0.0.1. */
export async function startShippedRabbitmq(authPort: number | string, token = 'change-me-too'): Promise<ShippedRabbitmq> {
  const apiPort = await freePort();
  const config = shipped('rabbitmq.conf')
    .split('\n')
    .filter((line) => !/^(listeners\.tcp|mqtt\.listeners|mqtt\.allow_anonymous|default_user|default_pass)\b/.test(line))
    .join('\n')
    .replace('management.tcp.port = 15672', `management.tcp.port = ${apiPort}\nmanagement.tcp.ip = 127.0.0.1`)
    .replaceAll('http://proxy:8081', `http://127.0.0.1:${authPort}`)
    .replaceAll('change-me-too', token);
  const plugins = shipped('rabbitmq-enabled-plugins').match(/[a-z_]+/g) ?? [];
  // As RabbitMQ makes the default user.
  const users = [{ name: 'tillgate', password: 'tillgate', tags: ['administrator'] }];
  const server = await startRabbitmq({ config, plugins, users });
  return { ...server, apiUrl: `http://tillgate:tillgate@127.0.0.1:${apiPort}` };
}

// A real RabbitMQ with the configuration that the project ships, asking broker-auth over HTTP about the two devices of the contract.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BrokerQuestion, decideResource, decideTopic, decideUser, decideVhost } from '../../src/link/broker-auth.ts';
import { type ShippedRabbitmq, startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';
import { checkDevice } from './channel.ts';

export interface AskedRabbitmq extends ShippedRabbitmq {
  /** Everything that it has asked so far, and what it was told. */
  readonly asked: { path: string; question: BrokerQuestion; decision: string }[];
  replaceSecret(deviceId: string, secret: string): void;
}

export async function startAskedRabbitmq(): Promise<AskedRabbitmq> {
  const asked: AskedRabbitmq['asked'] = [];
  const replaced = new Map<string, string>();
  const isSecret = async (deviceId: string, secret: string) =>
    replaced.has(deviceId) ? replaced.get(deviceId) === secret : (await checkDevice(deviceId, secret)) !== undefined;
  const auth = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const question = Object.fromEntries(new URLSearchParams(body));
    const path = request.url?.split('/').at(-1) ?? '';
    const decision = await decide(path, question, isSecret);
    asked.push({ path, question, decision });
    response.end(decision);
  });
  await new Promise<void>((resolve) => auth.listen(0, '127.0.0.1', resolve));
  const server = await startShippedRabbitmq((auth.address() as AddressInfo).port);
  return {
    ...server,
    asked,
    replaceSecret: (deviceId, secret) => void replaced.set(deviceId, secret),
    async stop() {
      await server.stop();
      auth.close();
    },
  };
}

async function decide(
  path: string,
  question: BrokerQuestion,
  isSecret: (deviceId: string, secret: string) => Promise<boolean>,
): Promise<string> {
  if (path === 'user') return decideUser(question, isSecret);
  if (path === 'vhost') return decideVhost(question);
  return path === 'resource' ? decideResource(question) : decideTopic(question);
}

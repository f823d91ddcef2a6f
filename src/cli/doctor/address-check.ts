// Checks the addresses that devices get at pairing: whether a device could connect to them, from where, and with encryption; and whether a
// server answers there, which can only be checked from this machine.
import { connect } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../kernel/clock.ts';
import { hostInUrl } from '../../kernel/url-parts.ts';
import { isMqttPlainOpen, isNowhere } from '../../setting-dangers.ts';
import type { Config } from '../../settings.ts';
import { type Addresses, addressesOf } from '../../wiring/addresses.ts';
import { judgeClock } from './database-check.ts';
import { doubt, type Finding, good, trouble, wordsOf } from './finding.ts';

const answerWithinMs = 5_000;
const encrypted = new Set(['https:', 'wss:', 'mqtts:', 'amqps:']);
const usualPorts: Record<string, number> = {
  'http:': 80,
  'ws:': 80,
  'https:': 443,
  'wss:': 443,
  'mqtt:': 1883,
  'mqtts:': 8883,
  'amqp:': 5672,
  'amqps:': 5671,
};

/** The addresses that a gateway with these settings gives to its devices. */
export function deviceAddresses(config: Config): Addresses {
  const { host, port, basePath, mqttUrl, tlsCert } = config;
  const listening = `${tlsCert === undefined ? 'http' : 'https'}://${hostInUrl(host)}:${port}${basePath}`;
  const broker =
    mqttUrl === undefined
      ? { port: isMqttPlainOpen(config) ? config.mqttPort : undefined, securePort: tlsCert === undefined ? undefined : config.mqttsPort }
      : undefined;
  return addressesOf(config, listening, broker);
}

/** Names for which this gateway's own certificate must be valid. */
export function hostsOfCertificate(config: Config, { baseUrl, mqttUrl }: Addresses): string[] {
  const own = [
    ...(config.behindProxy ? [] : [baseUrl]),
    ...(config.mqttUrl === undefined && mqttUrl.startsWith('mqtts:') ? [mqttUrl] : []),
  ];
  return [...new Set(own.map((address) => new URL(address).hostname.replace(/^\[|\]$/g, '')))];
}

export async function checkAddresses({ baseUrl, mqttUrl, queueUrl }: Addresses, clock: Clock): Promise<Finding[]> {
  const addresses = [
    ['base address', baseUrl],
    ['mqtt address', mqttUrl],
    ['queue address', queueUrl],
  ] as const;
  // None if the settings would keep the embedded broker closed; the settings check reports that.
  const found = await Promise.all(
    addresses.filter(([, address]) => address !== '').map(([check, address]) => checkAddress(check, address)),
  );
  return [...found.flat(), ...(await askGateway(baseUrl, clock))];
}

async function checkAddress(check: string, address: string): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isNowhere(host))
    return [
      trouble(
        check,
        `Devices get ${address}, to which they cannot connect.`,
        'Set TILLGATE_PUBLIC_URL (and the public addresses of the brokers).',
      ),
    ];
  const isEncrypted = encrypted.has(protocol);
  let reached: string;
  try {
    reached = await dial(host, Number(port) || (usualPorts[protocol] ?? 0));
  } catch (error) {
    return [
      doubt(check, `Devices get ${address}. ${wordsOf(error)}`, 'Expected if it is not started yet; otherwise devices cannot reach it.'),
    ];
  }
  const range = ipaddr.process(reached).range();
  if (range === 'loopback')
    return [
      doubt(
        check,
        `Devices get ${address}, which is this machine itself.`,
        'Only programs on this machine can reach it: set the public address before you pair real devices.',
      ),
    ];
  if (!isEncrypted)
    return [
      doubt(
        check,
        `Devices get ${address}, without encryption: their secrets can be read on the way.`,
        'Give them an address with TLS, unless you control the network.',
      ),
    ];
  return [
    good(
      check,
      `Devices get ${address}; a server answers there (${range === 'unicast' ? 'a public address' : `a ${range} address: devices must be in that network`}).`,
    ),
  ];
}

/** Connects; returns the IP address. */
function dial(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: answerWithinMs });
    socket.once('connect', () => {
      const { remoteAddress = host } = socket;
      socket.destroy();
      resolve(remoteAddress);
    });
    socket.once('timeout', () => {
      socket.destroy();
      reject(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT', address: host, port }));
    });
    socket.once('error', reject);
  });
}

/** Checks that a gateway answers there, that it is ready, and its clock. */
export async function askGateway(baseUrl: string, clock: Clock): Promise<Finding[]> {
  let response: Response;
  const before = clock.now();
  try {
    response = await fetch(`${baseUrl}/health/ready`, { redirect: 'error', signal: AbortSignal.timeout(answerWithinMs) });
  } catch (error) {
    return [doubt('gateway', `No gateway answers at ${baseUrl}. ${wordsOf(error)}`, 'Expected if it is not started yet.')];
  }
  const after = clock.now();
  const body = (await response.json().catch(() => undefined)) as { errorCode?: number; errorMessage?: string } | undefined;
  if (typeof body?.errorCode !== 'number')
    return [
      trouble(
        'gateway',
        `The server at ${baseUrl} is no Tillgate gateway (HTTP ${response.status}).`,
        'Check TILLGATE_PUBLIC_URL or --url, its path and the proxy.',
      ),
    ];
  const state =
    body.errorCode === 0
      ? good('gateway', `The gateway at ${baseUrl} is ready.`)
      : doubt(
          'gateway',
          `The gateway at ${baseUrl} is not ready: ${body.errorMessage ?? 'no reason given'}`,
          'It recovers automatically; check the part that it names.',
        );
  const date = Date.parse(response.headers.get('date') ?? '');
  // The uncertainty of a Date header, which has whole seconds: half a second, plus half the round trip.
  const clocks = Number.isNaN(date) ? [] : [judgeClock('gateway', date + 500 - (before + after) / 2, 500 + (after - before) / 2)];
  return [state, ...clocks];
}

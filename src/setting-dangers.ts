// What is wrong, dangerous or doubtful about settings that are each sound by themselves: one sentence for each, with what to do.

import { isLoopback, isUnspecified } from './kernel/network-of.ts';
import { isSampleSecret, passwordIn } from './sample-secrets.ts';
import type { Config } from './settings.ts';

export function contradictions(config: Config): string[] {
  const problems: string[] = [];
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    problems.push('TILLGATE_TLS_CERT and TILLGATE_TLS_KEY belong together: set both, or neither.');
  }
  if (config.mosquittoAdminUrl !== undefined && config.mqttUrl === undefined) {
    problems.push('TILLGATE_MOSQUITTO_ADMIN_URL is for an outside Mosquitto: set TILLGATE_MQTT_URL to it, too, or neither.');
  }
  if (config.rabbitmqApiUrl !== undefined && config.queueUrl === undefined) {
    problems.push('TILLGATE_RABBITMQ_API_URL is for an outside RabbitMQ: set TILLGATE_QUEUE_URL to it, too, or neither.');
  }
  return problems;
}

/** What `serve` refuses, because it would lose money or secrets [reliability]. */
export function dangers(config: Config): string[] {
  const problems: string[] = [];
  if (config.adminToken === undefined) {
    problems.push(
      'TILLGATE_ADMIN_TOKEN is not set, so this gateway could not be administered: set it to a long random text, for example from `openssl rand -hex 32`.',
    );
  }
  problems.push(...badSecrets(config));
  if (!isLoopback(config.host) && config.tlsCert === undefined && !config.behindProxy) {
    problems.push(
      `TILLGATE_HOST ${config.host} is reachable from outside and keys would travel unencrypted: set TILLGATE_TLS_CERT and TILLGATE_TLS_KEY, or TILLGATE_BEHIND_PROXY=yes if a proxy in front ends HTTPS.`,
    );
  }
  if (config.mqttUrl === undefined && config.tlsCert === undefined && !isMqttPlainOpen(config)) {
    problems.push(
      `The embedded MQTT broker on ${config.host} would take the secrets of devices unencrypted: set TILLGATE_TLS_CERT and TILLGATE_TLS_KEY for MQTT over TLS on port ${config.mqttsPort}, or TILLGATE_MQTT_URL to an outside broker, or TILLGATE_MQTT_PLAIN=yes inside a network that you trust.`,
    );
  }
  problems.push(...nowhereToDial(config));
  if (config.queueUrl !== undefined && config.brokerToken.length === 0) problems.push(missingBrokerToken(config));
  if (config.behindProxy && !isLoopback(config.host) && config.trustedProxies.length === 0) {
    problems.push(
      `TILLGATE_BEHIND_PROXY=yes on ${config.host} does not say which proxy: set TILLGATE_TRUSTED_PROXIES to its addresses, for example 10.0.0.5/32, because any other client could claim any address.`,
    );
  }
  for (const range of config.trustedProxies) {
    if (range.endsWith('/0'))
      problems.push(`TILLGATE_TRUSTED_PROXIES ${range} would let every client claim any address: name the addresses of your proxies.`);
  }
  for (const range of config.callbackAllow) {
    if (range.endsWith('/0'))
      problems.push(`TILLGATE_CALLBACK_ALLOW ${range} would let callbacks reach every internal address: name the ranges that you need.`);
  }
  return problems;
}

/** Tokens that could be guessed, and tokens and passwords that stand in what is shipped. */
function badSecrets(config: Config): string[] {
  const remedy = 'take one from `openssl rand -hex 32`.';
  const { adminToken, metricsToken, tracesToken, brokerToken } = config;
  const own = Object.entries({ TILLGATE_ADMIN_TOKEN: adminToken, TILLGATE_METRICS_TOKEN: metricsToken });
  const short = own.filter(([, token]) => token !== undefined && token.length < 24 && !isSampleSecret(token));
  const tokens = [...own, ['TILLGATE_TRACES_TOKEN', tracesToken], ...brokerToken.map((token) => ['TILLGATE_BROKER_TOKEN', token])];
  const passwords = {
    TILLGATE_DATABASE_URL: config.databaseUrl,
    TILLGATE_MQTT_URL: config.mqttUrl,
    TILLGATE_MOSQUITTO_ADMIN_URL: config.mosquittoAdminUrl,
    TILLGATE_QUEUE_URL: config.queueUrl,
    TILLGATE_RABBITMQ_API_URL: config.rabbitmqApiUrl,
  };
  return [
    ...short.map(([variable]) => `${variable} is shorter than 24 characters and could be guessed: ${remedy}`),
    ...tokens
      .filter(([, token]) => isSampleSecret(token ?? ''))
      .map(([variable]) => `${variable} is a published sample, from deploy/ or the documentation: ${remedy}`),
    ...Object.entries(passwords)
      .filter(([, url]) => url !== undefined && isSampleSecret(passwordIn(url)))
      .map(
        ([variable]) =>
          `The password in ${variable} is a published sample, from deploy/ or the documentation: change it at the server, and here.`,
      ),
  ];
}

/** Devices that get such an address at pairing could never connect. */
function nowhereToDial({ host, publicUrl, mqttUrl, mqttPublicUrl, queueUrl, queuePublicUrl }: Config): string[] {
  const addresses: [variable: string, host: string | undefined, remedy: string][] = [
    publicUrl === undefined
      ? ['TILLGATE_HOST', host, 'TILLGATE_PUBLIC_URL']
      : ['TILLGATE_PUBLIC_URL', hostOf(publicUrl), 'TILLGATE_PUBLIC_URL'],
    brokerAddress('TILLGATE_MQTT', mqttUrl, mqttPublicUrl),
    brokerAddress('TILLGATE_QUEUE', queueUrl, queuePublicUrl),
  ];
  function brokerAddress(name: string, url: string | undefined, shown: string | undefined): [string, string | undefined, string] {
    const address = shown ?? url;
    return [`${name}${shown === undefined ? '' : '_PUBLIC'}_URL`, address && hostOf(address), `${name}_PUBLIC_URL`];
  }
  return addresses
    .filter(([, dialled]) => dialled !== undefined && isNowhere(dialled))
    .map(
      ([variable, dialled, remedy]) =>
        `${variable} ${dialled} is no address that devices could dial: set ${remedy} to the one that they get at pairing.`,
    );
}

/** An address to listen on that is none to dial, however it is written. */
export function isNowhere(host: string): boolean {
  return isUnspecified(host.replace(/^\[|\]$/g, ''));
}

/** Without a token every client could ask which secrets are right, so the questions are not served without one. */
function missingBrokerToken({ basePath }: Config): string {
  const lines = ['user', 'vhost', 'resource', 'topic'].map(
    (name) => `  auth_http.${name}_path = http://GATEWAY:PORT${basePath}/broker/rabbitmq/TOKEN/${name}`,
  );
  return [
    'TILLGATE_BROKER_TOKEN is not set, and RabbitMQ (TILLGATE_QUEUE_URL) could not ask about devices: take a token from `openssl rand -hex 32`, put TILLGATE_BROKER_TOKEN=TOKEN into the environment and the token into these lines of rabbitmq.conf:',
    ...lines,
  ].join('\n');
}

/** What `serve` lets pass, because on a network of one's own it may be meant. `pgSslMode` counts where the address of the database says nothing. */
export function doubts(config: Config, pgSslMode?: string): string[] {
  const { databaseUrl } = config;
  const found = plainLinks(config).filter(({ url }) => url !== undefined && isPlain(url) && !isLoopback(hostOf(url)));
  const sentences = found.map(
    ({ variable, url = '', carries, remedy }) =>
      `${variable} leads to ${hostOf(url)} without TLS, and ${carries} could be read or changed on the way: ${remedy}, unless the whole way is inside a network that you trust.`,
  );
  if (databaseUrl !== undefined && isPostgresPlain(databaseUrl, pgSslMode))
    sentences.unshift(
      `TILLGATE_DATABASE_URL leads to ${postgresHost(databaseUrl)} without TLS, and payments, receipts and the database's password could be read or changed on the way: add ?sslmode=verify-full to it, unless the whole way is inside a network that you trust.`,
    );
  if (!isLoopback(config.host) && config.mqttUrl === undefined && config.mqttPlain)
    sentences.push(
      `The embedded MQTT broker listens on ${config.host} without encryption (TILLGATE_MQTT_PLAIN), and devices log in there with their secrets: keep its port ${config.mqttPort} inside a network that you trust.`,
    );
  return sentences;
}

function plainLinks(config: Config): { variable: string; url: string | undefined; carries: string; remedy: string }[] {
  const commands = 'commands, answers and logins';
  const secrets = 'keys, passwords and the secrets of devices';
  return [
    { variable: 'TILLGATE_PUBLIC_URL', url: config.publicUrl, carries: secrets, remedy: 'use https://' },
    { variable: 'TILLGATE_TRACES_URL', url: config.tracesUrl, carries: 'traces and their token', remedy: 'use https://' },
    { variable: 'TILLGATE_MQTT_URL', url: config.mqttUrl, carries: commands, remedy: 'use mqtts://' },
    { variable: 'TILLGATE_MQTT_PUBLIC_URL', url: config.mqttPublicUrl, carries: commands, remedy: 'use mqtts://' },
    {
      variable: 'TILLGATE_MOSQUITTO_ADMIN_URL',
      url: config.mosquittoAdminUrl,
      carries: "the administrator's login",
      remedy: 'use mqtts://',
    },
    { variable: 'TILLGATE_QUEUE_URL', url: config.queueUrl, carries: commands, remedy: 'use amqps://' },
    { variable: 'TILLGATE_QUEUE_PUBLIC_URL', url: config.queuePublicUrl, carries: commands, remedy: 'use amqps:// or wss://' },
    { variable: 'TILLGATE_RABBITMQ_API_URL', url: config.rabbitmqApiUrl, carries: "the administrator's login", remedy: 'use https://' },
  ];
}

const isPlain = (url: string) => ['http:', 'mqtt:', 'amqp:', 'ws:'].includes(new URL(url).protocol);
const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '');

/** As the driver reads it: a host among the parameters comes before that of the address. */
function postgresHost(url: string): string {
  return new URL(url).searchParams.get('host') ?? hostOf(url);
}

/** Neither TLS nor a way that ends on this machine: a path is a socket in the file system, and no host is this machine. */
function isPostgresPlain(url: string, pgSslMode: string | undefined): boolean {
  const host = postgresHost(url);
  if (host === '' || /^(?:\/|%2f)/i.test(host) || isLoopback(host)) return false;
  const { searchParams } = new URL(url);
  const [ssl, mode] = [searchParams.get('ssl'), searchParams.get('sslmode')];
  if (mode !== null) return mode === 'disable';
  if (['sslcert', 'sslkey', 'sslrootcert'].some((name) => searchParams.has(name))) return false;
  if (ssl !== null) return !['true', '1', 'no-verify'].includes(ssl);
  if (searchParams.get('sslnegotiation') === 'direct') return false;
  return !['prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'].includes(pgSslMode ?? '');
}

/** Without TLS only on loopback, or if the setting allows it. The sandbox holds nothing of value. */
export function isMqttPlainOpen({ mode, host, mqttPlain }: Config): boolean {
  return mode === 'sandbox' || isLoopback(host) || mqttPlain;
}

/** Whose X-Forwarded-For counts. */
export function trustedProxiesOf({ behindProxy, trustedProxies }: Pick<Config, 'behindProxy' | 'trustedProxies'>): string[] {
  return trustedProxies.length === 0 && behindProxy ? ['127.0.0.0/8', '::1/128'] : trustedProxies;
}

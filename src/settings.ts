// The table of all settings: variable, parser, default and meaning, and the types that follow from it.
// .env.example and docs/operating.md are generated from it.
import { resolve } from 'node:path';
import {
  banks,
  brokerTokens,
  cidr,
  hostName,
  listOf,
  oneOf,
  type Parser,
  pathSegment,
  publicAddress,
  text,
  timeZone,
  urlOf,
  vatRate,
  webUrl,
  wholeNumber,
  withoutLogin,
  yesOrNo,
} from './setting-parsers.ts';

export type Mode = 'sandbox' | 'serve';

interface Setting<Value> {
  variable: string;
  parse: Parser<Value>;
  /** The text that stands in when the variable is absent or empty; undefined means "not set". */
  fallback: string | Record<Mode, string> | undefined;
  meaning: string;
}

function setting<Value>(variable: string, parse: Parser<Value>, fallback: string | Record<Mode, string>, meaning: string): Setting<Value> {
  return { variable, parse, fallback, meaning };
}

function optional<Value>(variable: string, parse: Parser<Value>, meaning: string): Setting<Value | undefined> {
  return { variable, parse, fallback: undefined, meaning };
}

export const settings = {
  host: setting('TILLGATE_HOST', text, '127.0.0.1', 'address to listen on'),
  port: setting('TILLGATE_PORT', wholeNumber(0, 65_535), '8080', 'port to listen on; 0 takes any free one'),
  basePath: setting('TILLGATE_BASE_PATH', pathSegment, '/tillgate', 'first path segment of every address'),
  publicUrl: optional(
    'TILLGATE_PUBLIC_URL',
    publicAddress(webUrl),
    'base URL under which others reach the gateway; devices get it at pairing',
  ),
  hosts: setting(
    'TILLGATE_HOSTS',
    listOf(hostName),
    '',
    'further host names by which browsers open the cabinet and /docs, besides TILLGATE_HOST, loopback and that of the public URL',
  ),
  dataDir: setting('TILLGATE_DATA_DIR', (value) => resolve(value), './data', 'directory of the embedded database and of the sandbox'),
  databaseUrl: optional('TILLGATE_DATABASE_URL', urlOf('postgres:', 'postgresql:'), 'PostgreSQL to use instead of the embedded database'),
  databaseConnections: setting('TILLGATE_DATABASE_CONNECTIONS', wholeNumber(2, 200), '10', 'PostgreSQL connections of this instance'),
  adminToken: optional('TILLGATE_ADMIN_TOKEN', text, 'bearer token of the cabinet API; the sandbox makes one by itself'),
  metricsToken: optional('TILLGATE_METRICS_TOKEN', text, 'bearer token that opens /metrics and nothing else; the admin token opens it too'),
  apiReference: setting(
    'TILLGATE_API_REFERENCE',
    oneOf('public', 'cabinet'),
    'public',
    'who may read /docs and /openapi.json: public, or cabinet for people who are signed in to the cabinet',
  ),
  tlsCert: optional('TILLGATE_TLS_CERT', text, 'PEM file of the certificate chain; with the key, HTTPS is spoken'),
  tlsKey: optional('TILLGATE_TLS_KEY', text, 'PEM file of the private key'),
  behindProxy: setting(
    'TILLGATE_BEHIND_PROXY',
    yesOrNo,
    'no',
    'yes: a proxy in front ends HTTPS, so plain HTTP on a public address is meant',
  ),
  trustedProxies: setting(
    'TILLGATE_TRUSTED_PROXIES',
    listOf(cidr),
    '',
    'CIDR ranges of the proxies whose X-Forwarded-For counts; with TILLGATE_BEHIND_PROXY=yes and nothing here, those on this machine',
  ),
  sandboxStrict: setting('TILLGATE_SANDBOX_STRICT', yesOrNo, 'no', 'yes: callback delays and the key on Payd as `serve` has them'),
  callbackAllow: setting(
    'TILLGATE_CALLBACK_ALLOW',
    listOf(cidr),
    { sandbox: '127.0.0.0/8,::1/128', serve: '' },
    'CIDR ranges that callbacks may dial though they are private or belong to this machine',
  ),
  callbackDelaysS: setting(
    'TILLGATE_CALLBACK_DELAYS_S',
    listOf(wholeNumber(0, 604_800)),
    { sandbox: '3,10,60,300,1800', serve: '60,300,1800,3600,21600' },
    'seconds before each callback retry',
  ),
  keepDays: setting('TILLGATE_KEEP_DAYS', wholeNumber(1, 3_650), '90', 'days that delivered callbacks and their attempts are kept'),
  keepInvoicesDays: optional(
    'TILLGATE_KEEP_INVOICES_DAYS',
    wholeNumber(400, 36_500),
    'days that ended invoices are kept, at least 400; not set: for ever',
  ),
  keepCommandsDays: optional(
    'TILLGATE_KEEP_COMMANDS_DAYS',
    wholeNumber(400, 36_500),
    'days that settled commands of devices are kept with their timelines, at least 400; not set: for ever',
  ),
  keepAuditDays: optional(
    'TILLGATE_KEEP_AUDIT_DAYS',
    wholeNumber(400, 36_500),
    'days that entries of the audit log are kept, at least 400; not set: for ever',
  ),
  invoiceAuth: setting(
    'TILLGATE_INVOICE_AUTH',
    oneOf('open', 'payd', 'all'),
    { sandbox: 'open', serve: 'payd' },
    'which of Invoice/Status, Get and Payd need a key or a device credential: open, payd or all',
  ),
  timeZone: setting('TILLGATE_TIME_ZONE', timeZone, 'Europe/Chisinau', 'time zone of a ValidTo that is sent without an offset'),
  scanGraceS: setting('TILLGATE_SCAN_GRACE_S', wholeNumber(0, 3_600), '0', 'seconds that a scanned invoice outlives ValidTo'),
  places: setting('TILLGATE_PLACES', wholeNumber(10, 100_000), '5000', 'requests that may be under way at once'),
  merchantShare: setting(
    'TILLGATE_MERCHANT_SHARE',
    wholeNumber(1, 100),
    '50',
    'percent of those that one merchant may have for itself, unless the operator set another; more while places are free',
  ),
  joiners: setting(
    'TILLGATE_JOINERS',
    wholeNumber(1, 10_000),
    '20',
    'calls that may wait together for the outcome of one and the same operation',
  ),
  connections: setting(
    'TILLGATE_CONNECTIONS',
    wholeNumber(10, 1_000_000),
    '20000',
    'HTTP connections in all; devices on the built-in queue have at most half of them',
  ),
  connectionsPerAddress: setting(
    'TILLGATE_CONNECTIONS_PER_ADDRESS',
    wholeNumber(1, 20_000),
    '500',
    'HTTP connections of one address that have not logged in; one more ends the oldest',
  ),
  bodiesPerAddress: setting(
    'TILLGATE_BODIES_PER_ADDRESS',
    wholeNumber(1, 20_000),
    '500',
    'bodies of one address that are still coming; one more ends the oldest',
  ),
  bodyBufferMb: setting(
    'TILLGATE_BODY_BUFFER_MB',
    wholeNumber(2, 4_096),
    '64',
    'MiB of all bodies that are still coming; beyond it the slowest end',
  ),
  rateLimit: setting(
    'TILLGATE_RATE_LIMIT',
    wholeNumber(1, 1_000_000),
    '200',
    'requests per second and key; a user of the cabinet and a device that logs in over HTTP have as many',
  ),
  merchantRate: optional(
    'TILLGATE_MERCHANT_RATE',
    wholeNumber(1, 1_000_000),
    'requests per second of one merchant, all its keys together, all its devices, and all its users; not set: five times TILLGATE_RATE_LIMIT',
  ),
  keysPerMerchant: setting(
    'TILLGATE_KEYS_PER_MERCHANT',
    wholeNumber(1, 100_000),
    '100',
    'active API keys of one merchant; while rotated keys overlap, twice as many',
  ),
  usersPerMerchant: setting(
    'TILLGATE_USERS_PER_MERCHANT',
    wholeNumber(1, 100_000),
    '200',
    'users of the cabinet that belong to one merchant, invited and disabled ones too',
  ),
  devicesPerMerchant: setting(
    'TILLGATE_DEVICES_PER_MERCHANT',
    wholeNumber(1, 100_000),
    '1000',
    'registered devices of one merchant, disabled ones too',
  ),
  deviceRate: setting(
    'TILLGATE_DEVICE_RATE',
    wholeNumber(1, 10_000),
    '20',
    'messages per second that a device may send; of more, the newest presence and the answers that are waited for count; the embedded broker and queue read five times as many from a connection, at least 100 a second',
  ),
  deviceLogins: setting(
    'TILLGATE_DEVICE_LOGINS',
    wholeNumber(1, 10_000),
    '60',
    'logins of one device at once, at the embedded MQTT broker and at the built-in queue each; then one a second',
  ),
  requireTotp: setting(
    'TILLGATE_REQUIRE_TOTP',
    yesOrNo,
    'no',
    'yes: operators can do nothing in the cabinet before they have set up one-time codes',
  ),
  sessionIdleMin: setting(
    'TILLGATE_SESSION_IDLE_MIN',
    wholeNumber(5, 720),
    '120',
    'minutes without use after which a session of the cabinet ends; each ends 12 hours after signing in',
  ),
  exports: setting(
    'TILLGATE_EXPORTS',
    wholeNumber(1, 100),
    '4',
    'CSV exports of the cabinet that may run at once; a user has a quarter of them, a merchant half, and one in any case',
  ),
  exportRows: setting(
    'TILLGATE_EXPORT_ROWS',
    wholeNumber(1, 100_000_000),
    '1000000',
    'rows of one CSV export; a longer one ends there and says so in its last line',
  ),
  streamsPerUser: setting(
    'TILLGATE_STREAMS_PER_USER',
    wholeNumber(1, 1_000),
    '6',
    'event streams of the cabinet that one user may have open; one more ends the oldest',
  ),
  streamsPerMerchant: setting(
    'TILLGATE_STREAMS_PER_MERCHANT',
    wholeNumber(1, 100_000),
    '250',
    'event streams of the cabinet that the users of one merchant may have open together; one more is refused',
  ),
  streams: setting('TILLGATE_STREAMS', wholeNumber(1, 100_000), '1000', 'event streams of the cabinet in all; one more is refused'),
  logLevel: setting(
    'TILLGATE_LOG_LEVEL',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
    { sandbox: 'warn', serve: 'info' },
    'debug, info, warn, error or silent',
  ),
  tracesUrl: optional('TILLGATE_TRACES_URL', withoutLogin(webUrl), 'receiver of OpenTelemetry traces, OTLP over HTTP; not set: no traces'),
  tracesToken: optional('TILLGATE_TRACES_TOKEN', text, 'bearer token that the receiver asks for'),
  tracesPercent: setting('TILLGATE_TRACES_PERCENT', wholeNumber(0, 100), '100', 'percent of traces that begin here which are recorded'),
  drainS: setting('TILLGATE_DRAIN_S', wholeNumber(0, 600), { sandbox: '0', serve: '5' }, 'seconds that it serves on after SIGTERM'),
  stopGraceS: setting('TILLGATE_STOP_GRACE_S', wholeNumber(0, 600), '30', 'seconds that calls in flight have to finish after that'),
  mqttUrl: optional(
    'TILLGATE_MQTT_URL',
    urlOf('mqtt:', 'mqtts:'),
    'MQTT broker to use instead of the embedded one, with user and password',
  ),
  mqttPort: setting(
    'TILLGATE_MQTT_PORT',
    wholeNumber(0, 65_535),
    '1883',
    'port of the embedded MQTT broker without TLS, open on loopback or with TILLGATE_MQTT_PLAIN=yes; 0 takes any free one',
  ),
  mqttsPort: setting(
    'TILLGATE_MQTTS_PORT',
    wholeNumber(0, 65_535),
    '8883',
    'port of the embedded MQTT broker with TLS, open when there is a certificate; 0 takes any free one',
  ),
  mqttPlain: setting(
    'TILLGATE_MQTT_PLAIN',
    yesOrNo,
    'no',
    'yes: devices may reach the embedded MQTT broker without TLS from other machines too',
  ),
  mqttConnections: setting(
    'TILLGATE_MQTT_CONNECTIONS',
    wholeNumber(2, 1_000_000),
    '10000',
    'devices that may be logged in at the embedded MQTT broker',
  ),
  mqttNewcomers: setting(
    'TILLGATE_MQTT_NEWCOMERS',
    wholeNumber(1, 100_000),
    '1000',
    'beside those, connections that have no login yet; one more ends the oldest',
  ),
  mqttNewcomersPerAddress: setting(
    'TILLGATE_MQTT_NEWCOMERS_PER_ADDRESS',
    wholeNumber(1, 100_000),
    '100',
    'of those without a login, how many may come from one address; one more ends the oldest',
  ),
  mqttLoginS: setting('TILLGATE_MQTT_LOGIN_S', wholeNumber(1, 600), '10', 'seconds that a connection to it has for its login'),
  mqttPublicUrl: optional(
    'TILLGATE_MQTT_PUBLIC_URL',
    publicAddress(urlOf('mqtt:', 'mqtts:')),
    'MQTT address that devices get at pairing, without a login',
  ),
  mosquittoAdminUrl: optional(
    'TILLGATE_MOSQUITTO_ADMIN_URL',
    urlOf('mqtt:', 'mqtts:'),
    'the same Mosquitto with a login that may change its dynamic security: devices then get their logins there at pairing',
  ),
  queueUrl: optional(
    'TILLGATE_QUEUE_URL',
    urlOf('amqp:', 'amqps:'),
    'RabbitMQ to use instead of the built-in queue, with user and password',
  ),
  rabbitmqApiUrl: optional(
    'TILLGATE_RABBITMQ_API_URL',
    urlOf('http:', 'https:'),
    'management API of RabbitMQ with the login of an administrator: devices that are cut off lose their connections there',
  ),
  brokerToken: setting(
    'TILLGATE_BROKER_TOKEN',
    brokerTokens,
    '',
    'secret part of the address at which RabbitMQ asks about devices; two with a comma between while one is being replaced',
  ),
  queuePublicUrl: optional(
    'TILLGATE_QUEUE_PUBLIC_URL',
    publicAddress(urlOf('amqp:', 'amqps:', 'ws:', 'wss:')),
    'queue address that devices get at pairing, without a login',
  ),
  banks: setting(
    'TILLGATE_BANKS',
    banks,
    'maib=maib,micb=Moldindconbank,victoria=Victoriabank,otp=OTP Bank',
    'banks of the terminals as code=name pairs',
  ),
  vat: setting(
    'TILLGATE_VAT',
    listOf(vatRate),
    'A=20@1998-01-01,B=8@1998-01-01,D=0@1998-01-01',
    'VAT letters of virtual registers as letter=percent@first-day; a later day replaces an earlier one',
  ),
  limitShiftTo24h: setting(
    'TILLGATE_LIMIT_SHIFT_24H',
    yesOrNo,
    'no',
    'yes: a virtual register whose shift has been open for 24 h makes only reports',
  ),
} as const;

export type Settings = typeof settings;
type Values = { [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never };

export interface Config extends Values {
  mode: Mode;
  hostname: string;
  pid: number;
  /** Settings that were given, as against defaults. */
  given: ReadonlySet<keyof Settings>;
  /** What is probably a mistake, though the gateway can run: one sentence each. */
  warnings: string[];
}

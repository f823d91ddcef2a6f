// The command line's administration: each command is one call of a running gateway's admin API, so it works on the embedded database too.
// main.ts dispatches by name; the address and the token are handed in. Exit codes: 0 done, 1 refused or unreachable, 2 wrong usage.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
  /** Used when --url is absent: base URL with the first path segment. */
  baseUrl: string;
  adminToken: string | undefined;
}

export interface AdminCommand {
  /** Two words, as typed: 'key create'. */
  name: string;
  usage: string;
  help: string;
  /** `args` are the words after the name. Returns the exit code. */
  run(args: string[], io: CommandIo): Promise<number>;
}

type Body = Record<string, unknown>;
type Row = Record<string, unknown>;
type Values = Record<string, string | undefined>;

interface Call {
  method: 'GET' | 'POST';
  path: string;
  query?: Values;
  body?: Body;
}

interface Definition {
  name: string;
  help: string;
  /** The one word after the name, if any: 'KEY_ID'. */
  subject?: string;
  subjectIsOptional?: boolean;
  /** Option name to its meaning; required ones end with an exclamation mark. */
  options?: Record<string, string>;
  call(values: Values, subject: string): Call;
  show(body: Body): string;
}

/** The command was typed wrongly; the message says how. */
class UsageError extends Error {}

const commonOptions = {
  url: 'base URL of the gateway, for example https://pay.example.md/tillgate',
  json: 'print the answer as JSON',
  help: 'show this text',
};

const merchantOption = { merchant: 'only what belongs to the merchant with this id' };
const part = encodeURIComponent;

const definitions: Definition[] = [
  {
    name: 'merchant create',
    help: 'Creates a merchant. The callback secret verifies the signature of callbacks.',
    options: { 'name!': 'name of the merchant' },
    call: ({ name }) => ({ method: 'POST', path: '/merchants', body: { name } }),
    show: fields('id', 'name', 'callbackSecret'),
  },
  {
    name: 'merchant list',
    help: 'Lists the merchants.',
    call: () => ({ method: 'GET', path: '/merchants' }),
    show: table('merchants', 'id', 'name', 'createdAt'),
  },
  {
    name: 'key create',
    help: 'Creates an API key. The key is shown this once.',
    options: {
      'merchant!': 'id of the merchant',
      'name!': 'what the key is for',
      'modules!': 'what it opens, of POS, QR and Fiscal, separated by commas',
      expires: 'when it ends, for example 2027-01-31T00:00:00Z; never, if absent',
    },
    call: ({ merchant, name, modules = '', expires }) => ({
      method: 'POST',
      path: '/keys',
      body: { merchantId: merchant, name, modules: modules.split(',').map((module) => module.trim()), expiresAt: expires },
    }),
    show: fields('id', 'key', 'expiresAt'),
  },
  {
    name: 'key list',
    help: 'Lists API keys, without the keys themselves.',
    options: merchantOption,
    call: ({ merchant }) => ({ method: 'GET', path: '/keys', query: { merchantId: merchant } }),
    show: table('keys', 'id', 'merchantId', 'name', 'modules', 'state', 'expiresAt'),
  },
  {
    name: 'key revoke',
    help: 'Ends a key at once.',
    subject: 'KEY_ID',
    call: (_values, id) => ({ method: 'POST', path: `/keys/${part(id)}/revoke` }),
    show: fields('revokedAt'),
  },
  {
    name: 'key rotate',
    help: 'Creates a key that takes over; the old one goes on for the overlap. The new key is shown this once.',
    subject: 'KEY_ID',
    options: { 'overlap-s': 'seconds that the old key goes on (86400)' },
    call: (values, id) => ({ method: 'POST', path: `/keys/${part(id)}/rotate`, body: { overlapS: wholeSeconds(values['overlap-s']) } }),
    show: fields('id', 'key', 'expiresAt', 'oldKeyEndsAt'),
  },
  {
    name: 'device create',
    help: 'Registers a device and shows the code to pair it with.',
    options: {
      'merchant!': 'id of the merchant',
      'kind!': 'terminal or register',
      'name!': 'name of the device',
      bank: 'code of the bank, for a terminal',
      'pos-code': 'point-of-sale code',
      id: 'its UUID, if it has one already',
    },
    call: ({ merchant, kind, name, bank, id, ...rest }) => ({
      method: 'POST',
      path: '/devices',
      body: { id, merchantId: merchant, kind, name, bank, pointOfSalesCode: rest['pos-code'] },
    }),
    show: fields('id', 'pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'device list',
    help: 'Lists devices.',
    options: merchantOption,
    call: ({ merchant }) => ({ method: 'GET', path: '/devices', query: { merchantId: merchant } }),
    show: table('devices', 'id', 'kind', 'name', 'bank', 'state', 'liveOn', 'lastSeenAt'),
  },
  {
    name: 'device rename',
    help: 'Gives a device another name.',
    subject: 'DEVICE_ID',
    options: { 'name!': 'the new name' },
    call: ({ name }, id) => ({ method: 'POST', path: `/devices/${part(id)}/rename`, body: { name } }),
    show: () => 'Renamed.',
  },
  {
    name: 'device disable',
    help: 'Cuts a device off: it can neither log in nor be reached.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/disable` }),
    show: () => 'Disabled.',
  },
  {
    name: 'device enable',
    help: 'Lets a disabled device in again, with the secret that it has.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/enable` }),
    show: () => 'Enabled.',
  },
  {
    name: 'device secret',
    help: 'Gives a device a new secret, shown this once; the old one ends.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/secret` }),
    show: fields('secret'),
  },
  {
    name: 'device pairing-code',
    help: 'Shows a new code to pair a device with; an older one ends.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/pairing` }),
    show: fields('pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'callback list',
    help: 'Lists callbacks, newest first.',
    options: { ...merchantOption, state: 'only those that are pending, delivered or dead' },
    call: ({ merchant, state }) => ({ method: 'GET', path: '/callbacks', query: { merchantId: merchant, state } }),
    show: table('callbacks', 'id', 'subjectId', 'sequence', 'state', 'attempts', 'createdAt'),
  },
  {
    name: 'callback resend',
    help: "Sends one callback again, or a merchant's of a span of time.",
    subject: 'CALLBACK_ID',
    subjectIsOptional: true,
    options: { merchant: 'id of the merchant', from: 'from this moment', to: 'up to this moment' },
    call({ merchant, from, to }, id) {
      if (id !== '') return { method: 'POST', path: `/callbacks/${part(id)}/resend` };
      if (!merchant || !from || !to) throw new UsageError('Name a callback, or --merchant, --from and --to.');
      return { method: 'POST', path: '/callbacks/resend', body: { merchantId: merchant, from, to } };
    },
    show: (body) => (body['count'] === undefined ? 'Sent again.' : `Callbacks sent again: ${plain(body['count'])}`),
  },
];

function wholeSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError('--overlap-s takes a whole number of seconds.');
  return Number(text);
}

function plain(value: unknown): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.join(',') || '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function fields(...names: string[]): (body: Body) => string {
  const width = Math.max(...names.map((name) => name.length));
  return (body) =>
    names
      .filter((name) => body[name] !== undefined)
      .map((name) => `${name.padEnd(width)}  ${plain(body[name])}`)
      .join('\n');
}

function table(list: string, ...columns: string[]): (body: Body) => string {
  return (body) => {
    const rows = [columns, ...(body[list] as Row[]).map((row) => columns.map((column) => plain(row[column])))];
    const widths = columns.map((_column, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)));
    return rows
      .map((row) =>
        row
          .map((cell, place) => cell.padEnd(widths[place] ?? 0))
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
  };
}

const bare = (option: string) => option.replace('!', '');

function usageOf({ name, subject, subjectIsOptional, options = {} }: Definition): string {
  const word = subject === undefined ? [] : [subjectIsOptional ? `[${subject}]` : subject];
  const named = Object.keys(options).map((option) => (option.endsWith('!') ? `--${bare(option)} …` : `[--${option} …]`));
  return ['tillgate', name, ...word, ...named, '[--url …]', '[--json]'].join(' ');
}

function helpOf(definition: Definition): string {
  const all = Object.entries({ ...definition.options, ...commonOptions });
  const width = Math.max(...all.map(([option]) => bare(option).length));
  const lines = all.map(([option, meaning]) => `  --${bare(option).padEnd(width)}  ${meaning}`);
  return [`Usage: ${usageOf(definition)}`, '', definition.help, '', ...lines, '', 'TILLGATE_ADMIN_TOKEN holds the admin token.'].join('\n');
}

function readArguments(
  definition: Definition,
  args: string[],
): { values: Values; flags: { json: boolean; help: boolean }; subject: string } {
  const config: ParseArgsOptionsConfig = { url: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } };
  for (const option of Object.keys(definition.options ?? {})) config[bare(option)] = { type: 'string' };
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({ args, options: config, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { json, help, ...values } = parsed.values;
  const flags = { json: json === true, help: help === true };
  const [subject = '', ...more] = parsed.positionals;
  if (flags.help) return { values: {}, flags, subject };
  if (more.length > 0 || (subject !== '' && definition.subject === undefined)) {
    throw new UsageError(`Unexpected: ${(definition.subject === undefined ? parsed.positionals : more).join(' ')}`);
  }
  if (definition.subject !== undefined && !definition.subjectIsOptional && subject === '')
    throw new UsageError(`${definition.subject} is missing.`);
  for (const option of Object.keys(definition.options ?? {})) {
    if (option.endsWith('!') && values[bare(option)] === undefined) throw new UsageError(`--${bare(option)} is missing.`);
  }
  return { values: values as Values, flags, subject };
}

/** The answer's own fields, or an Error whose message a person can act on. */
async function callGateway(baseUrl: string, adminToken: string, call: Call): Promise<Body> {
  const query = new URLSearchParams(Object.entries(call.query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined));
  const address = `${baseUrl.replace(/\/+$/, '')}/cabinet/api${call.path}${query.size > 0 ? `?${query.toString()}` : ''}`;
  let response: Response;
  try {
    response = await fetch(address, {
      method: call.method,
      headers: { authorization: `Bearer ${adminToken}`, ...(call.body && { 'content-type': 'application/json' }) },
      ...(call.body && { body: JSON.stringify(call.body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(30_000),
    });
  } catch (error) {
    const { cause } = error as Error;
    const reason = cause instanceof Error ? cause.message || ('code' in cause ? String(cause.code) : cause.name) : (error as Error).message;
    throw new Error(`No gateway answers at ${baseUrl} (${reason}). Start one, or name another with --url.`, { cause: error });
  }
  const answer = (await response.json().catch(() => undefined)) as Body | undefined;
  if (typeof answer?.errorCode !== 'number') {
    throw new Error(`What answers at ${baseUrl} is no Tillgate gateway (HTTP ${response.status}). Is the path of --url right?`);
  }
  const { errorCode, errorMessage, ...own } = answer;
  if (errorCode !== 0) throw new Error(`${String(errorMessage)} (errorCode ${errorCode})`);
  return own;
}

async function runDefinition(definition: Definition, args: string[], io: CommandIo): Promise<number> {
  try {
    const { values, flags, subject } = readArguments(definition, args);
    if (flags.help) {
      io.out(helpOf(definition));
      return 0;
    }
    const { url = io.baseUrl, ...own } = values;
    if (!URL.canParse(url)) throw new UsageError(`--url must be an address such as http://127.0.0.1:8080/tillgate.`);
    const call = definition.call(own, subject);
    if (!io.adminToken) throw new UsageError('Set TILLGATE_ADMIN_TOKEN to the admin token of the gateway.');
    const body = await callGateway(url, io.adminToken, call);
    io.out(flags.json ? JSON.stringify(body) : definition.show(body));
    return 0;
  } catch (error) {
    io.err((error as Error).message);
    if (!(error instanceof UsageError)) return 1;
    io.err(`Usage: ${usageOf(definition)}`);
    return 2;
  }
}

export const administrationCommands: readonly AdminCommand[] = definitions.map((definition) => ({
  name: definition.name,
  usage: usageOf(definition),
  help: definition.help,
  run: (args, io) => runDefinition(definition, args, io),
}));

// Runs the commands that call the cabinet: each is one call to a running gateway, so they also work with the embedded database.
// main.ts dispatches by name and passes the address and the token. Exit codes: 0 done, 1 refused or unreachable, 2 wrong usage.
import { systemSentence } from '../kernel/system-errors.ts';
import { definitions } from './cabinet-calls.ts';
import type { Body, Call, Definition, Values } from './cabinet-definition.ts';
import { addressOf, helpLines, helpOption, type Options, parseOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
  /** Used when --url is absent: base URL with the first path segment. */
  baseUrl: string;
  adminToken: string | undefined;
  /** Resolves after the time; rejects when the command is cancelled. */
  pause(ms: number): Promise<void>;
}

export interface CabinetCommand {
  /** As typed, one or two words: 'key create'. */
  name: string;
  usage: string;
  help: string;
  options: Options;
  /** `args` are the words after the name. Returns the exit code. */
  run(args: string[], io: CommandIo): Promise<number>;
}

const commonOptions: Options = {
  url: ['string', 'base URL of the gateway, for example https://pay.example.md/tillgate'],
  json: ['boolean', 'print the answer as JSON, and an error as one line of JSON'],
};
const followOption: Options = { follow: ['boolean', 'keep running and show new entries, until Ctrl-C'] };
const lookAgainMs = 1_000;

const bare = (option: string) => option.replace('!', '');

function optionsOf({ options = {}, follow }: Definition): Options {
  const own = Object.entries(options).map(([option, meaning]) => [bare(option), ['string', meaning]]);
  return { ...Object.fromEntries(own), ...(follow && followOption), ...commonOptions };
}

function usageOf({ name, subject, subjectIsOptional, options = {}, follow }: Definition): string {
  const word = subject === undefined ? [] : [subjectIsOptional ? `[${subject}]` : subject];
  const named = Object.keys(options).map((option) => (option.endsWith('!') ? `--${bare(option)} …` : `[--${option} …]`));
  return ['tillgate', name, ...word, ...named, ...(follow ? ['[--follow]'] : []), '[--url …]', '[--json]'].join(' ');
}

function helpOf(definition: Definition): string {
  const lines = helpLines({ ...optionsOf(definition), ...helpOption });
  return [`Usage: ${usageOf(definition)}`, '', definition.help, '', ...lines, '', 'TILLGATE_ADMIN_TOKEN must be the admin token.'].join(
    '\n',
  );
}

function readArguments(definition: Definition, args: string[]) {
  const parsed = parseOptions(args, optionsOf(definition), { allowPositionals: true });
  const { json, help, follow, ...values } = parsed.values as Record<string, unknown>;
  const flags = { json: json === true, help: help === true, follow: follow === true };
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

/** The fields of the answer, or an Error with a message that a person can act on. */
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
    throw new Error(`No gateway answers at ${baseUrl}. ${whyNoAnswer(error)} Start one, or name another with --url.`, { cause: error });
  }
  const answer = (await response.json().catch(() => undefined)) as Body | undefined;
  if (typeof answer?.errorCode !== 'number') {
    throw new Error(`The server at ${baseUrl} is no Tillgate gateway (HTTP ${response.status}). Check the path of --url.`);
  }
  const { errorCode, errorMessage, ...own } = answer;
  if (errorCode !== 0) throw new Refused(String(errorMessage), errorCode);
  return own;
}

export function whyNoAnswer(error: unknown): string {
  const { cause, message } = error as Error;
  return systemSentence(error) ?? `(${cause instanceof Error && cause.message !== '' ? cause.message : message}).`;
}

/** A refusal by the gateway. */
class Refused extends Error {
  readonly errorCode: number;
  constructor(sentence: string, errorCode: number) {
    super(`${sentence} (errorCode ${errorCode})`);
    this.errorCode = errorCode;
  }
}

/** A URL without a path gets the configured base path. */
function withBasePath(url: string, usual: string): string {
  const given = new URL(url);
  const path = URL.canParse(usual) ? new URL(usual).pathname : '/';
  return given.pathname === '/' && path !== '/' ? `${given.origin}${path}` : url;
}

/** Ends only with an error, of the gateway or of `pause`. */
async function goOn(
  { fresh, line }: NonNullable<Definition['follow']>,
  first: Body,
  ask: () => Promise<Body>,
  io: CommandIo,
  isJson: boolean,
) {
  for (let before = first; ; ) {
    await io.pause(lookAgainMs);
    const body = await ask();
    for (const row of fresh(body, before)) io.out(isJson ? JSON.stringify(row) : line(row));
    before = body;
  }
}

async function runDefinition(definition: Definition, args: string[], io: CommandIo): Promise<number> {
  try {
    const { values, flags, subject } = readArguments(definition, args);
    if (flags.help) {
      io.out(helpOf(definition));
      return 0;
    }
    const { url = io.baseUrl, ...own } = values;
    addressOf(url);
    const call = definition.call(own, subject);
    if (!io.adminToken) throw new UsageError('Set TILLGATE_ADMIN_TOKEN to the admin token of the gateway.');
    const { adminToken } = io;
    const ask = () => callGateway(withBasePath(url, io.baseUrl), adminToken, call);
    const body = await ask();
    io.out(flags.json ? JSON.stringify(body) : definition.show(body));
    if (flags.follow && definition.follow) await goOn(definition.follow, body, ask, io, flags.json);
    return 0;
  } catch (error) {
    const { message } = error as Error;
    const isUsage = error instanceof UsageError;
    if (args.includes('--json')) {
      io.err(JSON.stringify({ error: message, ...(error instanceof Refused && { errorCode: error.errorCode }) }));
    } else {
      io.err(message);
      if (isUsage) io.err(`Usage: ${usageOf(definition)}`);
    }
    return isUsage ? 2 : 1;
  }
}

export const cabinetCommands: readonly CabinetCommand[] = definitions.map((definition) => ({
  name: definition.name,
  usage: usageOf(definition),
  help: definition.help,
  options: optionsOf(definition),
  run: (args, io) => runDefinition(definition, args, io),
}));

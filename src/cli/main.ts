#!/usr/bin/env node
// The command line. Each command has --help; exit codes: 0 done, 1 failed, 2 wrong usage.
// Modules that only some commands need are loaded on demand, so that small commands start quickly.
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { ConfigError, readConfig } from '../config.ts';
import type { ProcessWorld } from '../gateway.ts';
import { sleep } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { systemClock, systemRandom } from '../kernel/system.ts';
import { systemSentence } from '../kernel/system-errors.ts';
import { visibleText } from '../kernel/visible-text.ts';
import type { Mode } from '../settings.ts';
import { version } from '../wiring/version.ts';
import { cabinetCommands } from './cabinet-commands.ts';
import { compileSooner } from './compile-sooner.ts';
import { type Completable, completionScript, howToLoad, shells } from './completions.ts';
import { conformanceOptions } from './conformance-options.ts';
import { refuseUnusableDirectory } from './data-directory.ts';
import { didYouMean } from './did-you-mean.ts';
import { printFirstOperatorLink } from './first-operator.ts';
import { createLogger } from './logger.ts';
import { addressOf, helpLines, type Options, parseOptions, type Values, wholeNumberUpTo } from './options.ts';
import { runningGateway } from './running-gateway.ts';
import { describeSandbox, readSandboxFile } from './sandbox-file.ts';
import { simulateOptions } from './simulate-options.ts';
import { collectStartGarbage } from './start-garbage.ts';
import { UsageError } from './usage-error.ts';

interface Command {
  help: string;
  options: Options;
  /** Possible arguments after the name, for completions. */
  words?: readonly string[];
  run(args: string[]): Promise<number>;
}

/** A command without arguments; `about`: what --help says between the usage and the options. */
function command<Own extends Options>(
  help: string,
  usage: string,
  about: string[],
  options: Own,
  act: (values: Values<Own>) => Promise<number>,
): Command {
  return {
    help,
    options,
    async run(args) {
      const { values } = parseOptions(args, options);
      if (!values.help) return act(values);
      out([`Usage: tillgate ${usage}`, '', ...about, '', ...helpLines(options)].join('\n'));
      return 0;
    },
  };
}

// All that any command prints passes here; only the log has a way of its own, with the same rule (logger.ts).
const out = (text: string) => void process.stdout.write(`${visibleText(text)}\n`);
const err = (text: string) => void process.stderr.write(`${visibleText(text)}\n`);

const commands: Record<string, Command> = {
  sandbox: command(
    'run a test gateway with a demo merchant and virtual devices',
    'sandbox [--json]',
    [
      'Runs a test gateway on embedded defaults in TILLGATE_DATA_DIR, with a demo merchant, a key for all modules',
      'and virtual devices. When it is ready it writes sandbox.json there.',
    ],
    { json: ['boolean', 'print the content of sandbox.json as one line instead of the tour'] },
    runSandbox,
  ),
  serve: command(
    'run the gateway in production',
    'serve [--json]',
    [
      'Runs the gateway in production, with the settings of docs/operating.md. It refuses to start on a dangerous',
      'configuration. After SIGTERM it still serves for TILLGATE_DRAIN_S, and calls in flight then have TILLGATE_STOP_GRACE_S.',
    ],
    { json: ['boolean', 'print the addresses as one line of JSON when it is ready'] },
    runServe,
  ),
  migrate: command(
    'bring the database up to date',
    'migrate [--check] [--json]',
    [
      'Brings the database of TILLGATE_DATABASE_URL, or the embedded one in TILLGATE_DATA_DIR, up to date.',
      'A gateway does the same at its start.',
    ],
    {
      check: ['boolean', 'only check whether it is up to date, also while a gateway runs on it'],
      json: ['boolean', 'print the applied migrations as JSON'],
    },
    async (values) => (await import('./database-commands.ts')).migrate(databasePlace(), values, out),
  ),
  backup: command(
    'copy the embedded database, also while a gateway runs on it',
    'backup --to FILE [--json]',
    [
      'Writes a consistent snapshot of the embedded database in TILLGATE_DATA_DIR into a new file, checks it and prints a summary.',
      'The gateway keeps serving. For PostgreSQL use its own tools: see docs/operating.md, also for how to restore.',
    ],
    { to: ['string', 'the file to write; it must not exist'], json: ['boolean', 'print the summary as JSON'] },
    async (values) => (await import('./database-commands.ts')).backUp(databasePlace(), values, out),
  ),
  simulate: {
    help: 'run a virtual device against any gateway, or let it scan an invoice',
    options: simulateOptions,
    words: ['scan'],
    run: async (args) => (await import('./simulate.ts')).simulate(args, { out, err, world: world('warn'), untilStopped }),
  },
  conformance: {
    help: 'check a real device against every rule of the device protocol',
    options: conformanceOptions,
    run: async (args) =>
      (await import('./conformance.ts')).conformance(args, { out, err, world: world('error'), isInteractive: process.stdin.isTTY }),
  },
  sink: command(
    'print the callbacks that arrive at a local port',
    'sink [--port 9000] [--status 200] [--secret whsec_...]',
    ['Listens on 127.0.0.1, prints every callback that arrives and whether its signature is valid.'],
    {
      port: ['string', 'port to listen on (9000)'],
      status: ['string', 'HTTP status to answer with (200); after an error status the gateway retries'],
      secret: ['string', "the merchant's signing secret; without it that of the sandbox in TILLGATE_DATA_DIR"],
    },
    runSink,
  ),
  doctor: command(
    'check settings, database, clock, brokers, certificate, addresses and disk, with advice',
    'doctor [--url URL] [--json]',
    [
      'Checks everything that a gateway with these settings needs, and reports each result with advice. Changes nothing.',
      'Ends within half a minute, even if something hangs, but to look through a large ledger takes longer; exit code 1 if a check fails.',
    ],
    {
      url: ['string', 'also check the gateway at this base URL, and compare its clock'],
      json: ['boolean', 'print the verdict and the findings as one line of JSON'],
    },
    runDoctor,
  ),
  completions: {
    help: 'print the completion script for bash, zsh or fish',
    options: {},
    words: shells,
    run: async ([shell, ...more]) => {
      const isAsked = shell === '--help' || shell === '-h';
      const known = shells.find((one) => one === shell);
      if (isAsked) out(['Usage: tillgate completions bash|zsh|fish', '', ...shells.map((one) => `  ${howToLoad[one]}`)].join('\n'));
      else if (known === undefined || more.length > 0) throw new UsageError('Usage: tillgate completions bash|zsh|fish');
      else out(completionScript(known, completable()));
      return 0;
    },
  },
};

/** All commands and options. */
function completable(): Completable[] {
  return [...Object.entries(commands).map(([name, own]) => ({ ...own, name })), ...cabinetCommands];
}

async function main(args: string[]): Promise<number> {
  const [first = '--help', second] = args;
  if (first === '--version' || first === 'version') {
    out(version());
    return 0;
  }
  const own = commands[first];
  if (own) return own.run(args.slice(1));
  const call = cabinetCommands.find(({ name }) => name === first || name === `${first} ${second}`);
  if (call) {
    const { baseUrl, adminToken } = runningGateway();
    return call.run(args.slice(call.name.split(' ').length), { out, err, baseUrl, adminToken, pause: (ms) => sleep(systemClock, ms) });
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    out(overview());
    return 0;
  }
  const family = cabinetCommands.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0) {
    const asked = second === undefined || second === '--help' || second === '-h';
    (asked ? out : err)(
      `${
        asked
          ? ''
          : `There is no command "${first} ${second}".${didYouMean(
              `${first} ${second}`,
              family.map(({ name }) => name),
            )}\n`
      }${family.map((one) => `  ${one.usage}\n      ${one.help}`).join('\n')}`,
    );
    return second === undefined || !asked ? 2 : 0;
  }
  const known = [...Object.keys(commands), ...cabinetCommands.map(({ name }) => name.split(' ')[0] ?? '')];
  throw new UsageError(`There is no command "${first}"; tillgate --help lists them.${didYouMean(first, known)}`);
}

function overview(): string {
  const line = (name: string, help: string) => `  ${name.padEnd(20)}  ${help}`;
  return [
    'Usage: tillgate <command> [options]',
    '',
    ...Object.entries(commands).map(([name, { help }]) => line(name, help)),
    '',
    'Commands that call the cabinet of a running gateway (--url, TILLGATE_ADMIN_TOKEN):',
    ...cabinetCommands.map(({ name, help }) => line(name, help)),
    '',
    'Every command has --help. Settings are environment variables: see docs/operating.md.',
  ].join('\n');
}

async function runSandbox(values: { json?: boolean }): Promise<number> {
  const config = configFor('sandbox');
  await refuseUnusableDirectory(config.dataDir, systemClock);
  const { startSandbox } = await import('./sandbox.ts');
  const sandbox = await startSandbox(config, world(config.logLevel));
  flushCompileCache();
  compileSooner();
  collectStartGarbage();
  out(values.json ? JSON.stringify(sandbox.file) : describeSandbox(sandbox));
  return untilStopped(sandbox.stop);
}

async function runServe(values: { json?: boolean }): Promise<number> {
  const config = configFor('serve');
  if (config.databaseUrl === undefined) await refuseUnusableDirectory(config.dataDir, systemClock);
  const { startGateway } = await import('../gateway.ts');
  const gateway = await startGateway(config, world(config.logLevel));
  // Writes the compile cache that bin/ enables: a killed process would never write it.
  flushCompileCache();
  // Listens for signals first: the reader of the line may send one at once.
  const stopped = untilStopped(gateway.drainAndStop);
  compileSooner();
  collectStartGarbage();
  // Standard output is the log, with JSON in every line; lines for people go to standard error.
  if (values.json) out(JSON.stringify(gateway.addresses()));
  else err(`Tillgate listens at ${gateway.addresses().baseUrl}`);
  // Only on a terminal: other outputs may be stored logs, and the link is a secret.
  if (process.stderr.isTTY && !values.json)
    gateway.people.firstOperatorLink('serve', true).then((made) => printFirstOperatorLink(made, err), err);
  return stopped;
}

/** Only the database settings matter here, so the checks of `serve` for dangerous settings are skipped. */
function databasePlace(): { url: string | undefined; dataDir: string } {
  const { databaseUrl: url, dataDir } = configFor('sandbox');
  return { url, dataDir };
}

async function runDoctor({ url, json }: { url?: string; json?: boolean }): Promise<number> {
  if (url !== undefined) addressOf(url);
  const { describeDiagnosis, diagnose } = await import('./doctor/doctor.ts');
  const diagnosis = await diagnose({ clock: systemClock, random: systemRandom, url, onProgress: err });
  out(json ? JSON.stringify(diagnosis) : describeDiagnosis(diagnosis));
  return diagnosis.verdict === 'bad' ? 1 : 0;
}

async function runSink(values: { port?: string; status?: string; secret?: string }): Promise<number> {
  const { startSink } = await import('./sink.ts');
  const sandboxPath = join(readConfig('sandbox').dataDir, 'sandbox.json');
  const sink = await startSink({
    port: wholeNumberUpTo(65_535, '--port', values.port ?? '9000'),
    status: wholeNumberUpTo(599, '--status', values.status ?? '200'),
    clock: systemClock,
    secret: () => values.secret ?? readSandboxFile(sandboxPath)?.callbackSecret,
    print: out,
  });
  out(`Waiting for callbacks at http://127.0.0.1:${sink.port}/ (Ctrl-C ends)`);
  return untilStopped(sink.stop);
}

function configFor(mode: Mode) {
  const config = readConfig(mode);
  for (const warning of config.warnings) err(`Note: ${warning}`);
  return config;
}

function world(logLevel: Parameters<typeof createLogger>[0]): ProcessWorld {
  return { clock: systemClock, random: systemRandom, logger: createLogger(logLevel), endProcess: (exitCode) => process.exit(exitCode) };
}

/** Resolves with the exit code after SIGTERM or SIGINT and a complete shutdown; a second signal ends the process at once. */
function untilStopped(stop: () => Promise<void>): Promise<number> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      stop().then(
        () => resolve(0),
        (error: unknown) => {
          err(`Stopping failed: ${(error as Error).message}`);
          resolve(1);
        },
      );
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** One or more sentences for errors that a person can fix; the stack only for bugs. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  if (error instanceof UsageError || error instanceof StartRefused || error instanceof GatewayError) return error.message;
  const sentence = systemSentence(error);
  if (sentence !== undefined) return sentence;
  // An unknown disk or network error: the system's message names the file or address.
  if (error instanceof Error && 'syscall' in error) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

// Node would print it by itself, whatever stands in its message.
process.on('uncaughtException', (error: unknown) => {
  err(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
});

const typed = process.argv.slice(2);
main(typed).then(
  (code) => process.exit(code),
  (error: unknown) => {
    err(typed.includes('--json') ? JSON.stringify({ error: explain(error) }) : explain(error));
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);

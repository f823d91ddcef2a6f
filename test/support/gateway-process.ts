// Tillgate as a user runs it: the command line in a process of its own, with its output kept and its end awaited.
// Processes are killed at the latest when the test process ends; settings of the caller's environment do not leak in.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxFile } from '../../src/cli/sandbox-file.ts';
import type { Faults } from '../../src/virtual/mishaps/faults.ts';
import { core } from './core.ts';
import { freePort } from './free-port.ts';

export type Settings = Record<string, string>;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Program {
  readonly pid: number;
  readonly exited: Promise<Ended>;
  out(): string;
  err(): string;
  /** Resolves when the pattern has been printed to stdout; rejects when the program ends first or time runs out. */
  prints(pattern: RegExp, withinMs?: number): Promise<RegExpMatchArray>;
  kill9(): Promise<void>;
  /** SIGTERM; resolves with how it ended. */
  terminate(): Promise<Ended>;
}

/** Generous: the machine may be busy with other tests. */
export const patienceMs = 30_000;

/** `npm test` without files names the packed program here [D247]; otherwise the sources are started. */
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const sources = { old: pathOf('../../bin/tillgate.mjs'), new: pathOf('new-core-program.mjs') };
const programFile = () => (core === 'new' ? sources.new : (process.env['TILLGATE_TEST_PROGRAM'] ?? sources.old));
/** With which everybody who starts the program starts its Node [D124]. */
export const memoryFlag = '--max-semi-space-size=16';
const running = new Set<ChildProcess>();
const directories = new Set<string>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A directory that is gone when the test process ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-e2e-'));
  directories.add(directory);
  return directory;
}

function cleanEnvironment(settings: Settings): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(TILLGATE_|VITEST|NODE_OPTIONS|NODE_COMPILE_CACHE)/.test(name));
  return { ...Object.fromEntries(kept), ...settings };
}

/** The kernel ends the program when the test process is killed, so that none is left behind. */
function wrapped(args: string[], program = programFile()): [string, string[]] {
  const own = [process.execPath, memoryFlag, program, ...args];
  return existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', ['--pdeathsig=SIGKILL', ...own]] : [process.execPath, own.slice(1)];
}

/** As if typed at a terminal: what it prints goes to one, and comes to us from there. */
export function startOnTerminal(args: string[], settings: Settings = {}): Program {
  const [command, all] = wrapped(args);
  const line = [command, ...all].map((word) => `'${word}'`).join(' ');
  return startProgram(args, settings, ['/usr/bin/script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null']]);
}

export function startProgram(args: string[], settings: Settings = {}, [command, all]: [string, string[]] = wrapped(args)): Program {
  const child = spawn(command, all, { env: cleanEnvironment(settings), stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let out = '';
  let err = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
    changed();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString('utf8');
    changed();
  });
  const exited = new Promise<Ended>((resolve) => {
    // `close` comes after the last output was read.
    child.once('close', (code, signal) => {
      running.delete(child);
      isOver = true;
      resolve({ code, signal });
      changed();
    });
  });

  function prints(pattern: RegExp, withinMs = patienceMs): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const end = (problem?: string) => {
        listeners.delete(look);
        clearTimeout(timer);
        if (problem !== undefined) reject(new Error(`${problem} ${String(pattern)}\n--- stdout\n${out}\n--- stderr\n${err}`));
      };
      const timer = setTimeout(() => end(`tillgate ${args.join(' ')} did not print within ${withinMs} ms:`), withinMs);
      const look = () => {
        const match = out.match(pattern);
        if (match) {
          end();
          resolve(match);
        } else if (isOver) end(`tillgate ${args.join(' ')} ended before it printed`);
      };
      listeners.add(look);
      look();
    });
  }

  return {
    pid: child.pid ?? 0,
    exited,
    out: () => out,
    err: () => err,
    prints,
    async kill9() {
      child.kill('SIGKILL');
      await exited;
    },
    terminate() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Runs a command to its end. */
export async function runProgram(args: string[], settings: Settings = {}): Promise<{ code: number | null; out: string; err: string }> {
  const program = startProgram(args, settings);
  const timer = setTimeout(() => void program.kill9(), 2 * patienceMs);
  const { code } = await program.exited;
  clearTimeout(timer);
  return { code, out: program.out(), err: program.err() };
}

export interface GatewayProcess extends Program {
  baseUrl: string;
  adminToken: string;
}

export interface SandboxProcess extends GatewayProcess {
  dataDir: string;
  file: SandboxFile;
}

/** Ports of its own choice, unless the settings name some. */
export async function startSandboxProcess(dataDir: string, settings: Settings = {}): Promise<SandboxProcess> {
  const program = startProgram(['sandbox', '--json'], {
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_PORT: '0',
    TILLGATE_MQTT_PORT: '0',
    ...settings,
  });
  await program.prints(/^\{.*\}\n/m);
  const file = JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxFile;
  return { ...program, dataDir, file, baseUrl: file.baseUrl, adminToken: file.adminToken };
}

export const serveToken = 'a-token-that-is-long-enough-for-serve';

/** `serve` on fixed ports, so that devices find it again after a restart. */
export async function serveSettings(settings: Settings = {}): Promise<Settings> {
  return {
    TILLGATE_PORT: String(await freePort()),
    TILLGATE_MQTT_PORT: String(await freePort()),
    TILLGATE_ADMIN_TOKEN: serveToken,
    TILLGATE_LOG_LEVEL: 'warn',
    TILLGATE_DRAIN_S: '0',
    ...settings,
  };
}

/** `of`: from the sources, on this money core; otherwise as everywhere. */
export async function startServeProcess(settings: Settings, of?: 'old' | 'new'): Promise<GatewayProcess> {
  const program = startProgram(['serve', '--json'], settings, wrapped(['serve', '--json'], of && sources[of]));
  // It may have to wait 20 s to see whether an instance before it still lives.
  const [, baseUrl = ''] = await program.prints(/^\{"baseUrl":"([^"]+)"/m, 2 * patienceMs);
  return { ...program, baseUrl, adminToken: settings['TILLGATE_ADMIN_TOKEN'] ?? serveToken };
}

/** A virtual device as its own process; its state directory survives it. */
export async function startDeviceProcess(options: {
  kind: 'terminal' | 'register';
  stateDir: string;
  /** Needed the first time only. */
  pairing?: { baseUrl: string; code: string } | undefined;
  slowMs?: number;
  faults?: Partial<Faults>;
}): Promise<Program> {
  const { kind, stateDir, pairing, slowMs, faults } = options;
  const script = faults && join(temporaryDirectory(), 'faults.json');
  if (script) writeFileSync(script, JSON.stringify(faults));
  const program = startProgram([
    'simulate',
    '--kind',
    kind,
    '--state-dir',
    stateDir,
    ...(pairing ? ['--url', pairing.baseUrl, '--pair', pairing.code] : []),
    ...(slowMs === undefined ? [] : ['--slow-ms', String(slowMs)]),
    ...(script === undefined ? [] : ['--faults', script]),
  ]);
  await program.prints(/Ctrl-C ends/);
  return program;
}

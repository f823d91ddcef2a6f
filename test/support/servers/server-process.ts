// A real server as a child process: started, waited for, stopped or killed; never left behind.
// It is in its own process group, so that Ctrl-C in the terminal reaches the test command first, which then stops it in order.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { connect } from 'node:net';

/** What every test server offers besides its addresses. Ports and data stay the same over kill9 and restart. */
export interface TestServer {
  /** Ends it for good and removes its directory. */
  stop(): Promise<void>;
  /** Ends it as a power cut would, and waits until it is gone. */
  kill9(): Promise<void>;
  /** Starts it again on the same port and data; if it still runs it is stopped in order first. */
  restart(): Promise<void>;
}

export interface ProcessOptions {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  cwd: string;
  /** Ready when this has been printed... */
  readyLine?: RegExp;
  /** ...or when this port of 127.0.0.1 accepts connections. */
  readyPort?: number;
  readyWithinMs: number;
  stopSignal: NodeJS.Signals;
  /** As this user, when the caller is root. */
  asUser?: string;
}

export interface ServerProcess {
  readonly isRunning: boolean;
  stop(): Promise<void>;
  kill9(): Promise<void>;
}

const keptOutput = 20_000;
const stopWithinMs = 20_000;
const running = new Set<ChildProcess>();
const directories = new Set<string>();

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // Already gone.
  }
}

process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** The directory is removed with the server, at the latest when this process exits. */
export function ownDirectory(directory: string): { remove(): void } {
  directories.add(directory);
  return {
    remove() {
      directories.delete(directory);
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Runs it; `startAgain` where a start after a kill needs more patience, `afterwards` for what is left to do when it has stopped for good. */
export async function keepRestartable(
  start: () => Promise<ServerProcess>,
  { startAgain = start, afterwards }: { startAgain?: () => Promise<ServerProcess>; afterwards: () => void | Promise<void> },
): Promise<TestServer> {
  let server = await start();
  return {
    async stop() {
      await server.stop();
      await afterwards();
    },
    kill9: () => server.kill9(),
    async restart() {
      await server.stop();
      server = await startAgain();
    },
  };
}

export const isRoot = process.getuid?.() === 0;

/** Root hands a server to its own user; and the kernel ends the server when this process is killed, so that none is left behind. */
function wrapped(options: ProcessOptions): { command: string; args: string[] } {
  if (!existsSync('/usr/bin/setpriv')) return options;
  const user = options.asUser && isRoot ? [`--reuid=${options.asUser}`, `--regid=${options.asUser}`, '--clear-groups'] : [];
  return { command: '/usr/bin/setpriv', args: ['--pdeathsig=SIGKILL', ...user, options.command, ...options.args] };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function startProcess(options: ProcessOptions): Promise<ServerProcess> {
  const { command, args } = wrapped(options);
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  let output = '';
  let isReady = false;
  let isRunning = true;
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString('utf8')).slice(-keptOutput);
    if (options.readyLine?.test(output)) isReady = true;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      isRunning = false;
      running.delete(child);
      resolve();
    };
    child.once('exit', end);
    child.once('error', (error) => {
      output += error.message;
      end();
    });
  });
  // Servers must not keep a test process alive that has forgotten one.
  child.unref();

  async function kill9(): Promise<void> {
    killGroup(child, 'SIGKILL');
    await ended;
  }

  async function stop(): Promise<void> {
    if (!isRunning) return;
    child.ref();
    if (child.pid !== undefined) process.kill(child.pid, options.stopSignal);
    const timer = setTimeout(() => killGroup(child, 'SIGKILL'), stopWithinMs);
    await ended;
    clearTimeout(timer);
  }

  const startedAt = performance.now();
  while (!isReady) {
    if (!isRunning) throw new Error(`${options.name} ended while starting:\n${output}`);
    if (performance.now() - startedAt > options.readyWithinMs) {
      await kill9();
      throw new Error(`${options.name} was not ready within ${options.readyWithinMs} ms:\n${output}`);
    }
    if (options.readyPort !== undefined) isReady = await accepts(options.readyPort);
    if (!isReady) await pause(10);
  }
  return {
    get isRunning() {
      return isRunning;
    },
    stop,
    kill9,
  };
}

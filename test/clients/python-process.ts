// Programs of a shell in process groups of their own, which `endAll` ends after a test.
import { type ChildProcess, spawn } from 'node:child_process';

const cleanUp: (() => unknown)[] = [];

/** What is to be done after the test, the last first. */
export function afterwards(end: () => unknown): void {
  cleanUp.push(end);
}

export async function endAll(): Promise<void> {
  for (const end of cleanUp.splice(0).reverse()) await end();
}

export function run(command: string, cwd: string): ChildProcess & { printed(): string } {
  const child = spawn('bash', ['-c', command], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  afterwards(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // It is over already.
    }
  });
  return Object.assign(child, { printed: () => text });
}

export const exitOf = (child: ChildProcess) => new Promise<number | null>((resolve) => child.once('exit', resolve));

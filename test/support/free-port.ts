// A TCP port of 127.0.0.1 that nobody used a moment ago, and that nobody is likely to use before its server starts: it lies below those that
// the system hands out by itself, to listeners at port 0 and to every connection that goes out, and is drawn by chance.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const [lowest, highest] = [12_000, 32_000];
/** Their servers may not listen yet. */
const handedOut = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

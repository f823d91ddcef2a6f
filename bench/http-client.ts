// A lean HTTP client for the load: keep-alive sockets, one request at a time on each, answers with Content-Length. fetch costs several
// times the processor time of the servers under test, and would hide their difference.
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  body: string;
}

export interface HttpClient {
  get(path: string): Promise<Answer>;
  post(path: string, body: object): Promise<Answer>;
  close(): void;
}

const headEnd = Buffer.from('\r\n\r\n');

/** One connection; open several for several requests at once. */
export async function openConnection(baseUrl: string): Promise<HttpClient> {
  const { hostname, port, pathname } = new URL(baseUrl);
  const prefix = pathname === '/' ? '' : pathname;
  const socket = await dial(Number(port), hostname);
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;
  let received: Buffer = Buffer.alloc(0);

  function fail(error: Error): void {
    waiting?.reject(error);
    waiting = undefined;
  }

  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = readAnswer(received);
    if (!answer) return;
    received = received.subarray(answer.length);
    const { resolve } = waiting ?? {};
    waiting = undefined;
    resolve?.(answer);
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${baseUrl} closed the connection.`)));

  function send(text: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (socket.destroyed) {
        reject(new Error(`${baseUrl} closed the connection.`));
        return;
      }
      waiting = { resolve, reject };
      socket.write(text);
    });
  }

  const host = `Host: ${hostname}:${port}\r\n`;
  return {
    get: (path) => send(`GET ${prefix}${path} HTTP/1.1\r\n${host}\r\n`),
    post(path, body) {
      const text = JSON.stringify(body);
      return send(
        `POST ${prefix}${path} HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
    },
    close: () => socket.destroy(),
  };
}

function dial(port: number, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function readAnswer(bytes: Buffer): (Answer & { length: number }) | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const size = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (size === undefined) throw new Error(`The answer has no Content-Length:\n${head}`);
  const length = end + headEnd.length + Number(size);
  if (bytes.length < length) return undefined;
  return { status: Number(head.slice(9, 12)), body: bytes.toString('utf8', end + headEnd.length, length), length };
}

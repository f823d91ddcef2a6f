// HTTP over a raw socket, for requests that no client library would send.
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface RawConnection {
  socket: Socket;
  /** Everything received until the server closed the connection. */
  untilClosed(): Promise<string>;
  /** Waits until the received text satisfies the test. */
  until(test: (text: string) => boolean): Promise<string>;
}

export function openRaw(port: number, dial: () => Socket = () => connect(port, '127.0.0.1')): Promise<RawConnection> {
  return new Promise((resolve, reject) => {
    const socket = dial();
    let text = '';
    const waiting = new Set<() => void>();
    const wake = () => {
      for (const look of waiting) look();
    };
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
      wake();
    });
    socket.on('close', wake);
    socket.once('error', reject);
    // Tests may provoke a reset during a write.
    socket.on('error', wake);
    const wait = (done: () => boolean) =>
      new Promise<string>((resolveText) => {
        const look = () => {
          if (!done()) return;
          waiting.delete(look);
          resolveText(text);
        };
        waiting.add(look);
        look();
      });
    socket.once('connect', () =>
      resolve({ socket, untilClosed: () => wait(() => socket.closed), until: (test) => wait(() => test(text) || socket.closed) }),
    );
  });
}

export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const connection = await openRaw(port);
  connection.socket.write(bytes);
  return connection.untilClosed();
}

/** The responses in a text. Throws if it contains anything else. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1];
    if (end < 0 || status === undefined) throw new Error(`not a response: ${JSON.stringify(rest.slice(0, 200))}`);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const length = Number(headers['content-length'] ?? 0);
    answers.push({ status: Number(status), headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

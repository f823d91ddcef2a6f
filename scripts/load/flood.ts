// A client that sends as much as it can from an address of its own, in a separate process, so that its cost does not slow down the measured
// caller. Its argument is JSON; it ends by itself after the time that it is given. Prints the number of its answers each second.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { connectPacket } from './mqtt-bytes.ts';

export interface FloodOptions {
  kind: keyof typeof uses;
  host: string;
  port: number;
  /** Connections at once. */
  connections: number;
  forMs: number;
  /** From which they come in turn; 1 by default. */
  addresses?: number;
  /** The request, or the secret of the login. */
  text?: string;
  /** So many letters stand in it for `filling`, because an argument of a process has at most 128 KB. */
  fillingBytes?: number;
  isTls?: boolean;
}

const options = JSON.parse(process.argv[2] ?? '') as FloodOptions;
const { kind, host, port, connections, forMs, isTls = false, addresses = 1, fillingBytes = 0 } = options;
const text = (options.text ?? '').replace('@filling@', 'x'.repeat(fillingBytes));
let dialled = 0;
let answers = 0;
let trouble = 0;

const dial = (): Socket => {
  const localAddress = `127.0.20.${1 + (dialled++ % addresses)}`;
  const socket = connect({ host, port, localAddress, noDelay: true });
  return isTls ? connectTls({ socket, rejectUnauthorized: false }) : socket;
};

/** A connection after the other; each runs `use`, and the next one comes when it has closed. */
function keepBusy(use: (socket: Socket) => void): void {
  const socket = dial();
  socket.on('error', () => {
    trouble += 1;
  });
  socket.on('close', () => setImmediate(keepBusy, use));
  use(socket);
}

const headerOfLength = /content-length: (\d+)/i;

/** Sends the request again with each answer. */
function repeat(socket: Socket): void {
  let answer = '';
  socket.on(isTls ? 'secureConnect' : 'connect', () => socket.write(text));
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
    const end = answer.indexOf('\r\n\r\n');
    const length = Number(headerOfLength.exec(answer)?.[1] ?? 0);
    if (end < 0 || answer.length < end + 4 + length) return;
    answer = '';
    answers += 1;
    socket.write(text);
  });
}

/** Logs in as no device, and reads the refusal. */
function logIn(socket: Socket): void {
  socket.on(isTls ? 'secureConnect' : 'connect', () => socket.write(connectPacket('no device', text, 60)));
  socket.on('data', () => {
    answers += 1;
  });
}

/** A login that arrives a byte at a time. */
function drip(socket: Socket): void {
  const login = connectPacket('no device', text, 60);
  let sent = 0;
  const next = () => {
    if (!socket.writable) return;
    socket.write(login.subarray(sent, sent + 1), () => setImmediate(next));
    sent += 1;
  };
  socket.on('connect', next);
}

function shakeHands(socket: Socket): void {
  socket.on('secureConnect', () => {
    answers += 1;
    socket.destroy();
  });
}

/** The beginning of a ClientHello. */
function stall(socket: Socket): void {
  socket.on('connect', () => socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])));
}

/** Sends nothing. */
function connectOnly(socket: Socket): void {
  socket.on('connect', () => socket.destroy());
}

const uses = { requests: repeat, connections: connectOnly, logins: logIn, drips: drip, handshakes: shakeHands, stalls: stall };
for (let n = 0; n < connections; n += 1) keepBusy(uses[kind]);
setInterval(() => process.stdout.write(`${JSON.stringify({ answers, trouble })}\n`), 1_000);
setTimeout(() => process.exit(0), forMs);

// A name server on loopback, over UDP. It knows the names that it is given, says of all others that there is no such name, and is silent
// for names under .dead.
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';

/** The addresses of each kind; none where there is none, and no answer at all to a question that is `silent`. */
interface KnownName {
  A?: readonly string[] | 'silent';
  AAAA?: readonly string[] | 'silent';
}

export interface NameServer {
  /** As a resolver takes it: address and port. */
  readonly address: string;
  /** Every question in its order, as `A erp.example`. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const typeNumbers = { A: 1, AAAA: 28 };
const noSuchName = 3;
export const serverFailure = 2;

/** `names`: what is known of each, or the code of the error that is answered. */
export async function startNameServer(names: Record<string, KnownName | number>): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];

  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(message);
    asked.push(`${type} ${name}`);
    const known = name.endsWith('.dead') ? 'silent' : (names[name] ?? noSuchName);
    const answer = typeof known === 'object' ? (known[type] ?? []) : known;
    if (answer === 'silent') return;
    socket.send(reply(message.subarray(0, end), answer), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');

  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(message: Buffer): { name: string; type: 'A' | 'AAAA'; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1) === typeNumbers.AAAA ? 'AAAA' : 'A';
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

function reply(question: Buffer, answer: readonly string[] | number): Buffer {
  const [addresses, errorCode] = typeof answer === 'number' ? [[], answer] : [answer, 0];
  const head = Buffer.from(question);
  // An answer, with recursion asked for and available.
  head.writeUInt16BE(0x8180 | errorCode, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map(record)]);
}

/** An address under the name of the question, which stands at byte 12. */
function record(address: string): Buffer {
  const isWide = address.includes(':');
  const bytes = isWide ? wideBytes(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.from([0xc0, 12, 0, isWide ? typeNumbers.AAAA : typeNumbers.A, 0, 1, 0, 0, 0, 0, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

/** Of an IPv6 address with one `::` in it. */
function wideBytes(address: string): Buffer {
  const [before = [], after = []] = address.split('::').map((half) => half.split(':').filter((part) => part !== ''));
  const parts = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return Buffer.from(parts.map((part) => part.padStart(4, '0')).join(''), 'hex');
}

// Bytes on the sockets of a gateway: right openings of HTTP, MQTT and a WebSocket, cut, flipped, doubled and followed by anything.
// On HTTP whatever comes back is whole responses with an envelope; on the others the connection is refused, or closed in time.
import { connect } from 'node:net';
import type { Random } from '../../src/kernel/random.ts';
import { parseAnswers } from '../http/raw-socket.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Fuzz } from './http-calls.ts';

/** All that came until the other side closed, or until we did. */
function exchange(port: number, bytes: Buffer, waitMs: number): Promise<{ text: string; isClosed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const parts: Buffer[] = [];
    let isClosed = false;
    const timer = setTimeout(() => socket.destroy(), waitMs);
    socket.on('data', (part) => parts.push(part));
    socket.on('error', () => {});
    socket.on('end', () => {
      isClosed = true;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ text: Buffer.concat(parts).toString('latin1'), isClosed });
    });
    socket.on('connect', () => socket.end(bytes));
  });
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;

/** Some of: flip, cut, double a piece, insert anything, add a tail. */
function mangled(random: Random, original: Buffer): Buffer {
  let bytes = Buffer.from(original);
  const at = () => Math.floor(random.fraction() * (bytes.length + 1));
  for (let changes = Math.floor(random.fraction() * 4); changes >= 0; changes -= 1) {
    const place = at();
    const anything = Buffer.from(random.bytes(Math.floor(random.fraction() * 40)));
    const change = Math.floor(random.fraction() * 5);
    if (change === 0 && place < bytes.length) bytes[place] = Math.floor(random.fraction() * 256);
    else if (change === 1) bytes = bytes.subarray(0, place);
    else if (change === 2) bytes = Buffer.concat([bytes.subarray(0, place), bytes.subarray(Math.max(0, place - 30))]);
    else if (change === 3) bytes = Buffer.concat([bytes.subarray(0, place), anything, bytes.subarray(place)]);
    else bytes = Buffer.concat([bytes, anything]);
  }
  return bytes;
}

export function createHttpBytesFuzz({ port, basePath, apiKey }: { port: number; basePath: string; apiKey: string }): Fuzz {
  const body = JSON.stringify({ APIKey: apiKey, Receipt: { Items: [{ Name: 'x', Quantity: 1, Price: 1 }] } });
  const head = 'Host: localhost\r\nContent-Type: application/json\r\n';
  const openings = [
    `POST ${basePath}/Invoice/Create HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`,
    `POST ${basePath}/Invoice/Create HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    `GET ${basePath}/Invoice/Status?QR=AQ9iZzcU7kaBs0lNq2tDQwWex87g9SwhwyqTJddp1P5X HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET ${basePath}/health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET ${basePath}/nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET ${basePath}/health/live HTTP/1.0\r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ].map((text) => Buffer.from(text));
  return async (seed, count) => {
    const random = seededRandom(seed);
    for (let done = 0; done < count; done += 1) {
      const bytes = mangled(random, pick(random, openings));
      const { text } = await exchange(port, bytes, 5_000);
      for (const { status, headers, body: answered } of parseAnswers(text.replace(/HTTP\/1\.1 100 Continue\r\n\r\n/g, ''))) {
        const isJson = headers['content-type']?.startsWith('application/json') === true;
        const envelope = isJson ? (JSON.parse(answered) as { errorCode?: unknown }) : undefined;
        const said = `${JSON.stringify(bytes.toString('latin1'))} was answered ${status} ${answered.slice(0, 200)}`;
        if (!Number.isInteger(envelope?.errorCode)) throw new Error(`No envelope: ${said}`);
        if (envelope?.errorCode === 1) throw new Error(`An internal error: ${said}`);
      }
    }
  };
}

const text16 = (text: string) => Buffer.concat([Buffer.from([text.length >> 8, text.length & 255]), Buffer.from(text)]);
const packet = (type: number, ...parts: Buffer[]) => {
  const content = Buffer.concat(parts);
  const length = content.length < 128 ? [content.length] : [(content.length & 127) | 128, content.length >> 7];
  return Buffer.concat([Buffer.from([type, ...length]), content]);
};

/** A login by hand, then the packets of a device: some of it reaches the broker after the login, most of it before. */
export function createMqttBytesFuzz(port: number, { deviceId, secret }: { deviceId: string; secret: string }): Fuzz {
  const topic = `tillgate/devices/${deviceId}`;
  const login = packet(0x10, text16('MQTT'), Buffer.from([4, 0xc2, 0, 15]), text16(deviceId), text16(deviceId), text16(secret));
  const packets = [
    packet(0x82, Buffer.from([0, 1]), text16(`${topic}/commands`), Buffer.from([0])),
    packet(0x32, text16(`${topic}/presence`), Buffer.from([0, 2]), Buffer.from('{"v":1}')),
    packet(0x34, text16(`${topic}/answers/x`), Buffer.from([0, 3]), Buffer.from('{}')),
    packet(0xa2, Buffer.from([0, 4]), text16('#')),
    packet(0xc0),
    packet(0xe0),
  ];
  return async (seed, count) => {
    const random = seededRandom(seed);
    for (let done = 0; done < count; done += 1) {
      const rest = Array.from({ length: 1 + Math.floor(random.fraction() * 4) }, () => mangled(random, pick(random, packets)));
      const first = random.fraction() < 0.5 ? login : mangled(random, login);
      await exchange(port, Buffer.concat([first, ...rest]), 3_000);
    }
  };
}

/** A handshake that is right or nearly so, and frames that are anything. */
export function createSocketBytesFuzz({ port, basePath }: { port: number; basePath: string }, login: string): Fuzz {
  const handshake = Buffer.from(
    [
      `GET ${basePath}/queue HTTP/1.1`,
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Basic ${Buffer.from(login).toString('base64')}`,
      '\r\n',
    ].join('\r\n'),
  );
  return async (seed, count) => {
    const random = seededRandom(seed);
    for (let done = 0; done < count; done += 1) {
      const first = random.fraction() < 0.6 ? handshake : mangled(random, handshake);
      const frames = Buffer.from(random.bytes(Math.floor(random.fraction() * 200)));
      // A text or a binary frame with a mask, of a length that may be a lie.
      const opened = Buffer.concat([
        Buffer.from([pick(random, [0x81, 0x82, 0x01, 0x89, 0x88, 0xc1]), 0x80 | (frames.length & 0x7f), 1, 2, 3, 4]),
        frames,
      ]);
      await exchange(port, Buffer.concat([first, random.fraction() < 0.7 ? opened : frames]), 3_000);
    }
  };
}

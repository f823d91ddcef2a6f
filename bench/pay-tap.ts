// Loaded into a gateway process: records when a Pay reaches and leaves its sockets. For one call in flight; other traffic in
// between is attributed to the call, so only the median of many is meaningful.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Moments } from './one-pay.ts';

const { BENCH_TAP_FILE: file = '', BENCH_TAP_POSTGRES: postgresPort, BENCH_TAP_MQTT: mqttPort } = process.env;
const recordsPerWrite = 50;
let now: Partial<Moments> | undefined;
let records: string[] = [];

const wrote = {
  postgres(at: number) {
    if (!now) return;
    if (now.published === undefined) now.insertSent ??= at;
    else if (now.answered !== undefined) now.settleSent ??= at;
  },
  mqtt(at: number) {
    if (now?.inserted !== undefined) now.published ??= at;
  },
};
const read = {
  postgres(at: number) {
    if (!now) return;
    if (now.settleSent !== undefined) now.settled = at;
    else if (now.insertSent !== undefined && now.published === undefined) now.inserted = at;
  },
  mqtt(at: number) {
    if (now?.published !== undefined && now.settleSent === undefined) now.answered = at;
  },
};

subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket };
  socket.once('connect', () => {
    const port = String(socket.remotePort);
    const peer = port === postgresPort ? 'postgres' : port === mqttPort ? 'mqtt' : undefined;
    if (!peer) return;
    socket.prependListener('data', () => read[peer](performance.now()));
    onWrite(socket, wrote[peer]);
  });
});

function onWrite(socket: Socket, note: (at: number) => void): void {
  for (const name of ['_write', '_writev'] as const) {
    const write = socket[name] as (...args: unknown[]) => void;
    socket[name] = (...args: unknown[]) => {
      note(performance.now());
      write.apply(socket, args);
    };
  }
}

/** The caller's connection: a write to it is the answer. */
const known = new WeakSet<Socket>();
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  now = request.url?.endsWith('/Pay') ? { read: performance.now() } : undefined;
  if (known.has(request.socket)) return;
  known.add(request.socket);
  onWrite(request.socket, (at) => {
    if (now) now.written ??= at;
  });
});
subscribe('http.server.response.finish', () => {
  if (!now) return;
  records.push(JSON.stringify(now));
  now = undefined;
  if (records.length < recordsPerWrite) return;
  appendFileSync(file, `${records.join('\n')}\n`);
  records = [];
});

// Thousands of terminals in one separate process: each has a connection with a login, sends its presence every half minute, accepts
// each command, and approves it after a while. Prints the number of connections, `ready`, and on SIGTERM what was done, and done twice.
// With `reconnects` they reconnect when they lose the broker, and SIGUSR2 disconnects all of them: `back` is printed when the last is back.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { mqttTopics } from '../../src/link/protocol.ts';
import { connectPacket, createPacketReader, packetTypes, publishPacket, subscribePacket } from './mqtt-bytes.ts';

export interface FarmOptions {
  host: string;
  port: number;
  devices: { id: string; secret: string }[];
  /** How long a command takes. */
  holdMs: number;
  reconnects?: boolean;
}

const { host, port, devices, holdMs, reconnects = false } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FarmOptions;
const presenceEveryMs = 30_000;
/** Less than a broker's limit of unauthenticated connections per address. */
const atOnce = 50;
/** The report of each done command: the journal of all devices. */
const journal = new Map<string, object>();
const underWay = new Set<string>();
/** How often each document was charged. */
const charges = new Map<string, number>();
let connected = 0;
let lost = 0;
let lastNumber = 0;
let mostHeld = 0;
/** The first and the longest pause before a reconnect. */
const pauses = { firstMs: 1_000, maxMs: 10_000 };
const sockets = new Set<Socket>();
let cutAtMs: number | undefined;

function execute(id: string, name: string, args: Record<string, unknown>): object {
  lastNumber += 1;
  const operationId = String(lastNumber).padStart(9, '0');
  const report = name === 'Pay' ? { rrn: `4${operationId}00`, authCode: '283749', operationId, amount: args['amount'] } : {};
  const { documentNr } = args;
  const document = typeof documentNr === 'string' ? documentNr : id;
  if (name === 'Pay') charges.set(document, (charges.get(document) ?? 0) + 1);
  journal.set(id, report);
  return report;
}

function recalled(target: string): object {
  const report = journal.get(target);
  if (report) return { state: 'final', outcome: 'done', report };
  return { state: underWay.has(target) ? 'running' : 'never' };
}

function startDevice({ id: device, secret }: FarmOptions['devices'][number]): Promise<void> {
  const journalId = device;
  let packetNumber = 0;
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    sockets.add(socket);
    let presence: NodeJS.Timeout | undefined;
    let isConnected = false;
    const send = (topic: string, message: object) => {
      packetNumber += 1;
      socket.write(publishPacket(topic, message, packetNumber));
    };
    const present = () =>
      send(mqttTopics.presence(device), {
        v: 1,
        device,
        online: true,
        clock: new Date().toISOString(),
        bootId: journalId,
        journalId,
        kind: 'terminal',
        battery: 80,
        paper: 'OK',
      });
    function commanded(body: Buffer): void {
      const payload = body.subarray(2 + body.readUInt16BE(0)).toString('utf8');
      const { id, name, replyTo, args } = JSON.parse(payload) as {
        id: string;
        name: string;
        replyTo: string;
        args: Record<string, unknown>;
      };
      const answer = (outcome: string, report?: object) => {
        const message = { v: 1, id, device, journalId, clock: new Date().toISOString(), outcome };
        send(mqttTopics.answers(device, replyTo), report ? { ...message, report } : message);
      };
      if (name === 'Status') return answer('done', {});
      if (name === 'Recall') return answer('done', recalled(String(args['target'])));
      const known = journal.get(id);
      if (known) return answer('done', known);
      answer('accepted');
      if (underWay.has(id)) return;
      underWay.add(id);
      mostHeld = Math.max(mostHeld, underWay.size);
      setTimeout(() => {
        underWay.delete(id);
        answer('done', execute(id, name, args));
      }, holdMs);
    }
    socket.on(
      'data',
      createPacketReader((type, body) => {
        if (type === packetTypes.connack) {
          if (body[1] !== 0) return reject(new Error(`The broker refused ${device} with ${body[1]}.`));
          socket.write(subscribePacket(mqttTopics.commands(device)));
        } else if (type === packetTypes.suback) {
          connected += 1;
          isConnected = true;
          present();
          // Spread over the half minute, like real ones.
          presence = setTimeout(() => {
            presence = setInterval(present, presenceEveryMs);
          }, Math.random() * presenceEveryMs);
          resolve();
        } else if (type === packetTypes.publish) commanded(body);
      }),
    );
    socket.on('connect', () => socket.write(connectPacket(device, secret, 120)));
    socket.on('error', reject);
    socket.on('close', () => {
      sockets.delete(socket);
      clearInterval(presence);
      lost += 1;
      if (isConnected) connected -= 1;
      reject(new Error(`${device} was cut off.`));
      if (isConnected && reconnects) void connectAgain({ id: device, secret });
    });
  });
}

async function connectAgain(device: FarmOptions['devices'][number]): Promise<void> {
  for (let maxMs = pauses.firstMs; ; maxMs = Math.min(2 * maxMs, pauses.maxMs)) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * maxMs));
    const isBack = await startDevice(device).then(
      () => true,
      () => false,
    );
    if (isBack) break;
  }
  if (connected < devices.length || cutAtMs === undefined) return;
  process.stdout.write(`back after ${Math.round(performance.now() - cutAtMs)} ms\n`);
  cutAtMs = undefined;
}

process.on('SIGUSR2', () => {
  cutAtMs = performance.now();
  for (const socket of sockets) socket.destroy();
});

process.on('SIGTERM', () => {
  const twice = [...charges.values()].filter((times) => times > 1).length;
  process.stdout.write(`${JSON.stringify({ connected, lost, mostHeld, done: charges.size, twice })}\n`, () => process.exit(0));
});

let next = 0;
await Promise.all(
  Array.from({ length: Math.min(atOnce, devices.length) }, async () => {
    for (let device = devices[next]; device; device = devices[next]) {
      next += 1;
      await startDevice(device);
      if (connected % 1_000 === 0) process.stdout.write(`connected ${connected}\n`);
    }
  }),
);
process.stdout.write('ready\n');

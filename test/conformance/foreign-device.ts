// A device by somebody else: written from docs/device-protocol.md alone, on the raw mqtt and ws packages, without a line of src/.
// It keeps no promises by itself: the test says what it answers, when and on which wire, so that the gateway is what is judged.
import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { WebSocket } from 'ws';
import { eventually } from '../support/till.ts';

export type Wire = 'mqtt' | 'queue';
export type Fields = Record<string, any>;

/** One command as it came off the wire. */
export interface Heard {
  wire: Wire;
  /** Of this process, when it came. */
  atMs: number;
  message: Fields;
  /** The whole frame or payload, before anybody parsed it. */
  text: string;
  topic?: string;
  qos?: number;
  isRetained?: boolean;
  /** Properties and fields of an AMQP message. */
  amqp?: Fields;
}

export interface Pairing {
  deviceId: string;
  secret: string;
  mqttUrl: string;
  queueUrl: string;
}

export interface Habits {
  /** How far the clock is ahead. */
  skewMs?: number;
  /** null: it keeps no journal and says so by sending no journalId. */
  journalId?: string | null;
  /** Answers nothing by itself, not even Status. */
  isMute?: boolean;
}

/** What a channel of the device can do; the queue is a WebSocket or, in the RabbitMQ tests, AMQP. */
export interface Line {
  answer(replyTo: string, text: string | Buffer): Promise<void> | void;
  presence(text: string | Buffer): Promise<void> | void;
  /** Gone without a goodbye. */
  die(): void;
  close(): Promise<void>;
  /** Resolves when the connection has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

export type ForeignDevice = ReturnType<typeof createForeignDevice>;

export function createForeignDevice(pairing: Pairing, habits: Habits = {}) {
  const { deviceId } = pairing;
  const { skewMs = 0, isMute = false } = habits;
  const heard: Heard[] = [];
  const unread = new Set<Heard>();
  const lines = new Map<Wire, Line>();
  let journalId = habits.journalId === undefined ? randomUUID() : habits.journalId;
  let bootId: string = randomUUID();

  const clock = () => new Date(Date.now() + skewMs).toISOString();
  const journalField = () => (journalId === null ? {} : { journalId });

  function presenceText(more: Fields = {}): string {
    const body = { battery: 80, paper: 'OK', signal: 70, bank: 'maib', firmware: 'acme-pos 3.2' };
    return JSON.stringify({
      v: 1,
      device: deviceId,
      online: true,
      clock: clock(),
      bootId,
      ...journalField(),
      kind: 'terminal',
      ...body,
      ...more,
    });
  }

  function hear(one: Heard): void {
    heard.push(one);
    const { name } = one.message;
    if (name === 'Status' && !isMute)
      void say(one, 'done', { report: { online: true, battery: 80, paper: 'OK', signal: 70, bank: 'maib' } });
    else unread.add(one);
  }

  /** Answers on the wire that the command came by, or on another one. */
  async function say(to: Heard, outcome: string, more: Fields = {}, wire: Wire = to.wire): Promise<void> {
    const answer = { v: 1, id: to.message.id, device: deviceId, clock: clock(), ...journalField(), outcome, ...more };
    await line(wire).answer(to.message.replyTo, JSON.stringify(answer));
  }

  function line(wire: Wire): Line {
    const found = lines.get(wire);
    if (!found) throw new Error(`The device is not on ${wire}.`);
    return found;
  }

  /** `presence` null: it connects and says nothing. */
  async function join(wire: Wire, joined: Line, presence: string | null = presenceText()): Promise<Line> {
    lines.set(wire, joined);
    if (presence !== null) await joined.presence(presence);
    return joined;
  }

  return {
    ...pairing,
    heard,
    line,
    say,
    clock,
    hear,
    join,
    presenceText,
    async onMqtt(presence?: string | null) {
      return join('mqtt', await connectMqtt(pairing, hear), presence);
    },
    async onQueue(presence?: string | null) {
      return join('queue', await connectSocket(pairing, hear), presence);
    },
    /** The next command that nobody asked for yet, by name and, if given, by wire. */
    async next(name: string, wire?: Wire, withinMs?: number): Promise<Heard> {
      const isIt = (one: Heard) => one.message.name === name && (wire === undefined || one.wire === wire);
      const found = await eventually(
        `${name} arrives${wire === undefined ? '' : ` on ${wire}`}`,
        () => [...unread].find(isIt),
        (one) => one !== undefined,
        withinMs,
      );
      unread.delete(found as Heard);
      return found as Heard;
    },
    count: (name: string) => heard.filter(({ message }) => message.name === name).length,
    /** A new life: everything forgotten or, with the same journal, nothing. */
    reboot(newJournal: string | null = journalId) {
      bootId = randomUUID();
      journalId = newJournal;
    },
    async leave() {
      await Promise.all([...lines.values()].map((one) => one.close()));
    },
  };
}

async function connectMqtt({ deviceId, secret, mqttUrl }: Pairing, hear: (heard: Heard) => void): Promise<Line> {
  const client = await connectAsync(mqttUrl, {
    protocolVersion: 4,
    clientId: deviceId,
    username: deviceId,
    password: secret,
    clean: true,
    keepalive: 15,
    reconnectPeriod: 0,
    will: { topic: `tillgate/devices/${deviceId}/presence`, payload: Buffer.from('{"online":false}'), qos: 1, retain: false },
  });
  client.on('message', (topic, payload, packet) => {
    const text = payload.toString('utf8');
    hear({ wire: 'mqtt', atMs: Date.now(), message: JSON.parse(text), text, topic, qos: packet.qos, isRetained: packet.retain });
  });
  client.on('error', () => {});
  await client.subscribeAsync(`tillgate/devices/${deviceId}/commands`, { qos: 0 });
  return mqttLine(client, deviceId);
}

function mqttLine(client: MqttClient, deviceId: string): Line {
  const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
  const publish = async (topic: string, text: string | Buffer) => {
    // A broker that ends the connection never acknowledges.
    await Promise.race([client.publishAsync(topic, text, { qos: 1 }), ended]);
  };
  return {
    answer: (replyTo, text) => publish(`tillgate/devices/${deviceId}/answers/${replyTo}`, text),
    presence: (text) => publish(`tillgate/devices/${deviceId}/presence`, text),
    die: () => void client.stream.destroy(),
    close: () => client.endAsync(true),
    ended,
  };
}

function connectSocket({ deviceId, secret, queueUrl }: Pairing, hear: (heard: Heard) => void): Promise<Line> {
  const login = Buffer.from(`${deviceId}:${secret}`).toString('base64');
  const socket = new WebSocket(queueUrl, { headers: { authorization: `Basic ${login}` } });
  socket.on('message', (data) => {
    const text = (data as Buffer).toString('utf8');
    const frame = JSON.parse(text) as Fields;
    hear({ wire: 'queue', atMs: Date.now(), message: frame['command'], text });
  });
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const send = (name: string, text: string | Buffer) => socket.send(`{"${name}":${text.toString()}}`);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('open', () => {
      socket.off('error', reject);
      socket.on('error', () => {});
      resolve({
        answer: (_replyTo, text) => send('answer', text),
        presence: (text) => send('presence', text),
        die: () => socket.terminate(),
        async close() {
          socket.close();
          await ended;
        },
        ended,
      });
    });
  });
}

// One device on a table, in virtual time and in memory: a connector that is a pair of arrays, and helpers to speak as the gateway does.
import type { JsonObject } from '../../src/link/protocol.ts';
import type { AnswerMessage, PresenceMessage } from '../../src/link/wire-schemas.ts';
import type { Connector, ConnectorListener, DeviceChannel } from '../../src/virtual/client/connector.ts';
import { createMemoryStore } from '../../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDeviceDeps } from '../../src/virtual/devices/virtual-device.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

export interface Sent {
  channel: DeviceChannel;
  replyTo: string;
  answer: AnswerMessage;
}

export const deviceId = '11111111-1111-4111-8111-111111111111';

export function memoryConnector(channel: DeviceChannel, sent: Sent[], presences: PresenceMessage[]) {
  let listener: ConnectorListener | undefined;
  let isUp = true;
  const connector: Connector = {
    channel,
    get isConnected() {
      return listener !== undefined && isUp;
    },
    start(next) {
      listener = next;
      if (isUp) next.connected();
    },
    sendAnswer(answer, replyTo) {
      if (!listener || !isUp) return false;
      sent.push({ channel, replyTo, answer: structuredClone(answer) });
      return true;
    },
    sendPresence(presence) {
      presences.push(presence);
      return true;
    },
    stop: async () => {
      listener = undefined;
    },
    drop: () => {
      listener = undefined;
    },
  };
  return {
    connector,
    deliver(bytes: Uint8Array) {
      if (isUp) listener?.command(bytes);
    },
    cut() {
      isUp = false;
      listener?.disconnected();
    },
    mend() {
      isUp = true;
      listener?.connected();
    },
  };
}

export async function benchOfOne(overrides: Partial<VirtualDeviceDeps> = {}, seed = 1) {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const random = seededRandom(seed);
  const sent: Sent[] = [];
  const presences: PresenceMessage[] = [];
  const mqtt = memoryConnector('mqtt', sent, presences);
  const queue = memoryConnector('queue', sent, presences);
  const stores = { journal: createMemoryStore(), bank: createMemoryStore(), fiscal: createMemoryStore() };
  const device = await createVirtualDevice({
    kind: 'terminal',
    deviceId,
    name: 'Till 1',
    bank: 'MAIB',
    connectors: [mqtt.connector, queue.connector],
    stores,
    clock,
    random,
    logger: quietLogger,
    ...overrides,
  });

  function command(name: string, args: JsonObject = {}, extras: JsonObject = {}): JsonObject & { id: string } {
    const now = clock.now();
    return {
      v: 1,
      id: random.uuid(),
      name,
      replyTo: 'gateway-1',
      issuedAt: new Date(now).toISOString(),
      startBy: new Date(now + 10_000).toISOString(),
      answerBy: new Date(now + 300_000).toISOString(),
      args,
      ...extras,
    };
  }

  function deliver(message: unknown, channel: DeviceChannel = 'mqtt'): void {
    const bytes = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));
    (channel === 'mqtt' ? mqtt : queue).deliver(bytes);
  }

  function answersTo(id: string): AnswerMessage[] {
    return sent.filter((item) => item.answer.id === id).map((item) => item.answer);
  }

  function outcomesOf(id: string): string[] {
    return answersTo(id).map((answer) => answer.outcome);
  }

  /** Sends a command and lets `ms` pass; its id. */
  async function ask(name: string, args: JsonObject = {}, ms = 1_000, extras: JsonObject = {}): Promise<string> {
    const message = command(name, args, extras);
    deliver(message);
    await clock.advance(ms);
    return message.id;
  }

  async function lastAnswer(name: string, args: JsonObject = {}, ms = 1_000): Promise<AnswerMessage> {
    const answer = answersTo(await ask(name, args, ms)).at(-1);
    if (!answer) throw new Error(`${name} was not answered`);
    return answer;
  }

  return { clock, random, device, stores, sent, presences, mqtt, queue, command, deliver, answersTo, outcomesOf, ask, lastAnswer };
}

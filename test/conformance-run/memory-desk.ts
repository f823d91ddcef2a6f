// A conformance run in virtual time: a virtual device on a wire in memory, whose bytes are read by the gateway's own readers. What a test
// plants sits on that wire and changes what passes, so that to the run the device itself seems to be broken.
import { Bench } from '../../src/conformance/bench.ts';
import { realPace } from '../../src/conformance/exam.ts';
import { type RunReport, runConformance } from '../../src/conformance/run.ts';
import { type Clock, sleep } from '../../src/kernel/clock.ts';
import type { Random } from '../../src/kernel/random.ts';
import { type Channel, type ChannelListener, type ChannelName, DeviceNotOnChannel } from '../../src/link/channel.ts';
import { offerAnswer, offerPresence } from '../../src/link/channels/inbox.ts';
import type { BrokerLogin } from '../../src/link/channels/mqtt/embedded-broker.ts';
import { deliverMqttMessage } from '../../src/link/channels/mqtt/mqtt-inbox.ts';
import { type DeviceKind, mqttTopics } from '../../src/link/protocol.ts';
import { type Connector, createReconnecting, type WireListener } from '../../src/virtual/client/connector.ts';
import { createMemoryStore, type RecordStore } from '../../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDeviceDeps } from '../../src/virtual/devices/virtual-device.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

export type Fields = Record<string, any>;

/** What is wrong with the device. Everything may be left out. */
export interface Fault {
  /** A command on its way in, to be changed or, with undefined, swallowed. */
  command?(command: Fields, channel: ChannelName): Fields | undefined;
  /** An answer on its way out. */
  answer?(answer: Fields, channel: ChannelName): Fields | undefined;
  presence?(presence: Fields): Fields | undefined;
  /** Where an answer goes instead. */
  replyTo?(replyTo: string): string;
  topic?(topic: string): string;
  login?: Partial<BrokerLogin>;
  /** Every message over MQTT with the retain flag. */
  retains?: boolean;
  /** An ending goes to the first gateway alone, whoever recalled the command. */
  forgetsRecallers?: boolean;
  /** It believes that every answer found a channel. */
  forgetsUnsent?: boolean;
  /** Once cut off it does not come back. */
  givesUp?: boolean;
  journal?(store: RecordStore): RecordStore;
  device?: Partial<VirtualDeviceDeps>;
  /** It uses only these. */
  channels?: ChannelName[];
}

/** What a fault may use to act behind the run's back. */
export interface Hands {
  random: Random;
  clock: Clock;
  /** A command that the run knows nothing of. */
  inject(command: Fields, channel?: ChannelName): void;
}

export const deviceId = '11111111-1111-4111-8111-111111111111';
const gatewayId = 'conformance';

function createWire(name: ChannelName, fault: Fault, clock: Clock, random: Random, onRetained: (topic: string) => void) {
  let listener: ChannelListener | undefined;
  let connection: WireListener | undefined;
  let isCut = false;

  const loggedIn: (() => void)[] = [];
  const onWay = (deliver: () => void) => void clock.after(1, deliver);

  function deliverToDevice(command: Fields): void {
    const bytes = Buffer.from(JSON.stringify(command));
    onWay(() => connection?.command(bytes));
  }

  function lose(): void {
    const lost = connection;
    connection = undefined;
    if (!lost) return;
    onWay(() => listener?.gone(name, deviceId));
    lost.lost();
  }

  function fromDevice(kind: 'answers' | 'presence', message: Fields | undefined, replyTo: string): void {
    if (message === undefined || listener === undefined) return;
    const told = listener;
    if (fault.retains && name === 'mqtt') onRetained(mqttTopics.presence(deviceId));
    if (fault.forgetsRecallers && replyTo.endsWith('-c') && !('state' in (message['report'] ?? {}))) return;
    const bytes = Buffer.from(JSON.stringify(message));
    if (name === 'mqtt') {
      const address =
        kind === 'answers' ? mqttTopics.answers(deviceId, fault.replyTo?.(replyTo) ?? replyTo) : mqttTopics.presence(deviceId);
      const topic = fault.topic?.(address) ?? address;
      onWay(() => deliverMqttMessage(told, gatewayId, { topic, payload: bytes, isRetained: false }));
    } else onWay(() => (kind === 'answers' ? offerAnswer : offerPresence)(told, { channel: name, deviceId, bytes }));
  }

  const channel: Channel = {
    name,
    tellsAbsence: true,
    isConnected: true,
    async start(given) {
      listener = given;
    },
    async stop() {
      listener = undefined;
    },
    async send(_deviceId, command) {
      if (!connection) throw new DeviceNotOnChannel(name);
      const sent =
        fault.command && typeof command === 'object' && !Array.isArray(command) ? fault.command(structuredClone(command), name) : command;
      if (sent !== undefined) deliverToDevice(sent);
    },
  };

  const own = createReconnecting({
    clock,
    random,
    logger: quietLogger,
    deviceId,
    channel: name,
    async connect(given) {
      if (isCut) throw new Error('No network.');
      lose();
      connection = given;
      for (const tell of loggedIn) tell();
      return {
        sendAnswer: (answer, replyTo) =>
          fromDevice('answers', fault.answer ? fault.answer(structuredClone(answer), name) : answer, replyTo),
        sendPresence: (presence) => fromDevice('presence', fault.presence ? fault.presence(structuredClone(presence)) : presence, ''),
        close: async () => lose(),
        destroy: lose,
      };
    },
  });
  const connector: Connector = fault.forgetsUnsent
    ? {
        ...own,
        get isConnected() {
          return true;
        },
        sendAnswer: (answer, replyTo) => own.sendAnswer(answer, replyTo) || true,
      }
    : own;

  return {
    channel,
    connector,
    loggedIn,
    deliverToDevice,
    setCut(cut: boolean) {
      if (!cut && fault.givesUp) return;
      isCut = cut;
      if (cut) lose();
    },
  };
}

/** Runs everything against a virtual device with this fault. */
export async function runAgainst(kind: DeviceKind, plant: (hands: Hands) => Fault = () => ({})): Promise<RunReport> {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const random = seededRandom(7);
  let inject: Hands['inject'] = () => {};
  const fault = plant({ random, clock, inject: (command, channel) => inject(command, channel) });
  const wires = (fault.channels ?? (['mqtt', 'queue'] as const)).map((name) =>
    createWire(name, fault, clock, random, (topic) => bench.publishedRetained(topic)),
  );
  inject = (command, channel) => wires.find((wire) => wire.channel.name === (channel ?? 'mqtt'))?.deliverToDevice(command);
  const bench = new Bench({ clock, deviceId, channels: wires.map(({ channel }) => channel) });
  await bench.start();
  const login: BrokerLogin = {
    will: { topic: mqttTopics.presence(deviceId), payload: Buffer.from('{"online":false}'), isRetained: false },
    keepaliveS: 15,
    isClean: true,
    ...fault.login,
  };
  wires.find(({ channel }) => channel.name === 'mqtt')?.loggedIn.push(() => bench.loggedIn(login));
  const journal = createMemoryStore();
  const device = await createVirtualDevice({
    kind,
    deviceId,
    name: 'On the desk',
    bank: 'Bank',
    connectors: wires.map(({ connector }) => connector),
    stores: { journal: fault.journal?.(journal) ?? journal, bank: createMemoryStore(), fiscal: createMemoryStore() },
    clock,
    random,
    logger: quietLogger,
    timing: { customerMs: 4_000 },
    ...fault.device,
  });
  let report: RunReport | undefined;
  const run = runConformance({
    clock,
    random,
    bench,
    kind,
    gatewayId,
    amountBani: 100,
    pace: { ...realPace, rebootMs: 20_000, customerMs: 20_000 },
    connectWithinMs: 60_000,
    person: {
      tell() {},
      reboot: async () => void device.crash(),
      async lockOut(durationMs) {
        for (const wire of wires) wire.setCut(true);
        await sleep(clock, durationMs);
        for (const wire of wires) wire.setCut(false);
      },
    },
    onBegin() {},
    onFinding() {},
  }).then((done) => {
    report = done;
  });
  await Promise.race([run, clock.runUntil(() => report !== undefined)]);
  await Promise.all([device.stop(), clock.advance(10_000)]);
  await bench.stop();
  if (report === undefined) throw new Error('The run did not end.');
  return report;
}

export const brokenOf = ({ findings }: RunReport) => findings.filter(({ verdict }) => verdict === 'broken');

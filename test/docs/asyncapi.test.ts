// asyncapi/v1.json tells the truth: its examples hold to its schemas, and so does everything that a real gateway and real virtual
// devices say to each other over MQTT and the built-in queue while all commands of the protocol are used.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deviceDocument } from '../../scripts/asyncapi.ts';
import { ensureDemoDevices } from '../../src/cli/demo-devices.ts';
import { ensureDemo } from '../../src/cli/demo-merchant.ts';
import { readConfig } from '../../src/config.ts';
import { type Gateway, startGateway } from '../../src/gateway.ts';
import { operationNamed } from '../../src/kernel/operations.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { dropReasons, readAnswer, readDeviceFrame, readPresence, readRecallReport } from '../../src/link/messages.ts';
import { commandNames } from '../../src/link/protocol.ts';
import { readCommand } from '../../src/virtual/client/command-reader.ts';
import type { Connector } from '../../src/virtual/client/connector.ts';
import { createMemoryStore } from '../../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDevice } from '../../src/virtual/devices/virtual-device.ts';
import { createMqttConnector } from '../../src/virtual/wire/mqtt.ts';
import { createWebSocketConnector } from '../../src/virtual/wire/websocket.ts';
import { documentedOperations } from '../support/documented-operations.ts';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createTill, eventually, reportOf, type Till } from '../support/till.ts';
import { createMessageCheck, readAsyncApi } from './message-check.ts';

const document = readAsyncApi();
const anyDevice = 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90';
const bytesOf = (message: object) => Buffer.from(JSON.stringify(message));

describe('the document', () => {
  const examples = Object.entries(document.components.messages).flatMap(([name, { payload, examples: own }]) =>
    own.map((example) => ({ name, example: example.name, schema: payload.$ref.split('/').at(-1) ?? '', payload: example.payload })),
  );
  const check = createMessageCheck(document);

  it('has an example of every message, and of every command and its answers', () => {
    for (const [name, message] of Object.entries(document.components.messages)) expect(message.examples.length, name).toBeGreaterThan(0);
    for (const name of commandNames)
      expect(Object.keys(document.components.messages)).toEqual(expect.arrayContaining([`${name}Command`, `${name}Answer`]));
  });

  it.each(examples)('holds its example to the schema: $name $example', ({ schema, payload }) => {
    expect(check.problemsBy(schema, payload)).toEqual([]);
  });

  it.each(examples)('shows what both sides really read: $name $example', ({ name, payload }) => {
    if (name.endsWith('Command')) expect(readCommand(bytesOf(payload)).command).toMatchObject({ id: payload['id'], name: payload['name'] });
    else if (name.endsWith('Answer')) expect(readAnswer(bytesOf(payload), anyDevice).message).toEqual(payload);
    else if (name === 'Presence') expect(readPresence(bytesOf(payload), anyDevice).message).toEqual(payload);
    else if (name === 'CommandFrame') expect(readCommand(bytesOf(payload['command'] as object)).command).toBeDefined();
    else expect(readDeviceFrame(bytesOf(payload), anyDevice).message).toEqual(payload);
  });

  it('refuses what the protocol forbids', () => {
    const [pay = {}] = document.components.messages['PayCommand']?.examples.map(({ payload }) => payload) ?? [];
    const [, done = {}] = document.components.messages['PayAnswer']?.examples.map(({ payload }) => payload) ?? [];
    const without = (message: object, field: string) => Object.fromEntries(Object.entries(message).filter(([name]) => name !== field));
    for (const field of ['v', 'id', 'name', 'replyTo', 'startBy', 'answerBy', 'args'])
      expect(check.problemsBy('PayCommand', without(pay, field)), field).not.toEqual([]);
    for (const field of ['v', 'id', 'device', 'clock', 'outcome', 'report'])
      expect(check.problemsBy('PayAnswer', without(done, field)), field).not.toEqual([]);
    expect(check.problemsBy('PayCommand', { ...pay, args: { amount: 0, currency: 'MDL' } })).not.toEqual([]);
    expect(check.problemsBy('PayCommand', { ...pay, args: { amount: 1, currency: 'EUR' } })).not.toEqual([]);
    expect(check.problemsBy('PayAnswer', { ...done, report: { ...(done['report'] as object), rrn: '' } })).not.toEqual([]);
    expect(check.problemsBy('PayAnswer', { ...without(done, 'report'), outcome: 'refused' })).toEqual([]);
    expect(check.problemsBy('RecallCommand', { ...pay, name: 'Recall', args: {} })).not.toEqual([]);
    expect(check.problemsBy('Presence', { v: 1, device: anyDevice })).not.toEqual([]);
    expect(check.problemsBy('Presence', { v: 2, device: anyDevice, online: false })).not.toEqual([]);
  });

  it('points only at what is there', () => {
    const pointers = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer = '']) => pointer);
    const found = (pointer: string) =>
      pointer.split('/').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
    expect(pointers.filter((pointer) => found(pointer) === undefined)).toEqual([]);
    expect(document).toEqual(JSON.parse(JSON.stringify(deviceDocument())));
  });
});

describe('a real conversation', () => {
  const check = createMessageCheck(document);
  const heard: { from: 'gateway' | 'device'; message: Record<string, unknown> }[] = [];
  const devices: VirtualDevice[] = [];
  let gateway: Gateway;
  let till: Till;

  /** The same connector with both directions written down. */
  function recording(connector: Connector): Connector {
    const note = (from: 'gateway' | 'device', message: object) =>
      heard.push({ from, message: structuredClone(message) as Record<string, unknown> });
    return {
      channel: connector.channel,
      get isConnected() {
        return connector.isConnected;
      },
      start: (listener) =>
        connector.start({
          connected: () => listener.connected(),
          disconnected: () => listener.disconnected(),
          command(bytes) {
            note('gateway', JSON.parse(Buffer.from(bytes).toString('utf8')) as object);
            listener.command(bytes);
          },
        }),
      sendAnswer(answer, replyTo) {
        note('device', answer);
        return connector.sendAnswer(answer, replyTo);
      },
      sendPresence(presence) {
        note('device', presence);
        return connector.sendPresence(presence);
      },
      stop: () => connector.stop(),
      drop: () => connector.drop(),
    };
  }

  beforeAll(async () => {
    const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
    const config = readConfig('sandbox', {
      TILLGATE_DATA_DIR: temporaryDirectory(),
      TILLGATE_PORT: '0',
      TILLGATE_MQTT_PORT: '0',
      TILLGATE_STOP_GRACE_S: '0',
      TILLGATE_ADMIN_TOKEN: 'only for this test',
    });
    gateway = await startGateway(config, world);
    const { merchantId, apiKey } = await ensureDemo(gateway, undefined);
    const { baseUrl, mqttUrl, queueUrl } = gateway.addresses();
    till = createTill({ baseUrl, apiKey, adminToken: 'only for this test' });
    const wanted = [
      { kind: 'terminal', name: 'Terminal', bank: 'maib' },
      { kind: 'register', name: 'Register' },
    ] as const;
    for (const { id: deviceId, kind, name, secret } of await ensureDemoDevices(gateway.devices, merchantId, [...wanted], undefined)) {
      const wire = { ...world, deviceId, secret };
      devices.push(
        await createVirtualDevice({
          ...world,
          kind,
          deviceId,
          name,
          bank: 'maib',
          connectors: [createMqttConnector({ ...wire, url: mqttUrl }), createWebSocketConnector({ ...wire, url: queueUrl })].map(recording),
          stores: { journal: createMemoryStore(), bank: createMemoryStore(), fiscal: createMemoryStore() },
          timing: { customerMs: 1, bankMs: 1, printMs: 1 },
          restartAfterMs: 50,
        }),
      );
    }
    await eventually(
      'both devices are live',
      () => gateway.link.stats().liveDevices,
      (count) => count === devices.length,
    );
    await useEverything();
  }, 4 * patienceMs);

  afterAll(async () => {
    await gateway.stop();
    await Promise.all(devices.map((device) => device.stop()));
  });

  async function useEverything(): Promise<void> {
    const [terminal = '', register = ''] = devices.map(({ deviceId }) => deviceId);
    const must = (answer: Awaited<ReturnType<Till['post']>>) => {
      if (answer.errorCode !== 0) throw new Error(JSON.stringify(answer));
      return answer;
    };
    const post = async (path: string, body: object) => must(await till.post(`/Device/${path}`, body));
    // The power goes after the bank said yes: the gateway has to Recall.
    const documentNr = systemRandom.uuid();
    const paid = reportOf(await post('payment/Pay', { DeviceID: terminal, amount: 10.69, documentNr }));
    const { operationId, rrn } = paid;
    await post('payment/CloseDoc', { DeviceID: terminal, documentNr, operationId });
    await post('payment/Refund', { DeviceID: terminal, documentNr, operationId, rrn, amount: 1 });
    const second = systemRandom.uuid();
    const voided = reportOf(await post('payment/Pay', { DeviceID: terminal, amount: 20, documentNr: second }));
    const { operationId: voidedId, token } = voided;
    await post('payment/CancelTransaction', { DeviceID: terminal, documentNr: second, operationId: voidedId, token, amount: 20 });
    // A slow customer is stopped by Abort.
    const third = systemRandom.uuid();
    const slow = till.post('/Device/payment/Pay', { DeviceID: terminal, amount: 10.64, documentNr: third });
    const isRunning = () => devices[0]?.journal().unfinished().length === 1;
    await eventually('the slow payment runs', isRunning, (running) => running);
    await post('payment/CancelTransaction', { DeviceID: terminal, documentNr: third, operationId: 'none yet', token: '-', amount: 10.64 });
    expect((await slow).errorCode).toBe(50);
    expect((await till.post('/Device/payment/Pay', { DeviceID: terminal, amount: 10.61 })).errorCode).toBe(50);
    expect((await till.post('/Device/payment/Pay', { DeviceID: terminal, amount: 10.72 })).errorCode).toBe(31);
    must(await till.get('/Device/payment/LastTransaction', { DeviceID: terminal }));
    must(await till.get('/Device/Device/Status', { DeviceID: register }));
    const Items = [{ Name: 'Coffee', Quantity: 2, Price: 35 }];
    await post('Invoice/Pay', {
      DeviceID: register,
      Receipt: { Number: 'A-1', Uid: 'u-1', Items, Payments: [{ PaymentCode: 1 }], Shop: 'More' },
    });
    // The other operations, with the examples of the API document.
    for (const { operation, path, example } of documentedOperations()) {
      if (commandsHeard().has(operation)) continue;
      const { CallbackURI: _, ...fields } = example;
      must(await till.post(path, { ...fields, DeviceID: operationNamed(operation).device === 'terminal' ? terminal : register }));
    }
  }

  function commandsHeard(): Set<unknown> {
    return new Set(heard.flatMap(({ from, message }) => (from === 'gateway' ? [message['name']] : [])));
  }

  it('uses every command, and every kind of answer that a good day and a crash have', () => {
    expect(commandsHeard()).toEqual(new Set(commandNames));
    const outcomes = new Set(heard.map(({ message }) => message['outcome']).filter((outcome) => outcome !== undefined));
    expect(outcomes).toEqual(new Set(['accepted', 'busy', 'done', 'refused']));
  });

  it('is what the schemas say, in both directions', () => {
    for (const { from, message } of heard) if (from === 'gateway') check.remember(message);
    for (const { message } of heard) expect(check.problems(message), JSON.stringify(message)).toEqual([]);
  });

  it('is read whole by the other side', () => {
    for (const { from, message } of heard) {
      if (from === 'gateway') expect(readCommand(bytesOf(message)).command, JSON.stringify(message)).toBeDefined();
      else if ('outcome' in message) expect(readAnswer(bytesOf(message), String(message['device'])).message).toEqual(message);
      else expect(readPresence(bytesOf(message), String(message['device'])).message).toEqual(message);
    }
    const recalls = heard.filter(({ message }) => message['name'] === 'Recall').map(({ message }) => message['id']);
    const reports = heard
      .filter(({ message }) => recalls.includes(message['id']) && 'report' in message)
      .map(({ message }) => message['report']);
    expect(reports.length).toBeGreaterThan(0);
    for (const report of reports) expect(readRecallReport(report)).toEqual(report);
    // A second Recall's answer may come when the first has settled everything; anything else would be a message that was not understood.
    expect(dropReasons.filter((reason) => reason in gateway.link.stats().dropped)).toEqual([]);
  });
});

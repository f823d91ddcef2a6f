// The contract of the port `channel`: what every implementation promises, run against each by the test files beside this one.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Channel } from '../../src/link/channel.ts';
import type { AnswerMessage, CommandMessage } from '../../src/link/wire-schemas.ts';
import { createRecorder, type Recorder, type Told } from './recorder.ts';
import type { Login, TestDevice } from './test-device.ts';

export const gatewayId = 'gateway-1';
export const deviceA: Login = { deviceId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', secret: 'secret-of-a' };
export const deviceB: Login = { deviceId: 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb', secret: 'secret-of-b' };
export const checkDevice = async (deviceId: string, secret: string) =>
  [deviceA, deviceB].some((login) => login.deviceId === deviceId && login.secret === secret) ? { merchantId: 'm' } : undefined;

export interface ChannelRig {
  createChannel(): Channel;
  connectDevice(login: Login): Promise<TestDevice>;
  /** Everything that device A can try in order to speak for B or to hear B's commands; resolves when the broker has dealt with it. */
  intrude(): Promise<{ overheard: () => CommandMessage[]; end(): Promise<void> }>;
  /** What a second connection of one device does to the first. RabbitMQ's MQTT plugin replaces it without sending its will. */
  secondConnection: 'replaces' | 'replaces-unannounced' | 'is-refused';
  /** Does the gateway hear of a connection that dies? RabbitMQ has no wills: there a send says so. */
  hearsOfDeath: boolean;
  /** Absent for channels that live in the gateway itself: they have no broker to lose. */
  broker?: { kill9(): Promise<void>; restart(): Promise<void> };
  stop(): Promise<void>;
}

let nextId = 0;
export function command(overrides: Partial<CommandMessage> = {}): CommandMessage {
  nextId += 1;
  return {
    v: 1,
    id: `00000000-0000-4000-8000-${String(nextId).padStart(12, '0')}`,
    name: 'Status',
    replyTo: gatewayId,
    issuedAt: new Date().toISOString(),
    args: {},
    ...overrides,
  };
}

export function answerTo({ id }: CommandMessage, device: string): AnswerMessage {
  return { v: 1, id, device, clock: new Date().toISOString(), outcome: 'done', report: { battery: 80 } };
}

export function channelContract(title: string, createRig: () => Promise<ChannelRig>, where: 'embedded' | 'outside'): void {
  describe(title, () => {
    let rig: ChannelRig;
    let channel: Channel;
    let recorder: Recorder;
    const devices: TestDevice[] = [];

    beforeAll(async () => {
      rig = await createRig();
    });
    afterAll(async () => {
      await rig.stop();
    });

    async function open(): Promise<void> {
      channel = rig.createChannel();
      recorder = createRecorder();
      await channel.start(recorder);
      await recorder.until(({ what }) => what === 'up', 'up');
    }

    async function device(login = deviceA): Promise<TestDevice> {
      const connected = await rig.connectDevice(login);
      devices.push(connected);
      return connected;
    }

    const answerFor = (id: string) => recorder.until((told) => told.what === 'answer' && told.answer.id === id, `the answer to ${id}`);

    async function roundTrip(connected: TestDevice, { deviceId } = deviceA): Promise<void> {
      const sent = command();
      await channel.send(deviceId, sent, 5_000);
      const received = await connected.nextCommand();
      expect(received).toEqual(sent);
      connected.answer(gatewayId, answerTo(received, deviceId));
      expect(await answerFor(sent.id)).toMatchObject({ deviceId, answer: { outcome: 'done', report: { battery: 80 } } });
    }

    afterEach(async () => {
      await channel?.stop();
      for (const connected of devices.splice(0)) connected.die();
    });

    it('carries a command to the device and its answer and presence back', async () => {
      await open();
      const connected = await device();
      await roundTrip(connected);
      connected.presence({ v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString(), battery: 7 });
      expect(await recorder.until(({ what }) => what === 'presence', 'presence')).toMatchObject({
        deviceId: deviceA.deviceId,
        presence: { battery: 7 },
      });
    });

    it('takes a median of less than 10 ms there and back', async () => {
      await open();
      const connected = await device();
      const times: number[] = [];
      for (let count = 0; count < 41; count += 1) {
        const startedAt = performance.now();
        await roundTrip(connected);
        times.push(performance.now() - startedAt);
      }
      times.sort((a, b) => a - b);
      expect(times[20]).toBeLessThan(10);
    });

    it('sends nothing later: not to a device that was offline, not from a channel that was closed', async () => {
      channel = rig.createChannel();
      expect(channel.isConnected).toBe(false);
      await expect(channel.send(deviceA.deviceId, command(), 60_000)).rejects.toMatchObject({ name: 'ChannelDown' });
      await open();
      const startedAt = performance.now();
      const sending = channel.send(deviceA.deviceId, command(), 60_000);
      if (channel.tellsAbsence) {
        await expect(sending).rejects.toMatchObject({ name: 'DeviceNotOnChannel' });
        expect(performance.now() - startedAt).toBeLessThan(1_000);
      } else await sending;
      const connected = await device();
      await roundTrip(connected);
      expect(connected.commands).toHaveLength(1);
    });

    it('drops and counts what breaks the rules, and goes on', async () => {
      await open();
      const connected = await device();
      const good = answerTo(command(), deviceA.deviceId);
      const wrong: [string, Buffer][] = [
        ['not-json', Buffer.from('{"v":1,')],
        ['version', wire({ ...good, v: 2 })],
        ['field', wire({ ...good, id: '../../etc' })],
        ['field', wire({ ...good, outcome: 'perhaps' })],
        ['foreign-device', wire({ ...good, device: deviceB.deviceId })],
      ];
      for (const [reason, bytes] of wrong) {
        const since = recorder.told.length;
        connected.rawAnswer(gatewayId, bytes);
        expect(await recorder.until(({ what }) => what === 'dropped', reason, since)).toMatchObject({ reason });
      }
      await roundTrip(connected);
    });

    it('drops and counts a message of more than 1 MiB', async () => {
      await open();
      const connected = await device();
      connected.rawAnswer(gatewayId, wire({ ...answerTo(command(), deviceA.deviceId), report: { text: 'x'.repeat(1024 * 1024) } }));
      expect(await recorder.until(({ what }) => what === 'dropped', 'too-large')).toMatchObject({ reason: 'too-large' });
      await roundTrip(await device(deviceB), deviceB);
    });

    it('carries a message of nearly 1 MiB both ways', async () => {
      await open();
      const connected = await device();
      const text = 'x'.repeat(1024 * 1024 - 1_000);
      const sent = command({ args: { text } });
      await channel.send(deviceA.deviceId, sent, 5_000);
      expect((await connected.nextCommand()).args['text']).toHaveLength(text.length);
      connected.answer(gatewayId, { ...answerTo(sent, deviceA.deviceId), report: { text } });
      expect(await answerFor(sent.id)).toMatchObject({ answer: { report: { text } } });
    });

    it('lets a device in with its own secret alone', async () => {
      await open();
      await expect(rig.connectDevice({ ...deviceA, secret: deviceB.secret })).rejects.toThrow();
      await expect(rig.connectDevice({ deviceId: 'cccccccc-cccc-4ccc-8ccc-cccccccccccc', secret: deviceA.secret })).rejects.toThrow();
      await expect(rig.connectDevice({ deviceId: 'admin', secret: '' })).rejects.toThrow();
    });

    it('lets a device neither send in the name of another nor receive its commands', async () => {
      await open();
      const victim = await device(deviceB);
      const intruder = await rig.intrude();
      await roundTrip(victim, deviceB);
      expect(intruder.overheard()).toEqual([]);
      expect(victim.commands).toHaveLength(1);
      expect(recorder.told.filter((told) => told.what === 'presence' && told.deviceId === deviceB.deviceId)).toEqual([]);
      expect(recorder.told.filter((told) => told.what === 'answer')).toHaveLength(1);
      await intruder.end();
    });

    it('serves one connection a device', async () => {
      await open();
      const first = await device();
      await roundTrip(first);
      if (rig.secondConnection === 'is-refused') {
        await expect(rig.connectDevice(deviceA)).rejects.toThrow();
        await roundTrip(first);
        return;
      }
      const connecting = device();
      // RabbitMQ's MQTT plugin, on a busy machine, may cut the newcomer along with the one that it replaces; a device tries again.
      const second = await (rig.secondConnection === 'replaces-unannounced' ? connecting.catch(() => device()) : connecting);
      await first.ended;
      if (rig.secondConnection === 'replaces') await recorder.until(isEnd, 'the end of the first connection');
      await roundTrip(second);
      expect(first.commands).toHaveLength(1);
    });

    it('notices that a device is gone', async () => {
      await open();
      const connected = await device();
      await roundTrip(connected);
      const since = recorder.told.length;
      connected.die();
      if (!rig.hearsOfDeath) {
        await connected.ended;
        await until(async () => {
          const outcome = await channel.send(deviceA.deviceId, command(), 100).then(
            () => 'sent',
            (error: Error) => error.name,
          );
          return outcome === 'DeviceNotOnChannel';
        });
      }
      const told = await recorder.until(isEnd, 'that the device is gone', since);
      expect(told).toMatchObject({ deviceId: deviceA.deviceId });
    });

    it('ends what is in progress when it is stopped, and is silent afterwards', async () => {
      await open();
      const connected = await device();
      const sends = Promise.allSettled(Array.from({ length: 20 }, () => channel.send(deviceA.deviceId, command(), 5_000)));
      await channel.stop();
      expect(channel.isConnected).toBe(false);
      for (const result of await sends) {
        if (result.status === 'rejected') expect(['SendUnclear', 'ChannelDown']).toContain((result.reason as Error).name);
      }
      const told = recorder.told.length;
      connected.presence({ v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() });
      await expect(channel.send(deviceA.deviceId, command(), 5_000)).rejects.toMatchObject({ name: 'ChannelDown' });
      expect(recorder.told).toHaveLength(told);
    });

    if (where === 'embedded') return;
    it('survives a crash and a restart of the broker', async () => {
      if (rig.broker === undefined) throw new Error('An outside broker can be killed.');
      await open();
      const before = await device();
      await roundTrip(before);
      const sends = Promise.allSettled(Array.from({ length: 20 }, () => channel.send(deviceA.deviceId, command(), 60_000)));
      const since = recorder.told.length;
      await rig.broker.kill9();
      await recorder.until(({ what }) => what === 'down', 'down', since);
      for (const result of await sends) {
        if (result.status === 'rejected') expect((result.reason as Error).name).toBe('SendUnclear');
      }
      await expect(channel.send(deviceA.deviceId, command(), 60_000)).rejects.toMatchObject({ name: 'ChannelDown' });
      const downAt = recorder.told.length;
      await rig.broker.restart();
      await recorder.until(({ what }) => what === 'up', 'up again', downAt);
      const after = await device();
      await roundTrip(after);
      expect(after.commands).toHaveLength(1);
    }, 90_000);
  });
}

function isEnd(told: Told): boolean {
  return told.what === 'gone' || (told.what === 'presence' && !told.presence.online);
}

function wire(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await condition())) if (performance.now() - startedAt > 15_000) throw new Error('The condition did not come true.');
}

// Access rules of the embedded broker, called as aedes calls them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { answerTo, command, gatewayId } from '../../../contract/channel.ts';
import { type Bench, createBench, deviceId, FakeClient, other } from './fake-aedes.ts';

let at: Bench;
beforeEach(() => {
  at = createBench();
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Verdict = { error: (Error & { returnCode?: number }) | null | undefined; is: unknown };
const judged = (ask: (done: (error: Verdict['error'], is?: unknown) => void) => void) =>
  new Promise<Verdict>((resolve) => ask((error, is) => resolve({ error, is })));

const logIn = (client: FakeClient, password = 'right') =>
  judged((done) => at.rules.authenticate?.(client.asClient(), deviceId, Buffer.from(password), done));
const publish = (client: FakeClient | null, packet: object) =>
  judged((done) => at.rules.authorizePublish?.(client as never, packet as never, done));
const arrive = (client: FakeClient | null, topic: string, payload: Buffer | string) =>
  judged((done) => at.rules.published?.({ topic, payload } as never, client as never, done));

const owner = { merchantId: 'm' };

describe('a login', () => {
  it('is accepted with the right secret under the device’s own id', async () => {
    const asked: unknown[] = [];
    await at.open({
      checkDevice: async (...login) => {
        asked.push(login);
        return login[1] === 'right' ? owner : undefined;
      },
    });
    expect(await logIn(new FakeClient())).toEqual({ error: null, is: true });
    const refused = await logIn(new FakeClient(), 'wrong');
    expect([refused.error?.returnCode, refused.is]).toEqual([4, null]);
    expect(asked).toEqual([
      [deviceId, 'right'],
      [deviceId, 'wrong'],
    ]);
    expect(at.logger.lines.map(({ fields }) => fields)).toEqual([{ clientId: deviceId, returnCode: 4 }]);
  });

  it('is refused without a look-up for an invalid user name, another client id, or a missing secret', async () => {
    let questions = 0;
    const checkDevice = async () => ((questions += 1) > 0 ? owner : undefined);
    await at.open({ checkDevice });
    const ask = async (client: FakeClient, username?: unknown, password?: unknown) =>
      (await judged((done) => at.rules.authenticate?.(client.asClient(), username as never, password as never, done))).error?.returnCode;
    const secret = Buffer.from('right');
    expect(await ask(new FakeClient('admin'), 'admin', secret)).toBe(4);
    expect(await ask(new FakeClient(other), deviceId, secret)).toBe(4);
    expect(await ask(new FakeClient(), undefined, secret)).toBe(4);
    expect(await ask(new FakeClient(), deviceId, undefined)).toBe(4);
    expect([questions, at.told]).toEqual([0, []]);
  });

  it('above the rate limit is refused as temporary, and so is one that cannot be checked', async () => {
    let isAway = false;
    const checkDevice = async () => {
      if (isAway) throw new Error('database down');
      return owner;
    };
    await at.open({ checkDevice, deviceLogins: 1 });
    expect((await logIn(new FakeClient())).is).toBe(true);
    expect((await logIn(new FakeClient())).error?.returnCode).toBe(3);
    expect(at.told).toEqual([['dropped', 'mqtt', 'over-budget', deviceId]]);
    isAway = true;
    expect((await logIn(new FakeClient())).error?.returnCode).toBe(3);
    expect(at.told).toHaveLength(1);
    const refusals = { clientId: deviceId, returnCode: 3 };
    expect(at.logger.lines.map(({ fields }) => fields)).toEqual([refusals, { err: new Error('database down'), deviceId }, refusals]);
    isAway = false;
    await at.broker.stop();
    // aedes may still call this for a client that connected before the stop.
    expect((await logIn(new FakeClient())).error?.returnCode).toBe(3);
    expect(at.told).toHaveLength(1);
    expect(at.logger.lines.slice(3).map(({ fields }) => fields)).toEqual([refusals]);
  });

  it('gets a clean session, whatever it asked for', async () => {
    await at.open();
    const packet = { clean: false };
    expect(await judged((done) => at.rules.preConnect?.(new FakeClient().asClient(), packet as never, done))).toEqual({
      error: null,
      is: true,
    });
    expect(packet.clean).toBe(true);
  });

  it('is passed to onLogin with its connect options, once it is accepted', async () => {
    const logins: unknown[] = [];
    await at.open({
      onLogin: (...login) => logins.push(login),
      checkDevice: async (_id, secret) => (secret === 'right' ? owner : undefined),
    });
    const arriving = async (packet: object, password = 'right') => {
      const client = new FakeClient();
      await judged((done) => at.rules.preConnect?.(client.asClient(), packet as never, done));
      await logIn(client, password);
    };
    await arriving({ clean: true }, 'wrong');
    expect(logins).toEqual([]);
    await arriving({ clean: true, keepalive: 30, will: { topic: 't', payload: 'bye', retain: true } });
    await arriving({ will: { topic: 't', payload: Buffer.from('bye') } });
    await arriving({});
    const payload = Buffer.from('bye');
    expect(logins).toEqual([
      [deviceId, { will: { topic: 't', payload, isRetained: true }, keepaliveS: 30, isClean: true }],
      [deviceId, { will: { topic: 't', payload, isRetained: false }, keepaliveS: 0, isClean: false }],
      [deviceId, { will: undefined, keepaliveS: 0, isClean: false }],
    ]);
    // A client for which aedes did not call preConnect.
    expect((await logIn(new FakeClient())).is).toBe(true);
    expect(logins).toHaveLength(3);
  });
});

describe('a device', () => {
  it('may subscribe to its own commands only', async () => {
    await at.open();
    const ask = (topic: string) =>
      judged((done) => at.rules.authorizeSubscribe?.(new FakeClient().asClient(), { topic, qos: 0 } as never, done));
    expect(await ask(mqttTopics.commands(deviceId))).toEqual({ error: null, is: { topic: mqttTopics.commands(deviceId), qos: 0 } });
    for (const topic of [mqttTopics.commands(other), mqttTopics.commands('+'), '#']) expect((await ask(topic)).is).toBeNull();
  });

  it('may publish its own answers and presence, of which the broker retains nothing', async () => {
    await at.open();
    const client = at.present();
    for (const topic of [mqttTopics.presence(deviceId), mqttTopics.answers(deviceId, gatewayId)]) {
      const packet = { topic, retain: true };
      expect((await publish(client, packet)).error).toBeUndefined();
      expect(packet.retain).toBe(false);
    }
    expect(at.told).toEqual([]);
  });

  it('is disconnected for publishing to any other topic, which is reported with its id if it has logged in', async () => {
    await at.open();
    const client = at.present();
    const topics = [mqttTopics.presence(other), mqttTopics.answers(other, gatewayId), mqttTopics.commands(deviceId)];
    const noGateways = ['presence', 'a b', ''].map((name) => mqttTopics.answers(deviceId, name));
    for (const topic of [...topics, ...noGateways]) expect((await publish(client, { topic })).error).toBeInstanceOf(Error);
    const why = { field: 'topic', why: expect.stringContaining('not the device') };
    expect(at.told).toEqual(Array.from({ length: 6 }, () => ['dropped', 'mqtt', 'unknown-address', deviceId, why]));
    at.told.length = 0;
    expect((await publish(new FakeClient(), { topic: 'x' })).error).toBeInstanceOf(Error);
    expect(at.told).toEqual([['dropped', 'mqtt', 'unknown-address', undefined, why]]);
    // The broker's own messages are not reported.
    expect((await publish(null, { topic: mqttTopics.presence(deviceId) })).error).toBeInstanceOf(Error);
    expect(at.told).toHaveLength(1);
    await at.broker.stop();
    expect((await publish(client, { topic: 'x' })).error).toBeInstanceOf(Error);
    expect(at.told).toHaveLength(1);
  });

  it('that has disconnected publishes no will, because it is already reported as gone; an answer in progress is accepted', async () => {
    await at.open();
    const client = at.present();
    client.closed = true;
    expect((await publish(client, { topic: mqttTopics.presence(deviceId) })).error).toBeInstanceOf(Error);
    expect((await publish(client, { topic: mqttTopics.answers(deviceId, gatewayId) })).error).toBeUndefined();
  });

  it('may publish nothing after it was cut off, also if its login was in progress then', async () => {
    let letIn = (_device: typeof owner) => {};
    await at.open({ checkDevice: () => new Promise((resolve) => (letIn = resolve)) });
    const answer = { topic: mqttTopics.answers(deviceId, gatewayId) };
    const late = new FakeClient();
    const loggingIn = logIn(late);
    at.broker.disconnectDevice(deviceId);
    letIn(owner);
    await loggingIn;
    at.aedes.emit('client', late);
    expect((await publish(late, answer)).error).toBeInstanceOf(Error);
    const again = new FakeClient();
    const anew = logIn(again);
    letIn(owner);
    await anew;
    at.aedes.emit('client', again);
    expect((await publish(again, answer)).error).toBeUndefined();
    at.broker.disconnectDevice(deviceId);
    expect((await publish(again, answer)).error).toBeInstanceOf(Error);
  });

  it('reaches the gateway with text or bytes until the broker stops', async () => {
    await at.open();
    const client = at.present();
    const answer = answerTo(command(), deviceId);
    const topic = mqttTopics.answers(deviceId, gatewayId);
    await arrive(client, topic, JSON.stringify(answer));
    await arrive(client, topic, Buffer.from(JSON.stringify(answer)));
    expect(at.told).toEqual([
      ['answer', 'mqtt', deviceId, answer],
      ['answer', 'mqtt', deviceId, answer],
    ]);
    await arrive(null, '$SYS/uptime', '1');
    await at.broker.stop();
    await arrive(client, topic, JSON.stringify(answer));
    expect(at.told).toHaveLength(2);
  });
});

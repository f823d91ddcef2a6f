// A real Mosquitto with dynamic security, set up as docs/operating.md shows: it keeps the channel's contract, and pairing, disabling and new
// secrets write its logins, whoever comes in between and whatever breaks.

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDevices, type Devices } from '../../src/devices/devices.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { createMosquittoLogins, type DeviceLogins } from '../../src/link/brokers/mosquitto-logins.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { type DynsecMosquitto, startDynsecMosquitto } from '../support/servers/dynsec-mosquitto.ts';
import { channelContract, deviceA, deviceB, gatewayId } from './channel.ts';
import { intrudeOverMqtt } from './mqtt-intruder.ts';
import { connectMqttDevice, type TestDevice } from './test-device.ts';

const clock = systemClock;

channelContract(
  'MQTT over Mosquitto with dynamic security',
  async () => {
    const server = await startDynsecMosquitto();
    const logins = createMosquittoLogins({ url: server.adminUrl, clock, random: systemRandom, logger: quietLogger });
    for (const { deviceId, secret } of [deviceA, deviceB]) await logins.change(deviceId, (login) => login.put(secret, false));
    return {
      createChannel: () => new MqttChannel({ url: server.gatewayUrl, gatewayId, clock, random: systemRandom, logger: quietLogger }),
      connectDevice: (login) => connectMqttDevice(server.url, login),
      intrude: () => intrudeOverMqtt(server.url),
      secondConnection: 'replaces',
      hearsOfDeath: true,
      broker: server,
      stop: () => server.stop(),
    };
  },
  'outside',
);

describe('pairing with Mosquitto', () => {
  let server: DynsecMosquitto;
  let database: TestDatabase;
  let merchantId: string;
  beforeAll(async () => {
    server = await startDynsecMosquitto();
    database = await openTestDatabase('sqlite');
    ({ id: merchantId } = await seedMerchant(database.queries));
  });
  afterAll(async () => {
    await database?.close();
    await server?.stop();
  });

  function gateway(
    logins: DeviceLogins = createMosquittoLogins({ url: server.adminUrl, clock, random: systemRandom, logger: quietLogger }),
  ): Devices {
    const devices = createDevices({
      database,
      clock,
      random: systemRandom,
      banks: [],
      addresses: () => ({ mqttUrl: server.url, queueUrl: 'ws://gate.example/tillgate/queue' }),
      logins,
    });
    onTestFinished(devices.stop);
    return devices;
  }
  const register = (devices: Devices) => devices.register('ana', { merchantId, kind: 'register', name: 'Register' });
  const pair = (devices: Devices, code: string) => devices.pair(code, '192.0.2.1');

  async function logIn(deviceId: string, secret: string): Promise<TestDevice | undefined> {
    const device = await connectMqttDevice(server.url, { deviceId, secret }).catch(() => undefined);
    if (device) onTestFinished(() => device.close());
    return device;
  }
  const mayLogIn = async (deviceId: string, secret: string) => {
    const device = await logIn(deviceId, secret);
    await device?.close();
    return device !== undefined;
  };

  it('of twenty devices at once, by two gateways, gives each its own login', async () => {
    const gateways = [gateway(), gateway()] as const;
    const codes = await Promise.all(Array.from({ length: 20 }, () => register(gateways[0])));
    const paired = await Promise.all(codes.map(({ pairingCode }, at) => pair(gateways[at % 2 === 0 ? 0 : 1], pairingCode)));
    const letIn = await Promise.all(paired.map(({ deviceId, secret }) => mayLogIn(deviceId, secret)));
    expect(letIn).toEqual(Array(20).fill(true));
  });

  it('writes the login: the device is let in with the secret that it got, and with nothing else', async () => {
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const { secret } = await pair(devices, pairingCode);
    expect(await mayLogIn(id, secret)).toBe(true);
    expect(await mayLogIn(id, `${secret}x`)).toBe(false);
    // Its answer was lost: it asks again.
    const again = await pair(devices, pairingCode);
    expect([await mayLogIn(id, secret), await mayLogIn(id, again.secret)]).toEqual([false, true]);
  });

  it('ends login and connection at once when the device is disabled, and gives the login back', async () => {
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const { secret } = await pair(devices, pairingCode);
    const connected = await logIn(id, secret);
    await devices.disable('ana', id);
    await connected?.ended;
    expect(await mayLogIn(id, secret)).toBe(false);
    await devices.disable('ana', id);
    await devices.enable('ana', id);
    expect(await mayLogIn(id, secret)).toBe(true);
  });

  it('ends the old secret and its connection when there is a new one, also of a device that is disabled', async () => {
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const { secret: old } = await pair(devices, pairingCode);
    const connected = await logIn(id, old);
    const { secret } = await devices.newSecret('ana', id);
    await connected?.ended;
    expect([await mayLogIn(id, old), await mayLogIn(id, secret)]).toEqual([false, true]);

    await devices.disable('ana', id);
    const { secret: newest } = await devices.newSecret('ana', id);
    expect(await mayLogIn(id, newest)).toBe(false);
    await devices.enable('ana', id);
    expect(await mayLogIn(id, newest)).toBe(true);
  });

  it('of two devices that use one code at once, on two gateways, answers neither with a secret that does not work', async () => {
    const [one, other] = [gateway(), gateway()];
    for (let round = 0; round < 8; round += 1) {
      const { id, pairingCode } = await register(one);
      const paired = await Promise.allSettled([pair(one, pairingCode), pair(other, pairingCode)]);
      const told = paired.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.secret] : []));
      expect(told.length).toBeLessThanOrEqual(1);
      for (const secret of told) expect(await mayLogIn(id, secret)).toBe(true);
      // Whatever happened, the next one who does it alone succeeds.
      const { secret } = await one.newSecret('ana', id);
      expect(await mayLogIn(id, secret)).toBe(true);
    }
  });

  it('of two new secrets at once, on two gateways, tells none that does not work', async () => {
    const [one, other] = [gateway(), gateway()];
    const { id, pairingCode } = await register(one);
    await pair(one, pairingCode);
    for (let round = 0; round < 8; round += 1) {
      const made = await Promise.allSettled([one.newSecret('ana', id), other.newSecret('eve', id)]);
      const told = made.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.secret] : []));
      const last = told.length === 2 ? await Promise.all(told.map((secret) => mayLogIn(id, secret))) : [];
      // Two that came one after the other: the later one counts.
      if (told.length === 2) expect(last.filter(Boolean)).toHaveLength(1);
      else for (const secret of told) expect(await mayLogIn(id, secret)).toBe(true);
    }
  });

  it('writes nothing late: a change that was frozen while another changed the login finds that it lost it', async () => {
    const logins = createMosquittoLogins({ url: server.adminUrl, clock, random: systemRandom, logger: quietLogger });
    const { deviceId } = deviceA;
    let goOn = () => {};
    const stoodStill = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isHeld = () => {};
    const held = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    const first = logins.change(deviceId, async (login) => {
      isHeld();
      await stoodStill;
      await login.put('the late one', false);
    });
    await held;
    await logins.change(deviceId, (login) => login.put('the newer one', false));
    goOn();
    await expect(first).rejects.toMatchObject({ errorName: 'Internal_error', httpStatus: 503 });
    expect([await mayLogIn(deviceId, 'the late one'), await mayLogIn(deviceId, 'the newer one')]).toEqual([false, true]);
  });

  it('leaves the code good when the process dies between the login and the commit', async () => {
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const logins = createMosquittoLogins({ url: server.adminUrl, clock, random: systemRandom, logger: quietLogger });
    // Dies after Mosquitto has it: nothing of what follows happens.
    await logins.change(id, (login) => login.put('never told', false));
    expect((await devices.list(merchantId)).find((one) => one.id === id)).toMatchObject({ state: 'new' });
    const { secret } = await pair(devices, pairingCode);
    expect([await mayLogIn(id, 'never told'), await mayLogIn(id, secret)]).toEqual([false, true]);
  });

  it('says so within seconds when Mosquitto does not answer, and changes nothing', async () => {
    const sockets: Socket[] = [];
    const deaf = createServer((socket) => void sockets.push(socket.on('error', () => {})));
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      deaf.close();
    });
    const deafUrl = `mqtt://admin:x@127.0.0.1:${(deaf.address() as AddressInfo).port}`;
    const wrongLogin = server.adminUrl.replace('admin:', 'nobody:');
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const why: string[] = [];
    const logger = { warn: (fields: object) => void why.push(String((fields as { err: Error }).err)) };
    for (const url of [deafUrl, 'mqtt://admin:x@127.0.0.1:9', wrongLogin]) {
      const cut = gateway(createMosquittoLogins({ url, clock, random: systemRandom, logger, answerWithinMs: 300 }));
      const startedAt = performance.now();
      await expect(pair(cut, pairingCode)).rejects.toMatchObject({
        httpStatus: 503,
        message: "Mosquitto did not take the change of the device's login. The pairing code is still valid: try again.",
      });
      await expect(cut.newSecret('ana', id)).rejects.toMatchObject({
        message: expect.stringMatching(/login\. Request a new secret again\.$/),
      });
      expect(performance.now() - startedAt).toBeLessThan(5_000);
    }
    // The operator reads which of them it was: each try once.
    const words = [/timeout|no answer/, /timeout|no answer/, /ECONNREFUSED/, /ECONNREFUSED/, /not authorized/i, /not authorized/i];
    expect(why).toEqual(words.map((said) => expect.stringMatching(said)));
    const { secret } = await pair(devices, pairingCode);
    const cut = gateway(createMosquittoLogins({ url: deafUrl, clock, random: systemRandom, logger: quietLogger, answerWithinMs: 300 }));
    await expect(cut.newSecret('ana', id)).rejects.toMatchObject({ httpStatus: 503 });
    await expect(cut.disable('ana', id)).rejects.toMatchObject({ message: expect.stringContaining('repeat the request') });
    // Here it is disabled all the same, and doing it again ends the login, too.
    expect(await devices.checkSecret(id, secret)).toBeUndefined();
    await devices.disable('ana', id);
    expect(await mayLogIn(id, secret)).toBe(false);
  });

  it('runs a few changes at once and refuses more', async () => {
    const logins = createMosquittoLogins({ url: server.adminUrl, clock, random: systemRandom, logger: quietLogger, maxAtOnce: 1 });
    const first = logins.change(deviceA.deviceId, (login) => login.confirm().catch(() => {}));
    await expect(logins.change(deviceB.deviceId, async () => {})).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    await first;
    await logins.change(deviceB.deviceId, async () => {});
  });

  it('after the loss of its file knows no device: a new secret, or pairing anew, brings a device back', async () => {
    const devices = gateway();
    const { id, pairingCode } = await register(devices);
    const { secret: lost } = await pair(devices, pairingCode);
    await server.loseState();
    expect(await mayLogIn(id, lost)).toBe(false);
    await devices.disable('ana', id);
    await expect(devices.enable('ana', id)).rejects.toMatchObject({ message: expect.stringContaining('Give it a new secret') });
    const { secret } = await devices.newSecret('ana', id);
    expect(await mayLogIn(id, secret)).toBe(true);
    const code = await devices.newPairingCode('ana', id);
    expect(await mayLogIn(id, (await pair(devices, code.pairingCode)).secret)).toBe(true);
  });
});

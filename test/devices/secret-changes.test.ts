// Two changes of one device's login at once, in every order of their steps, against a broker that ends the older of two connections under one
// client id: nobody is told a secret that does not work, and a device that somebody disabled is out. test/contract has the real broker.
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashSecret } from '../../src/access/secrets.ts';
import { createDevices, type Devices } from '../../src/devices/devices.ts';
import { readLoginState } from '../../src/devices/registry.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import type { DeviceLogins } from '../../src/link/brokers/mosquitto-logins.ts';
import { engines, memoryDatabase, openQuickDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

type Who = 0 | 1;
/** Where a change can stand still: before it connects, before and after its login is written, before it is confirmed. */
const maxSteps = 4;

/** All orders in which two can take their steps. */
function orders(first: number, second: number): Who[][] {
  if (first === 0 || second === 0) return [[...Array<Who>(first).fill(0), ...Array<Who>(second).fill(1)]];
  const after = (who: Who, rest: Who[][]) => rest.map((order) => [who, ...order]);
  return [...after(0, orders(first - 1, second)), ...after(1, orders(first, second - 1))];
}

/** Lets one of the two go on at a time. */
function createStage() {
  const standing: ((() => void) | undefined)[] = [];
  const arrivals: (() => void)[] = [];
  return {
    reach: (who: Who) =>
      new Promise<void>((resolve) => {
        standing[who] = resolve;
        arrivals[who]?.();
      }),
    /** Until it stands still, or has ended. */
    async arrive(who: Who, ended: Promise<unknown>): Promise<void> {
      const arrived = new Promise<void>((resolve) => {
        arrivals[who] = resolve;
      });
      if (standing[who] === undefined) await Promise.race([arrived, ended]);
    },
    /** One step further. */
    async release(who: Who, ended: Promise<unknown>): Promise<void> {
      const goOn = standing[who];
      standing[who] = undefined;
      goOn?.();
      await this.arrive(who, ended);
    },
  };
}

function createBroker(stage: Pick<ReturnType<typeof createStage>, 'reach'>) {
  const kept = new Map<string, { secret: string; isDisabled: boolean }>();
  const latest = new Map<string, object>();
  const gone = () => new GatewayError('Internal_error', 'gone', { httpStatus: 503 });
  const loginsOf = (who: Who): DeviceLogins => ({
    check: async () => {},
    async change(deviceId, work) {
      await stage.reach(who);
      const own = {};
      latest.set(deviceId, own);
      const check = () => {
        if (latest.get(deviceId) !== own) throw gone();
      };
      return work({
        async put(secret, isDisabled) {
          await stage.reach(who);
          check();
          kept.set(deviceId, { secret, isDisabled });
          // The answer is here, and then the process stands still.
          await stage.reach(who);
        },
        async setDisabled(isDisabled) {
          await stage.reach(who);
          check();
          const login = kept.get(deviceId);
          if (!login) return 'unknown';
          login.isDisabled = isDisabled;
          return 'set';
        },
        async confirm() {
          await stage.reach(who);
          check();
        },
      });
    },
  });
  return { kept, loginsOf };
}

type Change = (devices: Devices, id: string, code: string) => Promise<{ secret: string } | undefined>;
const changes: Record<string, Change> = {
  pair: (devices, _id, code) => devices.pair(code, '192.0.2.1'),
  newSecret: (devices, id) => devices.newSecret('ana', id),
  async disable(devices, id) {
    await devices.disable('ana', id);
    return undefined;
  },
};

describe.each(engines)('two changes of a login at once on %s', (engine) => {
  it.each([
    ['pair', 'pair', 'paired before'],
    ['newSecret', 'newSecret', 'paired before'],
    ['pair', 'newSecret', 'paired before'],
    ['pair', 'disable', 'paired before'],
    ['newSecret', 'disable', 'paired before'],
    ['pair', 'disable', 'new'],
    ['newSecret', 'disable', 'new'],
  ])('%s and %s of a device that was %s, in every order', async (first, second, state) => {
    const clock = createVirtualClock();
    const database = await openQuickDatabase(engine, clock);
    onTestFinished(() => database.close());
    const { id: merchantId } = await seedMerchant(database.queries);
    let stage = createStage();
    let isQuiet = true;
    const broker = createBroker({ reach: (who) => (isQuiet ? Promise.resolve() : stage.reach(who)) });
    const random = seededRandom(7);
    const [one, other] = ([0, 1] as const).map((who) => {
      const addresses = () => ({ mqttUrl: 'mqtt://broker.example', queueUrl: 'amqp://broker.example' });
      const devices = createDevices({ database, clock, random, banks: [], addresses, logins: broker.loginsOf(who) });
      onTestFinished(devices.stop);
      return devices;
    }) as [Devices, Devices];

    // The statements are the same on both; the orders are all tried on the quicker one.
    const all = orders(maxSteps, maxSteps);
    for (const order of engine === 'sqlite' ? all : all.filter((_order, index) => index % 10 === 0)) {
      isQuiet = true;
      const { id, pairingCode } = await one.register('ana', { merchantId, kind: 'register', name: 'Register' });
      const firstSecret = state === 'new' ? undefined : (await one.pair(pairingCode, '192.0.2.1')).secret;
      const code = state === 'new' ? pairingCode : (await one.newPairingCode('ana', id)).pairingCode;
      stage = createStage();
      isQuiet = false;
      const outcomes: Promise<{ secret: string } | GatewayError | undefined>[] = [];
      for (const [who, name] of [first, second].entries()) {
        // Disabling commits before it comes to the broker, so it waits for its turn before that, too.
        const begun = name === 'disable' ? stage.reach(who as Who) : Promise.resolve();
        const outcome = begun
          .then(() => (changes[name] as Change)(who === 0 ? one : other, id, code))
          .catch((error: unknown) => error as GatewayError);
        outcomes.push(outcome);
        await stage.arrive(who as Who, outcome);
      }
      for (const who of order) await stage.release(who, outcomes[who] ?? Promise.resolve());
      const ended = await Promise.all(outcomes);

      const told = ended.flatMap((outcome) => (outcome !== undefined && 'secret' in outcome ? [outcome.secret] : []));
      const row = await readLoginState(database.queries, id);
      const login = broker.kept.get(id);
      const shown = `${first} and ${second} by ${order.join('')}: ${ended.map(String).join('; ')}`;
      // The secret that counts here counts there, if anybody knows it and nobody was told to do it again.
      if (told.some((secret) => hashSecret(secret) === row.secretHash)) expect(hashSecret(login?.secret ?? ''), shown).toBe(row.secretHash);
      // The last one who was told a secret can use it.
      if (told.length > 0) expect(told.map(hashSecret), shown).toContain(row.secretHash);
      if (ended.every((outcome) => outcome instanceof GatewayError && outcome.errorName === 'Record_not_exist'))
        expect(login?.secret, shown).toBe(firstSecret);
      // Disabled without an error is out: its login is off, or has a secret that nobody was told.
      if (second === 'disable' && ended[1] === undefined) {
        expect(row.isDisabled, shown).toBe(true);
        const isOpen = login !== undefined && !login.isDisabled && hashSecret(login.secret) === row.secretHash;
        expect(isOpen, shown).toBe(false);
        if (firstSecret !== undefined) expect(login?.isDisabled, shown).toBe(true);
      }
    }
  });
});

it.each(['pair', 'newSecret'])(
  '%s cuts off the holder of the old secret also when Mosquitto falls silent after the commit',
  async (name) => {
    const clock = createVirtualClock();
    const database = await memoryDatabase(clock);
    onTestFinished(() => database.close());
    const { id: merchantId } = await seedMerchant(database.queries);
    const broker = createBroker({ reach: () => Promise.resolve() });
    let isSilent = false;
    const logins: DeviceLogins = {
      check: async () => {},
      change: (deviceId, work) =>
        broker.loginsOf(0).change(deviceId, (login) =>
          work({
            ...login,
            async confirm() {
              if (isSilent) throw new GatewayError('Internal_error', 'silent', { httpStatus: 503 });
            },
          }),
        ),
    };
    const addresses = () => ({ mqttUrl: 'mqtt://broker.example', queueUrl: 'amqp://broker.example' });
    const devices = createDevices({ database, clock, random: seededRandom(7), banks: [], addresses, logins });
    onTestFinished(devices.stop);
    const { id, pairingCode } = await devices.register('ana', { merchantId, kind: 'register', name: 'Register' });
    const { secret } = await devices.pair(pairingCode, '192.0.2.1');
    const { pairingCode: code } = await devices.newPairingCode('ana', id);
    // Believed from memory from now on.
    expect(await devices.checkSecret(id, secret)).toBeDefined();

    const cutOff: string[] = [];
    devices.onCutOff((deviceId) => cutOff.push(deviceId));
    isSilent = true;
    await expect((changes[name] as Change)(devices, id, code)).rejects.toMatchObject({ httpStatus: 503 });
    expect(cutOff).toEqual([id]);
    expect(await devices.checkSecret(id, secret)).toBeUndefined();
  },
);

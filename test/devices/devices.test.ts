// The register, pairing and credentials of devices, on each engine.
import { describe, expect, it, onTestFinished } from 'vitest';
import { listAudit } from '../../src/access/audit.ts';
import { requireMerchantDevice } from '../../src/access/merchant-device.ts';
import { ensureDemoDevices } from '../../src/cli/demo-devices.ts';
import { createCredentials } from '../../src/devices/credentials.ts';
import { createDevices } from '../../src/devices/devices.ts';
import { readCode } from '../../src/devices/pairing.ts';
import { createPresenceKeeper } from '../../src/devices/presence-keeper.ts';
import { countStatements } from '../invoices/shop.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeLink, snapshot } from './fake-link.ts';

const nobody = '3b241101-e2bb-4255-8caf-4136c566a962';

describe.each(engines)('devices on %s', (engine) => {
  async function setUp(maxDevices?: number) {
    const clock = createVirtualClock();
    const database = await openQuickDatabase(engine, clock);
    onTestFinished(() => database.close());
    const devices = createDevices({
      database,
      clock,
      ...(maxDevices === undefined ? {} : { maxDevices }),
      random: seededRandom(7),
      banks: [
        { code: 'one', name: 'Bank One' },
        { code: 'two', name: 'Bank Two' },
      ],
      addresses: () => ({ mqttUrl: 'mqtt://broker.example:1883', queueUrl: 'ws://gate.example/tillgate/queue' }),
    });
    onTestFinished(devices.stop);
    const { id: merchantId } = await seedMerchant(database.queries);
    const terminal = { merchantId, kind: 'terminal' as const, name: 'Till 1', bank: 'one' };
    const auditOf = async (subject: string) =>
      (await listAudit(database.queries, { limit: 100, subject })).map(({ action }) => action).reverse();
    /** It has come, and its presence was written. */
    const seen = async (id: string) => {
      const link = createFakeLink();
      const seenAtMs = clock.now();
      link.snapshots.set(id, snapshot({ lastSeenAtMs: seenAtMs }));
      const keeper = createPresenceKeeper({ database, clock, logger: quietLogger, link, instanceId: 'gateway' });
      keeper.start();
      await expect
        .poll(async () => (await devices.list()).find((each) => each.id === id)?.lastSeenAtMs ?? 0, { timeout: 15_000 })
        .toBeGreaterThanOrEqual(seenAtMs);
      await keeper.stop();
    };
    return { clock, database, devices, merchantId, terminal, auditOf, seen };
  }

  it('registers no more devices of a merchant than are allowed, disabled ones counted, also at once', async () => {
    const { database, devices, terminal } = await setUp(3);
    const { id } = await devices.register('ana', terminal);
    await devices.disable('ana', id);
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => devices.register('ana', terminal)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await expect(devices.register('ana', terminal)).rejects.toThrow('3 are allowed (TILLGATE_DEVICES_PER_MERCHANT)');
    const { id: merchantId } = await seedMerchant(database.queries);
    await devices.register('ana', { ...terminal, merchantId });
  });

  it('registers a device, lists it and keeps its rules', async () => {
    const { devices, merchantId, terminal } = await setUp();
    const { id } = await devices.register('ana', { ...terminal, pointOfSalesCode: 'P1' });
    expect(await devices.list(merchantId)).toMatchObject([
      { id, kind: 'terminal', name: 'Till 1', bank: 'one', pointOfSalesCode: 'P1', state: 'new' },
    ]);
    expect(await devices.list(nobody)).toEqual([]);
    const refuse = (changes: object, errorName: string) =>
      expect(devices.register('ana', { ...terminal, ...changes })).rejects.toMatchObject({ errorName });
    await refuse({ bank: 'three' }, 'Invalid_Request');
    await refuse({ kind: 'register' }, 'Invalid_Request');
    await refuse({ name: '' }, 'Invalid_Request');
    await refuse({ id: 'till-1' }, 'Invalid_Request');
    await refuse({ merchantId: nobody }, 'Record_not_exist');
    await refuse({ id: id.toUpperCase() }, 'The_status_cannot_be_applied');
    expect(await devices.list()).toHaveLength(1);
  });

  it('pairs once: the code is used up, and the secret logs in', async () => {
    const { devices, merchantId, terminal } = await setUp();
    const { id, pairingCode } = await devices.register('ana', terminal);
    expect(pairingCode).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
    const typed = ` ${pairingCode.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`;
    const paired = await devices.pair(typed, '192.0.2.1');
    expect(paired).toMatchObject({
      deviceId: id,
      kind: 'terminal',
      bank: 'one',
      mqtt: { url: 'mqtt://broker.example:1883', clientId: id, topics: { commands: `tillgate/devices/${id}/commands` } },
      queue: { url: 'ws://gate.example/tillgate/queue', kind: 'websocket' },
    });
    expect(await devices.checkSecret(id.toUpperCase(), paired.secret)).toEqual({ deviceId: id, merchantId });
    expect(await devices.checkSecret(id, `${paired.secret}x`)).toBeUndefined();
    expect(await devices.checkSecret(id, '')).toBeUndefined();
    expect(await devices.checkSecret(nobody, paired.secret)).toBeUndefined();
    expect(await devices.list()).toMatchObject([{ state: 'paired', pairingExpiresAtMs: null }]);
  });

  it('lets an interrupted pairing be repeated until the device has connected, and only the last secret counts', async () => {
    const { devices, clock, terminal, seen } = await setUp();
    const { id, pairingCode } = await devices.register('ana', terminal);
    const lost = await devices.pair(pairingCode, '192.0.2.1');
    await clock.advance(1_000);
    const again = await devices.pair(pairingCode, '192.0.2.1');
    expect([await devices.checkSecret(id, lost.secret), await devices.checkSecret(id, again.secret)]).toMatchObject([
      undefined,
      { deviceId: id },
    ]);
    await clock.advance(1_000);
    await seen(id);
    await expect(devices.pair(pairingCode, '192.0.2.1')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    expect(await devices.checkSecret(id, again.secret)).toBeDefined();
  });

  it('keeps an unused code although the device is connected with its old secret', async () => {
    const { devices, clock, terminal, seen } = await setUp();
    const { id, pairingCode } = await devices.register('ana', terminal);
    await devices.pair(pairingCode, '192.0.2.1');
    const { pairingCode: next } = await devices.newPairingCode('ana', id);
    await clock.advance(1_000);
    await seen(id);
    expect(await devices.pair(next, '192.0.2.1')).toMatchObject({ deviceId: id });
  });

  it('lets both of two exchanges at once succeed, and one secret counts', async () => {
    const { devices, terminal } = await setUp();
    const { id, pairingCode } = await devices.register('ana', terminal);
    const both = await Promise.all([devices.pair(pairingCode, '192.0.2.1'), devices.pair(pairingCode, '192.0.2.2')]);
    const good = await Promise.all(both.map(async ({ secret }) => (await devices.checkSecret(id, secret)) !== undefined));
    expect(good.filter(Boolean)).toHaveLength(1);
  });

  it('answers a wrong, an expired, a used and a replaced code alike', async () => {
    const { devices, clock, terminal, seen } = await setUp();
    const messages = new Set<string>();
    const fail = async (code: string) =>
      devices.pair(code, '192.0.2.1').then(
        () => expect.unreachable('the code was taken'),
        (error: Error & { errorName?: string }) => messages.add(`${error.errorName}: ${error.message}`),
      );
    const used = await devices.register('ana', terminal);
    await devices.pair(used.pairingCode, '192.0.2.1');
    await clock.advance(1_000);
    await seen(used.id);
    await fail(used.pairingCode);
    const replaced = await devices.register('ana', terminal);
    await devices.newPairingCode('ana', replaced.id);
    await fail(replaced.pairingCode);
    const disabled = await devices.register('ana', terminal);
    await devices.disable('ana', disabled.id);
    await fail(disabled.pairingCode);
    const expired = await devices.register('ana', terminal);
    await clock.advance(15 * 60_000 + 1);
    await fail(expired.pairingCode);
    await fail('0000-0000');
    await fail('nonsense, far too long to be a code');
    expect([...messages]).toEqual([expect.stringMatching(/^Record_not_exist: /)]);
  });

  it('slows down guessing, from one address and from many', async () => {
    const { devices, clock, terminal } = await setUp();
    const guess = (address: string) =>
      devices.pair('0000-0000', address).catch((error: { errorName: string; retryAfterS?: number }) => error as typeof error & object);
    for (let count = 0; count < 10; count += 1) expect(await guess('192.0.2.1')).toMatchObject({ errorName: 'Record_not_exist' });
    expect(await guess('192.0.2.1')).toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 6 });
    expect(await guess('192.0.2.2')).toMatchObject({ errorName: 'Record_not_exist' });
    const { pairingCode } = await devices.register('ana', terminal);
    await expect(devices.pair(pairingCode, '192.0.2.1')).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    await clock.advance(6_000);
    await devices.pair(pairingCode, '192.0.2.1');

    // From many networks: each of them is slowed, and whoever comes from another one pairs all the same.
    const fromMany = () => Promise.all(Array.from({ length: 400 }, (_, place) => guess(`198.51.100.${place}`)));
    await fromMany();
    const slowed = (await fromMany()).filter((outcome) => 'errorName' in outcome && outcome.errorName === 'Too_Many_Requests');
    expect(slowed.length).toBeGreaterThanOrEqual(390);
    const next = await devices.register('ana', terminal);
    await devices.pair(next.pairingCode, '203.0.113.5');
  });

  it('lets a person pair fifty devices, one after the other or all at once, and guesses in between change nothing', async () => {
    const { devices, terminal } = await setUp();
    const codes = await Promise.all(Array.from({ length: 50 }, async () => (await devices.register('ana', terminal)).pairingCode));
    for (const code of codes.slice(0, 20)) await devices.pair(code, '192.0.2.1');
    const guesses = Array.from({ length: 30 }, () => devices.pair('0000-0000', '192.0.2.1').catch(({ errorName }) => errorName));
    const paired = await Promise.all(codes.slice(20).map((code) => devices.pair(code, '192.0.2.7')));
    expect(new Set(paired.map(({ deviceId }) => deviceId)).size).toBe(30);
    // All at once, and still no more wrong ones than one after the other would have had.
    expect((await Promise.all(guesses)).filter((name) => name === 'Record_not_exist')).toHaveLength(10);
  });

  it('costs the database one look-up a second for any number of wrong secrets of one device, and refuses no right one', async () => {
    const { devices, database, clock, terminal } = await setUp();
    const { pairingCode } = await devices.register('ana', terminal);
    const { deviceId, secret } = await devices.pair(pairingCode, '192.0.2.1');
    const { watched, count } = countStatements(database);
    const credentials = createCredentials(watched, clock);
    const atStart = count();
    for (let time = 0; time < 200; time += 1) expect(await credentials.check(deviceId, `wrong ${time}`)).toBeUndefined();
    expect(await credentials.check(deviceId, secret)).toMatchObject({ deviceId });
    expect(count()).toBe(atStart + 1);
    // A new secret, made where the wake-up got lost: it is believed within a second.
    const { secret: newer } = await devices.newSecret('ana', deviceId);
    await clock.advance(1_001);
    expect(await credentials.check(deviceId, newer)).toMatchObject({ deviceId });
    expect(await credentials.check(deviceId, secret)).toBeUndefined();
  });

  it('cuts off a disabled device and lets it in again with its old secret', async () => {
    const { devices, database, merchantId, terminal } = await setUp();
    const { id } = await devices.register('ana', terminal);
    const { secret } = await devices.newSecret('ana', id);
    const cutOff: string[] = [];
    devices.onCutOff((deviceId) => cutOff.push(deviceId));
    expect(await devices.checkSecret(id, secret)).toBeDefined();
    await devices.disable('ana', id);
    expect(cutOff).toEqual([id]);
    expect(await devices.checkSecret(id, secret)).toBeUndefined();
    await expect(requireMerchantDevice(database.queries, merchantId, id)).rejects.toMatchObject({ errorName: 'Device_Offline' });
    await expect(devices.newPairingCode('ana', id)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    await devices.enable('ana', id);
    expect(await devices.checkSecret(id, secret)).toBeDefined();
  });

  it('ends the old secret at once when there is a new one, by hand or by pairing', async () => {
    const { devices, terminal } = await setUp();
    const { id } = await devices.register('ana', terminal);
    const first = await devices.newSecret('ana', id);
    expect(await devices.checkSecret(id, first.secret)).toBeDefined();
    const second = await devices.newSecret('ana', id);
    expect(await devices.checkSecret(id, first.secret)).toBeUndefined();
    expect(await devices.checkSecret(id, second.secret)).toBeDefined();
    const { pairingCode } = await devices.newPairingCode('ana', id);
    expect(await devices.checkSecret(id, second.secret)).toBeDefined();
    const third = await devices.pair(pairingCode, '192.0.2.1');
    expect(await devices.checkSecret(id, second.secret)).toBeUndefined();
    expect(await devices.checkSecret(id, third.secret)).toBeDefined();
  });

  it.each(['newSecret', 'disable'] as const)('does not believe the secret of a login that %s has overtaken', async (change) => {
    const { devices, database, clock, terminal } = await setUp();
    const { id } = await devices.register('ana', terminal);
    const { secret } = await devices.newSecret('ana', id);
    // The first read is made before the change, and answered after it.
    const [readMade, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = database.queries.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        readMade.resolve();
        await answer.promise;
        return result;
      },
    });
    const there = createDevices({
      ...{ database: { ...database, queries: late }, clock, random: seededRandom(8), banks: [] },
      addresses: () => ({ mqttUrl: 'mqtt://x', queueUrl: 'ws://x' }),
    });
    onTestFinished(there.stop);
    const told: string[] = [];
    there.onCutOff(() => told.push('cut off'));
    const login = there.checkSecret(id, secret).then((caller) => told.push(caller ? 'let in' : 'refused'));
    await readMade.promise;
    await devices[change]('ana', id);
    answer.resolve();
    await login;
    expect(told).toEqual(['cut off', 'refused']);
  });

  it('audits every change without a secret, and writes no entry for a call that changes nothing', async () => {
    const { devices, database, terminal, auditOf } = await setUp();
    const { id, pairingCode } = await devices.register('ana', terminal);
    const paired = await devices.pair(pairingCode, '192.0.2.1');
    await devices.rename('ana', id, 'Till 2');
    await devices.rename('ana', id, 'Till 2');
    const { secret } = await devices.newSecret('ana', id);
    const code = await devices.newPairingCode('ana', id);
    await devices.disable('ana', id);
    await devices.disable('ana', id);
    await devices.enable('ana', id);
    expect(await auditOf(id)).toEqual([
      'device.create',
      'device.pairing-code',
      'device.pair',
      'device.rename',
      'device.secret',
      'device.pairing-code',
      'device.disable',
      'device.enable',
    ]);
    const seen = JSON.stringify([
      await listAudit(database.queries, { limit: 100 }),
      await devices.list(),
      await database.queries.selectFrom('devices').selectAll().execute(),
    ]);
    for (const hidden of [pairingCode, readCode(pairingCode), paired.secret, secret, code.pairingCode]) expect(seen).not.toContain(hidden);
    for (const change of [devices.disable, devices.enable, devices.newSecret, devices.newPairingCode]) {
      await expect(change('ana', nobody)).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    }
    await expect(devices.rename('ana', nobody, 'x')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
  });

  it("shows another merchant's device as absent", async () => {
    const { devices, database, merchantId, terminal } = await setUp();
    const other = await seedMerchant(database.queries);
    const { id } = await devices.register('ana', terminal);
    expect(await requireMerchantDevice(database.queries, merchantId, id)).toMatchObject({ id, kind: 'terminal' });
    await expect(requireMerchantDevice(database.queries, other.id, id)).rejects.toMatchObject({
      errorName: 'Device_Offline',
      message: expect.stringContaining('no device with this DeviceID'),
    });
  });

  it('keeps the sandbox devices over restarts, and repairs a lost secret', async () => {
    const { devices, merchantId } = await setUp();
    const wanted = [
      { kind: 'terminal' as const, name: 'Virtual terminal', bank: 'one' },
      { kind: 'register' as const, name: 'Virtual register' },
    ];
    const first = await ensureDemoDevices(devices, merchantId, wanted);
    expect(await ensureDemoDevices(devices, merchantId, wanted, first)).toEqual(first);
    const [terminal, register] = await ensureDemoDevices(devices, merchantId, wanted, first.slice(1));
    expect(terminal?.id).toBe(first[0]?.id);
    expect(terminal?.secret).not.toBe(first[0]?.secret);
    expect(register).toEqual(first[1]);
    expect(await devices.list()).toHaveLength(2);
  });
});

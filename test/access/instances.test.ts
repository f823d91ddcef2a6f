// Two gateways on one PostgreSQL: what one changes, the other feels by a wake-up, long before its memory runs out.
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createDevices } from '../../src/devices/devices.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { quietLogger } from '../support/quiet-logger.ts';

// SQLite has one gateway a file, so its two are the same one twice.
describe.each(engines)('two instances on %s', (engine) => {
  async function setUp() {
    const place = await emptyPlace(engine);
    onTestFinished(place.remove);
    const open = () => openDatabase({ ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger });
    const here = await open();
    onTestFinished(() => here.close());
    if (engine === 'sqlite') return { here, there: here };
    const there = await open();
    onTestFinished(() => there.close());
    return { here, there };
  }

  it('a revoked key and a disabled device are refused on the other one within a second', async () => {
    const { here, there } = await setUp();
    // A clock that stands still: nothing runs out by itself, so only the wake-up can have done it.
    const clock = { ...systemClock, elapsed: () => 0 };
    const access = [here, there].map((database) => createAccess({ database, clock, random: systemRandom, maxKeys: 100 }));
    const options = { clock, random: systemRandom, banks: [], addresses: () => ({ mqttUrl: 'mqtt://x', queueUrl: 'ws://x' }) };
    const devices = [here, there].map((database) => createDevices({ database, ...options }));
    onTestFinished(() => {
      for (const { stop } of [...access, ...devices]) stop();
    });
    const [accessHere, accessThere] = access;
    const [devicesHere, devicesThere] = devices;
    if (!accessHere || !accessThere || !devicesHere || !devicesThere) throw new Error('unreachable');

    const { id: merchantId } = await accessHere.createMerchant('test', 'Shop');
    const key = await accessHere.createKey('test', { merchantId, name: 'ERP', modules: ['POS'] });
    const device = await devicesHere.register('test', { merchantId, kind: 'register', name: 'Register' });
    const { secret } = await devicesHere.newSecret('test', device.id);
    const cutOff: string[] = [];
    devicesThere.onCutOff((deviceId) => cutOff.push(deviceId));
    expect(await accessThere.findCaller(key.key)).toBeDefined();
    expect(await devicesThere.checkSecret(device.id, secret)).toBeDefined();

    await accessHere.revokeKey('test', key.id);
    await devicesHere.disable('test', device.id);
    await expect.poll(() => accessThere.findCaller(key.key), { timeout: 1_000 }).toBeUndefined();
    await expect.poll(() => devicesThere.checkSecret(device.id, secret), { timeout: 1_000 }).toBeUndefined();
    expect(cutOff).toContain(device.id);
  });
});

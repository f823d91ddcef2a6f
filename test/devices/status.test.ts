// Device/Device/Status: the device's own report, or why there is none [D6, D11].
import { describe, expect, it, onTestFinished } from 'vitest';
import { askStatus } from '../../src/devices/status.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeLink, snapshot } from './fake-link.ts';

describe.each(engines)('status on %s', (engine) => {
  async function setUp() {
    const clock = createVirtualClock();
    const database = await openQuickDatabase(engine, clock);
    onTestFinished(() => database.close());
    const link = createFakeLink();
    const { id: merchantId } = await seedMerchant(database.queries);
    const device = await seedDevice(database.queries, merchantId);
    const ask = (deviceId = device.id, merchant = merchantId) => askStatus({ database, clock, link }, merchant, deviceId);
    const refused = (deviceId?: string, merchant?: string) =>
      ask(deviceId, merchant).then(
        (report) => expect.unreachable(report),
        (error: { errorName: string; message: string; report?: string }) => error,
      );
    return { clock, database, link, merchantId, device, ask, refused };
  }

  it('passes the report on unchanged, unknown fields included', async () => {
    const { link, device, ask } = await setUp();
    link.answers(device.id, { report: { online: true, battery: 80, paper: 'OK', bank: 'maib', signal: 70, mood: { x: [1] } } });
    expect(await ask(device.id.toUpperCase())).toBe('{"online":true,"battery":80,"paper":"OK","bank":"maib","signal":70,"mood":{"x":[1]}}');
    expect(link.asked).toMatchObject([{ deviceId: device.id, question: { name: 'Status', preferredChannel: 'mqtt', timeoutMs: 20_000 } }]);
  });

  it('masks what looks like a card number', async () => {
    const { link, device, ask } = await setUp();
    link.answers(device.id, { report: { online: true, lastCard: '4111 1111 1111 1111' } });
    expect(await ask()).not.toContain('1111 1111');
  });

  it('answers a device that is unknown, foreign, disabled or no UUID with the same 30', async () => {
    const { database, link, merchantId, refused } = await setUp();
    const other = await seedMerchant(database.queries);
    const foreign = await seedDevice(database.queries, other.id, { last_report: '{"battery":1}' });
    const disabled = await seedDevice(database.queries, merchantId, { disabled_at: 1, last_report: '{"battery":1}' });
    for (const { id } of [foreign, disabled]) link.answers(id, { report: { online: true } });
    const errors = await Promise.all([foreign.id, disabled.id, '3b241101-e2bb-4255-8caf-4136c566a962', 'till-1'].map((id) => refused(id)));
    for (const error of errors) {
      expect(error).toMatchObject({ errorName: 'Device_Offline', report: undefined });
      expect(error.message).toBe(errors[0]?.message);
      expect(error.message).toMatch(/no device.*this key/i);
      expect(error.message).not.toMatch(/offline|later/);
    }
    expect(link.asked).toEqual([]);
  });

  it('returns the last known report of a device that is offline, marked as such', async () => {
    const { clock, database, link, device, refused } = await setUp();
    const never = await refused();
    expect(never).toMatchObject({
      errorName: 'Device_Offline',
      report: '{"online":false}',
      message: 'The device is offline; nothing was sent.',
    });
    await database.queries
      .updateTable('devices')
      .set({ last_report: '{"online":true,"battery":44,"paper":"OK"}', last_seen_at: clock.now() })
      .execute();
    expect(JSON.parse((await refused()).report ?? '')).toEqual({
      online: false,
      battery: 44,
      paper: 'OK',
      lastSeen: new Date(clock.now()).toISOString(),
    });
    // What this instance heard itself is newer than what was written.
    link.snapshots.set(device.id, snapshot({ lastSeenAtMs: clock.now(), report: { online: true, battery: 43, bootId: 'b', clock: 'c' } }));
    expect(JSON.parse((await refused()).report ?? '')).toMatchObject({ online: false, battery: 43 });
    expect((await refused()).report).not.toContain('bootId');
  });

  it('answers 3 for a live device that does not answer, 50 for one that refuses', async () => {
    const { link, device, refused } = await setUp();
    link.answers(device.id, undefined);
    expect(await refused()).toMatchObject({ errorName: 'Timeout_or_no_response', report: undefined });
    link.answers(device.id, { outcome: 'unsupported' });
    expect(await refused()).toMatchObject({ errorName: 'Refused_By_Device' });
    link.answers(device.id, { outcome: 'unknown' });
    expect(await refused()).toMatchObject({ errorName: 'Timeout_or_no_response' });
  });
});

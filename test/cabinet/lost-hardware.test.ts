// "Hardware lost" says what it releases, before and after, and since when no hardware is connected [D279].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engines } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

describe.each(engines)('hardware of a device that is not connected, on %s', (engine) => {
  let cabinet: RunningCabinet;
  let deviceId: string;
  const seenAtMs = Date.UTC(2026, 0, 20, 12);
  beforeEach(async () => {
    cabinet = await openCabinet(engine);
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    ({ id: deviceId } = await seedDevice(queries, merchantId, { last_seen_at: seenAtMs }));
    for (const journal_id of ['journal one', null]) {
      await seedCommand(queries, merchantId, deviceId, { state: 'refused', settled_at: 1, settled_by: 'person', journal_id });
    }
  });
  afterEach(() => cabinet.close());

  it('is listed with the decisions that a declaration releases, and the answer says that all of it is lost', async () => {
    const listed = async () => {
      const { devices } = (await cabinet.get('/devices')) as unknown as { devices: { id: string; releasedIfLost?: number }[] };
      return devices.find(({ id }) => id === deviceId);
    };
    expect(await listed()).toMatchObject({ liveOn: [], releasedIfLost: 2, lastSeenAt: '2026-01-20T12:00:00.000Z' });
    expect(await listed()).not.toHaveProperty('waitingForOther');
    const answer = await cabinet.post(`/devices/${deviceId}/hardware-lost`, { reason: 'It fell into the sea.' });
    expect(answer).toMatchObject({ errorCode: 0, released: 2, isConnected: false, lastSeenAt: '2026-01-20T12:00:00.000Z' });
    expect(await listed()).not.toHaveProperty('releasedIfLost');
  });
});

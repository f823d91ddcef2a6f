// A device that takes a command and then says nothing for as long as the gateway asks, in real time: it takes 40 seconds.
// test/link/carrying/recall.test.ts has the same in virtual time.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ForeignDevice } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

const closeDay = (device: ForeignDevice) => shop.till.post('/Device/payment/closeDay', { DeviceID: device.deviceId });

it('silent to Recall for 30 s is 3, long before the minute is over', { timeout: 60_000 }, async () => {
  const startedAtMs = performance.now();
  const device = await shop.live('terminal', 'mqtt');
  const answer = closeDay(device);
  const command = await device.next('CloseDay');
  expect(await answer).toMatchObject({ errorCode: 3 });
  const tookMs = performance.now() - startedAtMs;
  expect(tookMs).toBeGreaterThan(39_500);
  expect(tookMs).toBeLessThan(45_000);
  expect(device.count('Recall')).toBeGreaterThan(4);
  expect((await shop.story(command.message['id']))['command']).toMatchObject({ state: 'unknown' });
  // The same call again is a repeat, not a second close [D58].
  expect(await closeDay(device)).toMatchObject({ errorCode: 3, OID: command.message['id'], Repeated: true });
  expect(device.count('CloseDay')).toBe(1);
});

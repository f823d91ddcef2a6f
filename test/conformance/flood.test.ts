// One device that never stops talking, against a whole gateway: the others wait for nothing, and its own payment still ends.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, reportOf } from '../support/till.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

const Receipt = { Number: 'A-7', Items: [{ Name: 'Bread', Quantity: 2, Price: 12.5, VatLetter: 'B' }] };
const report = { rrn: '1', authCode: '2', operationId: 'f100d', amount: 1 };
const overBudget = () => shop.metric(/^tillgate_link_dropped_messages_total\{reason="over-budget"\} (\d+)/m);

// On a quiet machine it sometimes waits for ever since 0.2.3 (seen at bc11b575, too), and the reason is not known yet: so it is tried again.
describe('a flood of presence with ever new boots and journals', { timeout: 40_000, retry: 2 }, () => {
  it('on both wires delays no other device, and the device’s own payment ends', async () => {
    const calm = await shop.live('terminal', 'mqtt');
    const wild = await shop.live('terminal', 'both');
    let isOver = false;
    const noise = () => wild.presenceText({ bootId: randomUUID(), journalId: randomUUID() });
    // As fast as the wire takes it on the one; on the other, by which the payment will come, slower than it is read.
    for (let sent = 0; sent < 3_000; sent += 1) void wild.line('queue').presence(noise());
    const flood = (async () => {
      while (!isOver) {
        void wild.line('mqtt').presence(noise());
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await eventually('it is over its budget', overBudget, (count) => count > 1_000);

    const took: number[] = [];
    for (let count = 0; count < 30; count += 1) {
      const startedAt = performance.now();
      expect(await shop.till.post('/Invoice/Create', { Receipt })).toMatchObject({ errorCode: 0 });
      took.push(performance.now() - startedAt);
    }
    expect(Math.max(...took)).toBeLessThan(3_000);

    for (const device of [calm, wild]) {
      const answer = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 1, documentNr: randomUUID() });
      const command = await device.next('Pay');
      await device.say(command, 'accepted');
      await device.say(command, 'done', { report });
      const outcome = await answer;
      expect(outcome).toMatchObject({ errorCode: 0 });
      expect(reportOf(outcome)).toMatchObject({ rrn: '1' });
    }
    isOver = true;
    await flood;
  });
});

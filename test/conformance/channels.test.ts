// Which wire the gateway takes, when it takes a second one, when it asks by Recall, and when it says that a device is not there.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, reportOf } from '../support/till.ts';
import type { Fields, ForeignDevice, Habits } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

const closeDay = (device: ForeignDevice) => shop.till.post('/Device/payment/closeDay', { DeviceID: device.deviceId });
const report = { count: 3, amount: 12.5 };
const elsewhere = { mqtt: 'queue', queue: 'mqtt' } as const;

async function liveOn({ deviceId }: ForeignDevice): Promise<string[]> {
  const devices = (await shop.till.admin(`/devices?merchantId=${shop.merchantId}`))['devices'] as Fields[];
  return devices.find(({ id }) => id === deviceId)?.['liveOn'];
}
const becomesLiveOn = (device: ForeignDevice, wires: string[]) =>
  eventually(
    `live on ${wires.join(' and ') || 'nothing'}`,
    () => liveOn(device),
    (found) => JSON.stringify(found) === JSON.stringify(wires),
  );

/** A terminal on both wires with a command that it has heard and not answered. */
async function unanswered(habits: Habits = {}, on: 'mqtt' | 'queue' | 'both' = 'both') {
  const device = await shop.live('terminal', on, habits);
  const answer = closeDay(device);
  return { device, answer, command: await device.next('CloseDay') };
}

describe.concurrent('a device that is not there', () => {
  it('is 30 after a probe of two seconds; an unknown id is 30 at once, and a repeat does not help', async () => {
    const device = await shop.register('terminal');
    const startedAtMs = performance.now();
    const away = await closeDay(device);
    const tookMs = performance.now() - startedAtMs;
    expect(away).toMatchObject({ status: 200, errorCode: 30 });
    expect(tookMs).toBeGreaterThan(1_900);
    expect(tookMs).toBeLessThan(3_500);
    const unknown = await shop.till.post('/Device/payment/closeDay', { DeviceID: randomUUID() });
    expect(unknown).toMatchObject({ status: 200, errorCode: 30, errorMessage: expect.stringContaining('no device with this DeviceID') });
  });

  it('but connected and silent is asked for Status on both wires, and nothing else is sent', async () => {
    const device = await shop.register('terminal', { isMute: true });
    await device.onMqtt(null);
    await device.onQueue(null);
    expect(await closeDay(device)).toMatchObject({ errorCode: 30 });
    expect(device.heard.map(({ wire, message }) => `${message['name']} on ${wire}`).sort()).toEqual(['Status on mqtt', 'Status on queue']);
  });

  it.each(['mqtt', 'queue'] as const)('and answers the probe on %s gets the command there', async (wire) => {
    const device = await shop.register('terminal');
    if (wire === 'mqtt') await device.onMqtt(null);
    else await device.onQueue(null);
    const answer = closeDay(device);
    const command = await device.next('CloseDay', wire);
    await device.say(command, 'accepted');
    await device.say(command, 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
  });

  it('answers Status and LastTransaction with 30 and what was last known', async () => {
    const { device, answer, command } = await unanswered({}, 'mqtt');
    await device.say(command, 'done', { report });
    await answer;
    await device.leave();
    await becomesLiveOn(device, []);
    const status = await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
    expect(status.errorCode).toBe(30);
    expect(reportOf(status)).toMatchObject({ online: false, battery: 80, paper: 'OK' });
    const last = await shop.till.get('/Device/payment/LastTransaction', { DeviceID: device.deviceId });
    expect(last.errorCode).toBe(30);
    expect(reportOf(last)).toMatchObject({
      source: 'ledger',
      lastCommand: { ...report, commandId: command.message['id'], state: 'approved' },
    });
  });
});

describe.concurrent('who is live where', () => {
  it('ends with a will, a goodbye and a closed socket, and the next command takes the other wire at once', async () => {
    const device = await shop.live('terminal', 'both');
    device.line('mqtt').die();
    await becomesLiveOn(device, ['queue']);
    const answer = closeDay(device);
    await device.say(await device.next('CloseDay', 'queue'), 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
    await device.onMqtt();
    await becomesLiveOn(device, ['mqtt', 'queue']);
    await device.line('mqtt').presence(JSON.stringify({ v: 1, device: device.deviceId, online: false }));
    await becomesLiveOn(device, ['queue']);
    device.line('queue').die();
    await becomesLiveOn(device, []);
  });

  it('does not follow from a retained message or from another device’s presence', async () => {
    const device = await shop.live('terminal', 'mqtt');
    await device.line('mqtt').presence(JSON.stringify({ v: 1, device: randomUUID(), online: true, clock: device.clock() }));
    expect(await liveOn(device)).toEqual(['mqtt']);
    await device.leave();
    await becomesLiveOn(device, []);
  });
});

describe.concurrent('no accepted', { timeout: 60_000 }, () => {
  it.each(['terminal', 'register'] as const)('for 3 s: the same id goes out on the other wire too (%s)', async (kind) => {
    const device = await shop.live(kind, 'both');
    const first = kind === 'terminal' ? 'mqtt' : 'queue';
    const name = kind === 'terminal' ? 'CloseDay' : 'Report';
    const answer =
      kind === 'terminal' ? closeDay(device) : shop.till.post('/Device/Report/Create', { DeviceID: device.deviceId, Fiscal: true });
    const one = await device.next(name, first);
    const two = await device.next(name, elsewhere[first]);
    expect(two.message['id']).toBe(one.message['id']);
    expect(two.message['args']).toEqual(one.message['args']);
    expect(two.atMs - one.atMs).toBeGreaterThan(2_700);
    expect(two.atMs - one.atMs).toBeLessThan(4_000);
    // The last moment to begin does not move.
    expect(Math.abs(Date.parse(two.message['startBy']) - Date.parse(one.message['startBy']))).toBeLessThan(500);
    await device.say(one, 'accepted', {}, elsewhere[first]);
    await device.say(two, 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
    expect(device.count(name)).toBe(2);
  });

  it('from a device without a journal: there is no second copy and no Recall, and late words still count', async () => {
    const { device, answer, command } = await unanswered({ journalId: null });
    await new Promise((resolve) => setTimeout(resolve, 11_500));
    expect(device.count('CloseDay')).toBe(1);
    expect(device.count('Recall')).toBe(0);
    await device.say(command, 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
  });

  it('by startBy: Recall; while it runs the call waits, and the answer comes through', async () => {
    const { device, answer, command } = await unanswered({}, 'mqtt');
    const recall = await device.next('Recall');
    expect(recall.message['args']).toEqual({ target: command.message['id'] });
    expect(recall.message['replyTo']).toBe(command.message['replyTo']);
    expect(recall.atMs - command.atMs).toBeGreaterThan(9_500);
    expect(recall.atMs - command.atMs).toBeLessThan(12_000);
    await device.say(recall, 'done', { report: { state: 'running' } });
    await device.say(command, 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
  });

  it('and never by Recall: 30 within the call, and the terminal is free', async () => {
    const { device, answer } = await unanswered({}, 'queue');
    await device.say(await device.next('Recall'), 'done', { report: { state: 'never' } });
    expect(await answer).toMatchObject({ errorCode: 30 });
    const next = closeDay(device);
    await device.say(await device.next('CloseDay'), 'done', { report });
    expect(await next).toMatchObject({ errorCode: 0 });
  });
});

describe.concurrent('a break in between', () => {
  it.each(['mqtt', 'queue'] as const)('the device reconnects on %s: Recall at once, and its journal ends the call', async (wire) => {
    const { device, answer, command } = await unanswered({}, wire);
    await device.say(command, 'accepted');
    device.line(wire).die();
    await becomesLiveOn(device, []);
    const backAtMs = Date.now();
    if (wire === 'mqtt') await device.onMqtt();
    else await device.onQueue();
    const recall = await device.next('Recall');
    expect(recall.atMs - backAtMs).toBeLessThan(2_000);
    await device.say(recall, 'done', { report: { state: 'final', outcome: 'done', report } });
    expect(reportOf(await answer)).toEqual(report);
  });

  it('the device boots anew, with the connection seemingly kept: Recall at once', async () => {
    const { device, answer, command } = await unanswered({}, 'mqtt');
    await device.say(command, 'accepted');
    device.reboot();
    await device.line('mqtt').presence(device.presenceText());
    await device.say(await device.next('Recall'), 'done', { report: { state: 'final', outcome: 'refused', reason: 'The power went.' } });
    expect(await answer).toMatchObject({ errorCode: 50 });
  });

  it('and lost its journal: never is not accepted', async () => {
    const { device, answer, command } = await unanswered({}, 'mqtt');
    device.line('mqtt').die();
    device.reboot(randomUUID());
    await device.onMqtt();
    await device.say(await device.next('Recall'), 'done', { report: { state: 'never' } });
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect((await shop.review()).find(({ id }) => id === command.message['id'])?.['reviewReason']).toContain('journal');
  });

  it('the first wire is lost before accepted: the same id is sent on the other at once', async () => {
    const { device, answer, command } = await unanswered();
    device.line('mqtt').die();
    const copy = await device.next('CloseDay', 'queue');
    expect(copy.message['id']).toBe(command.message['id']);
    expect(copy.atMs - command.atMs).toBeLessThan(2_000);
    await device.say(copy, 'accepted');
    await device.say(copy, 'done', { report });
    expect(await answer).toMatchObject({ errorCode: 0 });
  });

  it('the caller disconnects: the command goes on, and a repeat gets its answer', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const documentNr = randomUUID();
    const body = { APIKey: shop.apiKey, DeviceID: device.deviceId, amount: 3, documentNr };
    const hangUp = new AbortController();
    const first = fetch(`${shop.till.baseUrl}/Device/payment/Pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: hangUp.signal,
    });
    const command = await device.next('Pay');
    await device.say(command, 'accepted');
    hangUp.abort();
    await expect(first).rejects.toThrow();
    await device.say(command, 'done', { report: { rrn: '1', authCode: '2', operationId: 'op', amount: 3 } });
    expect(await shop.till.post('/Device/payment/Pay', body)).toMatchObject({ errorCode: 0 });
    expect(device.count('Pay')).toBe(1);
    expect(device.count('Abort')).toBe(0);
  });
});

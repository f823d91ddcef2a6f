// What a device by somebody else sees on the wire: addresses, QoS, fields, times in its own clock, and the args of each command of each endpoint.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportOf } from '../support/till.ts';
import type { Fields, ForeignDevice, Heard } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

/** How long before startBy and answerBy, by the device's own clock when the command was issued: how long it took to come is the machine's. */
function limitsOf({ message }: Heard, skewMs = 0): { startInS?: number; answerInS: number } {
  const inS = (text: string) => Math.round((Date.parse(text) - (Date.parse(message['issuedAt']) + skewMs)) / 1000);
  return { ...(message['startBy'] === undefined ? {} : { startInS: inS(message['startBy']) }), answerInS: inS(message['answerBy']) };
}

async function endWell(device: ForeignDevice, command: Heard, report: Fields = {}): Promise<void> {
  await device.say(command, 'accepted');
  await device.say(command, 'done', { report });
}

const approval = { rrn: '407312908813', authCode: '283749', operationId: 'op-1', amount: 150.5 };

describe('pairing', () => {
  it('gives id, secret, addresses and names, and again until the device has come [D181]', async () => {
    const { id, pairingCode } = await shop.till.admin('/devices', {
      merchantId: shop.merchantId,
      kind: 'terminal',
      name: 'Till 7',
      bank: 'maib',
    });
    const exchange = async () => {
      const body = JSON.stringify({ code: String(pairingCode).toLowerCase().replace('-', ' ') });
      const answer = await fetch(`${shop.till.baseUrl}/pairing`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return (await answer.json()) as Fields;
    };
    const paired = await exchange();
    expect(paired).toMatchObject({
      errorCode: 0,
      deviceId: id,
      kind: 'terminal',
      name: 'Till 7',
      bank: 'maib',
      mqtt: {
        url: expect.stringMatching(/^mqtt:\/\/.+:\d+/),
        clientId: id,
        username: id,
        topics: {
          commands: `tillgate/devices/${String(id)}/commands`,
          answers: `tillgate/devices/${String(id)}/answers/{replyTo}`,
          presence: `tillgate/devices/${String(id)}/presence`,
        },
      },
      queue: { url: expect.stringMatching(/^ws:\/\/.+\/tillgate\/queue$/), kind: 'websocket', username: id },
    });
    expect(paired['secret'].length).toBeGreaterThan(30);
    expect(await exchange()).toMatchObject({ errorCode: 0, deviceId: id });
  });
});

describe('the shape of a command', () => {
  it.each([
    ['two hours ahead', 2 * 3_600_000],
    ['a day behind', -24 * 3_600_000],
  ])('over MQTT, to a device whose clock is %s', async (_case, skewMs) => {
    const device = await shop.live('terminal', 'both', { skewMs });
    const documentNr = randomUUID();
    const paying = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 150.5, documentNr });
    const command = await device.next('Pay');
    expect(command).toMatchObject({ wire: 'mqtt', topic: `tillgate/devices/${device.deviceId}/commands`, qos: 0, isRetained: false });
    expect(Object.keys(command.message).sort()).toEqual(['answerBy', 'args', 'id', 'issuedAt', 'name', 'replyTo', 'startBy', 'v']);
    expect(command.message).toMatchObject({
      v: 1,
      id: expect.stringMatching(uuid),
      name: 'Pay',
      replyTo: expect.stringMatching(/^[A-Za-z0-9_-]{1,64}$/),
      issuedAt: expect.stringMatching(isoTime),
      startBy: expect.stringMatching(isoTime),
      answerBy: expect.stringMatching(isoTime),
    });
    // In the gateway's clock the one, in the device's the others.
    expect(Math.abs(Date.parse(command.message['issuedAt']) - command.atMs)).toBeLessThan(5_000);
    expect(limitsOf(command, skewMs)).toEqual({ startInS: 10, answerInS: 300 });
    await endWell(device, command, approval);
    expect(await paying).toMatchObject({ status: 200, errorCode: 0, errorMessage: '' });
    expect(device.count('Pay')).toBe(1);
    await device.leave();
  });

  it('over the built-in queue: one frame with one command', async () => {
    const device = await shop.live('register', 'both');
    const paying = shop.till.post('/Device/Money/In', { DeviceID: device.deviceId, Amount: '500.00' });
    const command = await device.next('MoneyIn');
    expect(command.wire).toBe('queue');
    expect(Object.keys(JSON.parse(command.text))).toEqual(['command']);
    expect(limitsOf(command)).toEqual({ startInS: 10, answerInS: 20 });
    await endWell(device, command, { documentNumber: 12, cashInDrawer: 500 });
    expect(reportOf(await paying)).toEqual({ documentNumber: 12, cashInDrawer: 500 });
    await device.leave();
  });

  it('Status, Recall and Abort have no startBy; LastTransaction has', async () => {
    const device = await shop.live('terminal', 'mqtt', { isMute: true });
    const status = shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
    const asked = await device.next('Status');
    expect(limitsOf(asked)).toEqual({ answerInS: 20 });
    await device.say(asked, 'done', { report: { online: true, battery: 5, paper: 'LOW', signal: 1, bank: 'x', more: [1] } });
    expect(reportOf(await status)).toEqual({ online: true, battery: 5, paper: 'LOW', signal: 1, bank: 'x', more: [1] });

    const last = shop.till.get('/Device/payment/LastTransaction', { DeviceID: device.deviceId });
    const lastAsked = await device.next('LastTransaction');
    expect(limitsOf(lastAsked)).toEqual({ startInS: 10, answerInS: 30 });
    expect(lastAsked.message['args']).toEqual({});
    await device.say(lastAsked, 'done', { report: { state: 'none' } });
    // No payment, refund or void was made on it [D148].
    const none = await last;
    expect([none['errorCode'], reportOf(none)]).toEqual([20, { lastCommand: { state: 'none' } }]);

    const documentNr = randomUUID();
    const paying = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 1, documentNr });
    const pay = await device.next('Pay');
    await device.say(pay, 'accepted');
    const cancelling = shop.till.post('/Device/payment/CancelTransaction', {
      DeviceID: device.deviceId,
      documentNr,
      operationId: 'none-yet',
      token: '',
      amount: 1,
    });
    const abort = await device.next('Abort');
    expect(abort.message['args']).toEqual({ target: pay.message['id'] });
    expect(limitsOf(abort).startInS).toBeUndefined();
    await device.say(abort, 'done');
    await device.say(pay, 'refused', { reason: 'Stopped at the till.' });
    expect(await cancelling).toMatchObject({ errorCode: 0 });
    expect(await paying).toMatchObject({ errorCode: 50 });

    const second = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 2 });
    const silent = await device.next('Pay');
    device.line('mqtt').die();
    await device.onMqtt();
    const recall = await device.next('Recall');
    expect(recall.message['args']).toEqual({ target: silent.message['id'] });
    expect(limitsOf(recall).startInS).toBeUndefined();
    await device.say(recall, 'done', { report: { state: 'never' } });
    expect(await second).toMatchObject({ errorCode: 30 });
    await device.leave();
  });
});

describe('the args of each command, endpoint by endpoint', () => {
  it('POS Mode, over MQTT first', async () => {
    const device = await shop.live('terminal', 'both');
    const at = { DeviceID: device.deviceId };
    const documentNr = randomUUID();
    const steps: [string, Fields, string, Fields, number, Fields][] = [
      ['Pay', { amount: '150.50', documentNr }, 'Pay', { amount: 150.5, currency: 'MDL', documentNr }, 300, approval],
      ['CloseDoc', { documentNr, operationId: 'op-1' }, 'CloseDoc', { documentNr, operationId: 'op-1' }, 60, {}],
      [
        'Refund',
        { documentNr, operationId: 'op-1', rrn: approval.rrn, amount: 0.5 },
        'Refund',
        { documentNr, operationId: 'op-1', rrn: approval.rrn, amount: 0.5, currency: 'MDL' },
        60,
        { rrn: '9', operationId: 'r', amount: 0.5 },
      ],
      ['closeDay', {}, 'CloseDay', {}, 60, { count: 1, amount: 150 }],
      ['Pay', { amount: 10 }, 'Pay', { amount: 10, currency: 'MDL' }, 300, { ...approval, operationId: 'op-2', amount: 10 }],
      [
        'CancelTransaction',
        { documentNr: 'any', operationId: 'op-2', token: 'tok', amount: 10 },
        'CancelTransaction',
        { documentNr: 'any', operationId: 'op-2', token: 'tok', amount: 10 },
        60,
        { operationId: 'op-2', amount: 10 },
      ],
    ];
    for (const [path, body, name, args, answerInS, report] of steps) {
      const calling = shop.till.post(`/Device/payment/${path}`, { ...at, ...body });
      const command = await device.next(name);
      expect(command.message['args'], path).toEqual(args);
      expect(command.wire).toBe('mqtt');
      expect(limitsOf(command)).toEqual({ startInS: 10, answerInS });
      await endWell(device, command, report);
      expect(await calling, path).toMatchObject({ errorCode: 0 });
    }
    expect(device.heard.filter(({ wire }) => wire === 'queue')).toEqual([]);
    await device.leave();
  });

  it('Fiscal Mode, over the queue first', async () => {
    const device = await shop.live('register', 'both');
    const at = { DeviceID: device.deviceId };
    const items = [{ Name: 'Coffee', Quantity: 2, Price: 35.25, Vat: 'A' }];
    const cash = {
      Number: 'A-1',
      Uid: randomUUID(),
      Items: items,
      Payments: [{ PaymentCode: 0, Amount: 70.5 }],
      Extra: { deep: [1, 'x'] },
    };
    const card = { Items: items, Payments: [{ PaymentCode: '1000' }] };
    const steps: [string, Fields, string, Fields, number][] = [
      ['Money/In', { Amount: 500, Reason: 'Change' }, 'MoneyIn', { amount: 500, reason: 'Change' }, 20],
      ['Money/Out', { Amount: '0.01' }, 'MoneyOut', { amount: 0.01 }, 20],
      ['Report/Create', { Fiscal: false }, 'Report', { fiscal: false }, 20],
      ['Report/Create', { Fiscal: true }, 'Report', { fiscal: true }, 20],
      ['Invoice/Pay', { Receipt: cash }, 'PrintReceipt', { receipt: cash }, 60],
      ['Invoice/Pay', { Receipt: card }, 'PrintReceipt', { receipt: card }, 300],
    ];
    for (const [path, body, name, args, answerInS] of steps) {
      const calling = shop.till.post(`/Device/${path}`, { ...at, ...body });
      const command = await device.next(name);
      expect(command.message['args'], path).toEqual(args);
      expect(command.wire).toBe('queue');
      expect(limitsOf(command)).toEqual({ startInS: 10, answerInS });
      await endWell(device, command, { number: 1 });
      expect(await calling, path).toMatchObject({ errorCode: 0, report: '{"number":1}' });
    }
    expect(device.heard.filter(({ wire }) => wire === 'mqtt')).toEqual([]);
    await device.leave();
  });

  it('each mode takes the other channel when the device is only there', async () => {
    const terminal = await shop.live('terminal', 'queue');
    const closing = shop.till.post('/Device/payment/closeDay', { DeviceID: terminal.deviceId });
    await endWell(terminal, await terminal.next('CloseDay', 'queue'), { count: 0, amount: 0 });
    expect(await closing).toMatchObject({ errorCode: 0 });
    const register = await shop.live('register', 'mqtt');
    const reporting = shop.till.post('/Device/Report/Create', { DeviceID: register.deviceId, Fiscal: false });
    await endWell(register, await register.next('Report', 'mqtt'), { number: 1 });
    expect(await reporting).toMatchObject({ errorCode: 0 });
    await Promise.all([terminal.leave(), register.leave()]);
  });
});

import { describe, expect, it } from 'vitest';
import type { VirtualDeviceDeps } from '../../src/virtual/devices/virtual-device.ts';
import { scanInvoice } from '../../src/virtual/scan.ts';
import { benchOfOne, deviceId } from './bench-of-one.ts';

const oid = '33333333-3333-4333-8333-333333333333';
const receipt = { Number: '5', Items: [{ Name: 'Tea', Quantity: 2, Price: 10 }] };

type Reply = object | 'down';

/** A gateway that gives prepared answers and keeps what it was asked. */
function gatewayWith(replies: { get?: Reply; payd?: Reply[] } = {}) {
  const asked: URL[] = [];
  const logins: (string | null)[] = [];
  const payds = [...(replies.payd ?? [{ errorCode: 0, errorMessage: '' }])];
  const answer: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    asked.push(url);
    logins.push(new Headers(init?.headers).get('authorization'));
    const get = replies.get ?? { errorCode: 0, errorMessage: '', OID: oid, Receipt: receipt };
    const reply = url.pathname.endsWith('/Get') ? get : (payds.shift() ?? 'down');
    if (reply === 'down') throw new Error('connection refused');
    return Response.json(reply);
  };
  return { fetch: answer, asked, logins };
}

async function bench(overrides: Partial<VirtualDeviceDeps> = {}) {
  const one = await benchOfOne(overrides);
  async function scan(gateway: ReturnType<typeof gatewayWith>) {
    const scanning = scanInvoice({
      baseUrl: 'http://gateway/tillgate',
      qr: 'QR1',
      device: one.device,
      deviceSecret: 'hush',
      clock: one.clock,
      fetch: gateway.fetch,
    });
    let isOver = false;
    void scanning.finally(() => {
      isOver = true;
    });
    await one.clock.runUntil(() => isOver);
    return await scanning;
  }
  return { ...one, scan };
}

describe('scanning an invoice', () => {
  it('on a register: get, bank, print, Payd with the receipt id', async () => {
    const { scan, device } = await bench({ kind: 'register' });
    const gateway = gatewayWith();
    const result = await scan(gateway);
    expect(result).toMatchObject({ isPaid: true, isMoneyTaken: true, oid });
    expect(result.steps.map(({ step, isOk }) => [step, isOk])).toEqual([
      ['get', true],
      ['money', true],
      ['payd', true],
    ]);
    const [printed] = device.fiscalMemory().documents();
    expect(printed).toMatchObject({ type: 'receipt', receiptId: result.receiptId, totalBani: 2000, byPayment: { card: 2000 } });
    expect(device.bank.netBani()).toBe(2000);
    expect(gateway.asked.map((url) => `${url.pathname}${url.search}`)).toEqual([
      '/tillgate/Invoice/Get?QR=QR1',
      `/tillgate/Invoice/Payd?QR=QR1&ReceiptID=${result.receiptId}&DeviceID=${deviceId}`,
    ]);
    expect(new Set(gateway.logins)).toEqual(new Set([`Basic ${Buffer.from(`${deviceId}:hush`).toString('base64')}`]));
  });

  it('on a terminal: the bank reference stands for the receipt, and the document is closed', async () => {
    const { scan, device } = await bench();
    const result = await scan(gatewayWith());
    expect(result.isPaid).toBe(true);
    expect(device.bank.entries().map(({ kind }) => kind)).toEqual(['charge', 'document-closed']);
    expect(result.receiptId).toBe(device.bank.entries()[0]?.rrn);
  });

  it('takes no money when the invoice is not to be had', async () => {
    const { scan, device } = await bench();
    const result = await scan(gatewayWith({ get: { errorCode: 22, errorMessage: 'The_status_cannot_be_applied: paid.' } }));
    expect(result).toMatchObject({ isPaid: false, isMoneyTaken: false });
    expect(device.bank.entries()).toEqual([]);
  });

  it('sends no Payd when the bank declines, and tries anew at the next scan', async () => {
    const { scan, device } = await bench({ kind: 'register' });
    const costly = { errorCode: 0, errorMessage: '', OID: oid, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10.81 }] } };
    const gateway = gatewayWith({ get: costly });
    expect(await scan(gateway)).toMatchObject({ isPaid: false, isMoneyTaken: false });
    expect(gateway.asked).toHaveLength(1);
    await scan(gatewayWith({ get: costly }));
    expect(device.bank.entries().filter(({ kind }) => kind === 'decline')).toHaveLength(2);
  });

  it('repeats Payd until the gateway answers', async () => {
    const { scan } = await bench();
    const gateway = gatewayWith({ payd: ['down', { errorCode: 2, errorMessage: 'x' }, { errorCode: 0, errorMessage: '' }] });
    expect((await scan(gateway)).isPaid).toBe(true);
    expect(gateway.asked).toHaveLength(4);
  });

  it('does not take the money again when an earlier scan took it and could not say so', async () => {
    const { scan, device } = await bench({ kind: 'register' });
    expect(await scan(gatewayWith({ payd: [] }))).toMatchObject({ isPaid: false, isMoneyTaken: true });
    const again = await scan(gatewayWith());
    expect(again.isPaid).toBe(true);
    expect(device.bank.netBani()).toBe(2000);
    expect(device.fiscalMemory().documents()).toHaveLength(1);
  });

  it('goes on through a power cut', async () => {
    const { scan, device } = await bench({ kind: 'register' });
    const invoice = { errorCode: 0, errorMessage: '', OID: oid, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10.89 }] } };
    expect((await scan(gatewayWith({ get: invoice }))).isPaid).toBe(true);
    expect(device.fiscalMemory().documents()).toHaveLength(1);
    expect(device.bank.netBani()).toBe(1089);
  });
});

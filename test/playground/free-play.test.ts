// Playing by hand through the API, on the real wire: what a person does, what is armed, what is cut, and what the books say to it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PlaygroundView } from '../../src/cabinet/playground/view-schema.ts';
import { openSandboxRoom, type SandboxRoom } from './sandbox-room.ts';

const slow = { timeout: 60_000 };
let room: SandboxRoom;
beforeAll(async () => {
  room = await openSandboxRoom();
}, 60_000);
afterAll(() => room?.close());
beforeEach(() => room.post('/books/empty'));
afterEach(async () => {
  // Whatever a test left: everything by itself, up and whole.
  await room.post('/erp', { isDown: false });
  for (const id of [room.terminal, room.register]) {
    await room.post(`/devices/${id}/mode`, { byHand: false });
    await room.post(`/devices/${id}/faults`, { loseAnswer: false, answerTwice: false, paperOut: false, powerCut: null });
    for (const via of ['mqtt', 'queue']) await room.post(`/devices/${id}/channels`, { via, isCut: false });
    await room.post(`/devices/${id}/power`, { isOn: true });
  }
  await room.sees(({ devices, books }) => books.underWay === 0 && devices.every(isUp));
});

type DeviceView = PlaygroundView['devices'][number];
const isUp = ({ isOn, channels }: DeviceView) => isOn && channels.every(({ isConnected }) => isConnected);
const deviceIn = (view: PlaygroundView, id: string) => view.devices.find((device) => device.id === id);

const sell = async (more: object = {}) => {
  const answer = await room.post('/till/sale', { deviceId: room.terminal, registerId: room.register, ...more });
  expect(answer).toMatchObject({ errorCode: 0 });
  return String(answer['saleId']);
};
const ended = (id: string) =>
  room.sees(
    (view) =>
      view.till.lastSale?.id === id &&
      view.books.underWay === 0 &&
      ['done', 'refused', 'noReceipt'].includes(view.till.lastSale.state) &&
      view,
  );
const act = (action: string, id = room.terminal) => room.post(`/devices/${id}/act`, { action });
const waitsFor = (what: 'card' | 'pin') => room.sees((view) => deviceIn(view, room.terminal)?.waitsFor === what);

function expectBooks(view: PlaygroundView, sum: number): void {
  const { bank, ledger, fiscal, erp, agree, differences } = view.books;
  expect({ sums: [bank.sum, ledger.sum, fiscal.sum, erp.sum], agree, differences }).toEqual({
    sums: [sum, sum, sum, sum],
    agree: true,
    differences: [],
  });
}

describe('by hand', () => {
  beforeEach(() => room.post(`/devices/${room.terminal}/mode`, { byHand: true }));

  it('a card and a PIN pay; what cannot be done now is said', slow, async () => {
    expect(await act('pin')).toMatchObject({ errorCode: 22, errorMessage: expect.stringContaining('waits for no person') });
    const id = await sell({ amount: 40.1 });
    const { screen } = await room.sees((view) => deviceIn(view, room.terminal)?.waitsFor === 'card' && deviceIn(view, room.terminal));
    expect(screen).toMatchObject({ state: 'presentCard', amount: 40.1 });
    expect(await act('pin')).toMatchObject({ errorCode: 22, errorMessage: expect.stringContaining('waits for the card') });
    await act('presentCard');
    expect(deviceIn(await room.read(), room.terminal)).toMatchObject({ waitsFor: 'pin', screen: { state: 'enterPin' } });
    await act('pin');
    const view = await ended(id);
    expect(view.till.lastSale).toMatchObject({ state: 'done', paid: 40.1, receiptId: expect.any(String), commandId: expect.any(String) });
    expect(deviceIn(view, room.terminal)).toMatchObject({ screen: { state: 'approved', amount: 40.1, authCode: expect.any(String) } });
    expect(deviceIn(view, room.register)?.paper).toMatchObject({ kind: 'receipt', number: expect.any(String) });
    expectBooks(view, 40.1);
  });

  it.each([
    ['wrongPin', 'declined'],
    ['decline', 'declined'],
    ['cancel', 'refused'],
  ])('%s takes no money, and nothing is printed', slow, async (action, state) => {
    const id = await sell();
    await waitsFor('card');
    await act('presentCard');
    await act(action);
    const view = await ended(id);
    expect(view.till.lastSale).toMatchObject({ state: 'refused', errorCode: 50, paid: 0 });
    expect(deviceIn(view, room.terminal)?.screen.state).toBe(state);
    expectBooks(view, 0);
  });

  it('the same call once more after a no is a new try, and the sale goes on from there', slow, async () => {
    const id = await sell();
    await waitsFor('card');
    await act('cancel');
    await ended(id);
    expect(await room.post('/till/again')).toMatchObject({ errorCode: 0 });
    await waitsFor('card');
    await act('presentCard');
    await act('pin');
    const view = await room.sees((now) => now.till.lastSale?.state === 'done' && now.books.underWay === 0 && now);
    expect(view.calls.map(({ label }) => label).slice(0, 4)).toEqual(['print', 'close', 'again', 'pay']);
    expectBooks(view, view.till.lastSale?.total ?? 0);
  });
});

describe('armed', () => {
  it('an answer that comes twice counts once, and is seen on the wire', slow, async () => {
    await room.post(`/devices/${room.terminal}/faults`, { answerTwice: true });
    expect(deviceIn(await room.read(), room.terminal)?.faults).toEqual({ loseAnswer: false, answerTwice: true, paperOut: false });
    const view = await ended(await sell({ amount: 10 }));
    expect(view.wire.filter(({ fate }) => fate === 'doubled')).toMatchObject([{ what: 'done', via: 'mqtt', direction: 'toGateway' }]);
    expect(deviceIn(view, room.terminal)?.faults.answerTwice).toBe(false);
    expectBooks(view, 10);
  });

  it.each([
    ['beforeBank', 'refused', 0],
    ['afterBank', 'done', 10],
  ])('the power goes %s: %s', slow, async (powerCut, state, sum) => {
    await room.post(`/devices/${room.terminal}/faults`, { powerCut });
    const view = await ended(await sell({ amount: 10 }));
    expect(view.till.lastSale).toMatchObject({ state });
    expectBooks(view, sum);
  });

  it('without paper there is no receipt, and the books say so until there is a new roll and the call is made again', slow, async () => {
    await room.post(`/devices/${room.register}/faults`, { paperOut: true });
    const without = await ended(await sell({ amount: 10 }));
    expect(without.till.lastSale).toMatchObject({ state: 'noReceipt', paid: 10 });
    expect(deviceIn(without, room.register)?.screen.state).toBe('outOfPaper');
    expect(without.books).toMatchObject({ agree: false, differences: [{ key: 'playground.difference.noReceipt' }] });
    await act('newRoll', room.register);
    await room.post('/till/again');
    const view = await room.sees((now) => now.till.lastSale?.state === 'done' && now.books.underWay === 0 && now);
    expectBooks(view, 10);
  });
});

describe('cut off', () => {
  it.each(['mqtt', 'queue'] as const)('without %s the other channel carries', slow, async (via) => {
    for (const id of [room.terminal, room.register]) await room.post(`/devices/${id}/channels`, { via, isCut: true });
    const other = via === 'mqtt' ? 'queue' : 'mqtt';
    await room.sees((view) => deviceIn(view, room.terminal)?.channels.find((one) => one.via === via)?.isConnected === false);
    const before = (await room.read()).wire.at(-1)?.seq ?? 0;
    const view = await ended(await sell({ amount: 10 }));
    expect(new Set(view.wire.filter(({ seq }) => seq > before).map((message) => message.via))).toEqual(new Set([other]));
    expect(deviceIn(view, room.terminal)?.channels).toContainEqual({ via, isConnected: false, isCut: true });
    expectBooks(view, 10);
  });

  it('on no channel, and without power, nothing is sold', slow, async () => {
    for (const via of ['mqtt', 'queue']) await room.post(`/devices/${room.terminal}/channels`, { via, isCut: true });
    expect((await ended(await sell())).till.lastSale).toMatchObject({ state: 'refused', errorCode: 30 });
    for (const via of ['mqtt', 'queue']) await room.post(`/devices/${room.terminal}/channels`, { via, isCut: false });
    await room.post(`/devices/${room.terminal}/power`, { isOn: false });
    const off = await ended(await sell());
    expect([off.till.lastSale, deviceIn(off, room.terminal)]).toMatchObject([{ errorCode: 30 }, { isOn: false, screen: { state: 'off' } }]);
    await act('powerOn');
    await room.sees((view) => view.devices.every(isUp));
    expectBooks(await ended(await sell({ amount: 10 })), 10);
  });
});

describe('QR', () => {
  it('without one there is nothing to scan or to pay', async () => {
    for (const step of ['scan', 'pay'])
      expect(await room.post(`/till/invoice/${step}`, { deviceId: room.terminal })).toMatchObject({
        errorCode: 22,
        errorMessage: expect.stringContaining('create an invoice first'),
      });
  });

  it.each(['terminal', 'register'] as const)(
    'created, scanned and paid on a %s: the ERP is notified, verified, and one receipt is printed',
    slow,
    async (kind) => {
      expect(await room.post('/till/invoice', { amount: 25.5 })).toMatchObject({ errorCode: 0, saleId: expect.any(String) });
      const { qrImage } = await room.sees((view) => view.till.lastSale?.oid !== undefined && view.till.invoice);
      const picture = await fetch(new URL(qrImage, room.baseUrl));
      expect(picture.headers.get('content-type')).toContain('svg');
      await room.post('/till/invoice/scan', { deviceId: room[kind] });
      await room.sees((view) => view.till.invoice?.state === 'Scanned');
      await room.post('/till/invoice/pay', { deviceId: room[kind] });
      const view = await room.sees((now) => now.till.lastSale?.state === 'done' && now.books.underWay === 0 && now);
      expect(view.till.invoice).toMatchObject({ state: 'Payed', amount: 25.5 });
      const told = view.callbacks.filter(({ oid }) => oid === view.till.invoice?.oid);
      expect(told.map(({ state, isVerified, answered }) => [state, isVerified, answered])).toEqual([
        ['Payed', true, 200],
        ['Scanned', true, 200],
      ]);
      expect([view.books.fiscal.count, view.books.bank.count]).toEqual([1, 1]);
      expectBooks(view, 25.5);
    },
  );

  it('while the ERP is down the books differ, and say that it was not notified', slow, async () => {
    await room.post('/till/invoice', { amount: 25 });
    await room.sees((view) => view.till.lastSale?.oid);
    await room.post('/erp', { isDown: true });
    await room.post('/till/invoice/pay', { deviceId: room.terminal });
    const view = await room.sees(
      (now) => now.callbacks.some(({ answered, state }) => answered === 503 && state === 'Scanned') && now.books.ledger.sum === 25 && now,
    );
    expect(view.books).toMatchObject({
      agree: false,
      differences: [{ key: 'playground.difference.notNotified', params: { erp: 0, ledger: 25 } }],
    });
    await room.post('/erp', { isDown: false });
    expectBooks(await room.sees((now) => now.till.lastSale?.state === 'done' && now.books.underWay === 0 && now), 25);
  });

  it('a device that is off takes no payment, and one that is not there scans nothing', slow, async () => {
    await room.post('/till/invoice', { amount: 25 });
    await room.sees((view) => view.till.lastSale?.oid);
    await room.post(`/devices/${room.terminal}/power`, { isOn: false });
    expect(await room.post('/till/invoice/pay', { deviceId: room.terminal })).toMatchObject({ errorCode: 22 });
    for (const step of ['scan', 'pay'])
      expect(await room.post(`/till/invoice/${step}`, { deviceId: room.merchantId })).toMatchObject({ errorCode: 20 });
  });
});

describe('refunds', () => {
  it('are compared apart, in three books, and never go over the rest', slow, async () => {
    expect(await room.post('/till/refund', {})).toMatchObject({ errorCode: 22 });
    await ended(await sell({ amount: 30 }));
    await room.post('/till/refund', { amount: 12.5 });
    await room.sees(({ till }) => till.lastSale?.refunded === 12.5);
    // The same call again is the same refund.
    await room.post('/till/again');
    await room.sees(({ calls, books }) => calls[0]?.label === 'again' && calls[0].status === 200 && books.underWay === 0);
    await room.post('/till/refund', { amount: 20 });
    const refusal = await room.sees(({ calls }) => calls[0]?.answer?.['errorCode'] === 40 && calls[0]);
    expect(refusal.answer).toMatchObject({ errorMessage: expect.stringContaining('17.50') });
    await room.post('/till/refund', {});
    const view = await room.sees((now) => now.till.lastSale?.refunded === 30 && now.books.underWay === 0 && now);
    const { bank, ledger, erp } = view.books;
    for (const { refunds } of [bank, ledger, erp]) expect(refunds).toEqual({ sum: 30, count: 2 });
    expectBooks(view, 30);
    expect(await room.post('/till/refund', {})).toMatchObject({
      errorCode: 22,
      errorMessage: expect.stringContaining('already refunded completely'),
    });
  });
});

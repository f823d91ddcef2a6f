// What is wrong must be seen: a bank that charges twice, a register that prints twice, a story that is stopped. And what is not ours is not counted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShopDevice } from '../../src/playground/shop.ts';
import { openSandboxRoom, type SandboxRoom } from './sandbox-room.ts';

const slow = { timeout: 60_000 };
let room: SandboxRoom;
let terminal: ShopDevice['device'];
let register: ShopDevice['device'];
beforeAll(async () => {
  room = await openSandboxRoom();
  terminal = room.deviceOf(room.terminal);
  register = room.deviceOf(room.register);
}, 60_000);
afterAll(() => room?.close());

const storyEnded = () => room.sees((view) => view.story?.isRunning === false && view.books.underWay === 0 && view);

describe('a story that goes wrong', () => {
  it('says that the books differ when the bank has charged twice', slow, async () => {
    const { bank } = terminal;
    const { charge } = bank;
    bank.charge = async (request) => {
      await charge(request);
      return await charge(request);
    };
    await room.post('/stories/doubleClick');
    const { story, books } = await storyEnded();
    bank.charge = charge;
    expect(story?.verdict).toMatchObject({ key: 'playground.verdict.booksDiffer', booksAgree: false });
    expect(story?.steps.at(-1)).toMatchObject({ key: 'booksAgree', state: 'trouble' });
    expect(books).toMatchObject({ agree: false, differences: [{ key: 'playground.difference.bankMore' }] });
    expect(books.bank.sum).toBe(2 * books.ledger.sum);
  });

  it('says so when a receipt was printed twice; the mess of an earlier one is not its own', slow, async () => {
    const memory = register.fiscalMemory();
    const { append } = memory;
    memory.append = async (document) => {
      await append(document);
      return await append(document);
    };
    await room.post('/stories/powerCut');
    const twice = await storyEnded();
    memory.append = append;
    expect(twice.story?.verdict).toMatchObject({ booksAgree: false });
    expect(twice.books.differences.map(({ key }) => key)).toEqual(['playground.difference.bankMore', 'playground.difference.receiptMore']);
    await room.post('/stories/powerCut');
    const { story, books } = await storyEnded();
    expect([story?.verdict?.booksAgree, books.agree]).toEqual([true, false]);
    await room.post('/books/empty');
    expect((await room.read()).books).toMatchObject({ agree: true, bank: { sum: 0, count: 0 }, fiscal: { sum: 0 }, erp: { sum: 0 } });
  });

  it('says that it was broken off when it is stopped, and leaves everything in order', slow, async () => {
    expect(await room.post('/stories/stop')).toMatchObject({ errorCode: 22 });
    await room.post('/stories/expiredQr');
    await room.sees(({ story }) => story?.steps.some(({ key, state }) => key === 'timePasses' && state === 'running'));
    expect(await room.post('/stories/stop')).toMatchObject({ errorCode: 0 });
    const { story, devices, erp } = await storyEnded();
    expect(story?.verdict).toMatchObject({ key: 'playground.verdict.brokenOff' });
    expect(story?.steps.map(({ state }) => state)).toEqual(['done', 'trouble', 'waiting', 'waiting', 'waiting', 'waiting']);
    expect([erp.isDown, devices.some(({ byHand }) => byHand)]).toEqual([false, false]);
  });
});

describe('what others do beside the page', () => {
  it('is no difference: only the sales of the till are compared', slow, async () => {
    await room.post('/books/empty');
    const answer = await fetch(`${room.baseUrl}/Device/payment/Pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ APIKey: room.apiKey, DeviceID: room.otherTerminal, amount: 77 }),
    });
    expect(await answer.json()).toMatchObject({ errorCode: 0 });
    expect((await room.read()).books).toMatchObject({ agree: true, bank: { sum: 0 }, ledger: { sum: 0 } });
  });
});

describe('what does not end', () => {
  it('lists stay short, and no callback is accepted without a signature', slow, async () => {
    await room.post('/till/invoice', { amount: 5 });
    const { oid, uri } = await room.sees(({ till, calls }) => {
      const found = calls.find(({ label }) => label === 'create')?.body?.['CallbackURI'];
      return till.invoice?.state === 'NewItem' && typeof found === 'string' && { oid: till.invoice.oid, uri: found };
    });
    const forged = uri.replace('#OID#', oid).replace('#State#', 'Payed').replace('#DeviceID#', room.terminal).replace('#ReceiptID#', 'R-1');
    const signature = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) };
    for (const headers of [
      {},
      { ...signature, 'webhook-signature': `v1,${'A'.repeat(44)}` },
      { ...signature, 'webhook-signature': `v1,${'é'.repeat(44)}` },
    ]) {
      expect((await fetch(forged, { headers: headers as Record<string, string> })).status).toBe(401);
    }
    await Promise.all(Array.from({ length: 40 }, () => fetch(forged)));
    for (let count = 0; count < 12; count += 1) {
      await room.post('/till/sale', { deviceId: room.terminal, amount: 1 });
      await room.sees(({ till, books }) => till.lastSale?.state === 'done' && books.underWay === 0);
    }
    const view = await room.read();
    expect(view.books.erp.sum).toBe(12);
    expect([view.calls.length, view.callbacks.length, view.wire.length]).toEqual([30, 30, 100]);
    expect(view.wire.map(({ seq }) => seq)).toEqual(view.wire.map((_, index) => (view.wire[0]?.seq ?? 0) + index));
    expect(JSON.stringify(view)).not.toContain(room.apiKey);
  });

  it('a stop does not wait for a person who stands in front of a device', slow, async () => {
    const other = await openSandboxRoom();
    await other.post(`/devices/${other.terminal}/mode`, { byHand: true });
    await other.post('/till/sale', { deviceId: other.terminal });
    await other.sees(({ devices }) => devices.some(({ waitsFor }) => waitsFor === 'card'));
    const startedAtMs = performance.now();
    await other.close();
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });
});

describe('pages', () => {
  it('are hinted at what changes, by the event stream', slow, async () => {
    const stop = new AbortController();
    const stream = await fetch(`${room.baseUrl}/cabinet/api/events`, {
      headers: { authorization: `Bearer ${room.adminToken}` },
      signal: stop.signal,
    });
    await room.post(`/devices/${room.terminal}/mode`, { byHand: true });
    let text = '';
    for await (const chunk of stream.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes('"playground"')) break;
    }
    stop.abort();
    expect(text).toContain('{"kind":"playground","id":"playground","version":');
    await room.post(`/devices/${room.terminal}/mode`, { byHand: false });
  });
});

describe('a terminal that another caller holds', () => {
  it('keeps a story from starting, which says why and names the operation', slow, async () => {
    const answer = await fetch(`${room.baseUrl}/Device/payment/Pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        APIKey: room.apiKey,
        DeviceID: room.terminal,
        amount: 77,
        documentNr: '3b241101-e2bb-4255-8caf-4136c566a962',
      }),
    });
    expect(await answer.json()).toMatchObject({ errorCode: 0 });
    const startedAtMs = performance.now();
    await room.post('/stories/lostAnswer');
    const { story } = await storyEnded();
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect(story?.verdict).toEqual({
      key: 'playground.verdict.documentOpen',
      params: { device: expect.any(String), amount: 77 },
      erpHadToDo: { key: 'playground.erpHadToDo.notStarted', params: {} },
    });
    const { devices } = await room.read();
    expect(devices.find(({ id }) => id === room.terminal)?.heldBy).toMatchObject({ documentState: 'open', amount: 77 });
  });
});

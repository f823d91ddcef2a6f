// The page of a sale over HTTP, for sales of virtual terminals, including lost answers.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Step } from '../../../src/cabinet/views/sale/sale-model.ts';
import { type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

interface Page {
  command: { id: string; shownState: string };
  outcome: { key: string; params: Record<string, unknown> };
  marks: { key: string }[];
  timeline: (Step & { sinceStartMs: number })[];
  unclear: { fromMs: number; toMs?: number }[];
  raw: { request?: { body: object }; report?: Record<string, unknown>; answer?: Record<string, unknown> };
  related: { closes: object[]; linked: { name: string }[] };
  receipt?: { items: object[]; total: number };
  errorCode: number;
}

describe('the page of a sale', () => {
  let world: CabinetWorld;
  beforeEach(async () => {
    world = await createCabinetWorld();
  });
  afterEach(() => world.close());

  const page = async (id: unknown) => (await world.look(`/commands/${String(id)}`)) as unknown as Page;
  const pay = (deviceId: string, amount: number, documentNr = world.random.uuid()) =>
    world.erp('/Device/payment/Pay', { DeviceID: deviceId, amount, documentNr });

  it('shows the receipt of a payment even if the ERP writes its Uid in capitals, and finds it by either spelling', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    const documentNr = world.random.uuid();
    const paid = await pay(terminal.id, 12.5, documentNr);
    const Receipt = { Uid: documentNr.toUpperCase(), Items: [{ Name: 'Pâine', Quantity: 2, Price: 6.25 }], Payments: [{ PaymentCode: 0 }] };
    await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt });
    expect((await page(paid['OID'])).related.linked).toMatchObject([{ name: 'PrintReceipt' }]);
    for (const q of [documentNr, documentNr.toUpperCase()]) expect((await world.look(`/commands?q=${q}`))['commands']).toHaveLength(2);
  });

  it('shows a plain payment, its document and its printed receipt', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    const documentNr = world.random.uuid();
    const paid = await pay(terminal.id, 12.5, documentNr);
    const { operationId } = JSON.parse(String(paid['report'])) as { operationId: string };
    await world.erp('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId });
    const Receipt = { Uid: documentNr, Items: [{ Name: 'Pâine', Quantity: 2, Price: 6.25 }], Payments: [{ PaymentCode: 0 }] };
    await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt, CallbackURI: 'http://me:secret@erp.example/n?s=#State#' });

    const shown = await page(paid['OID']);
    expect(shown.command).toMatchObject({ shownState: 'paid', amount: 12.5 });
    expect(shown.outcome).toEqual({ key: 'outcome.charged', params: { amount: 12.5, device: expect.any(String) } });
    const kinds = shown.timeline.map(({ kind }) => kind);
    for (const kind of [
      'asked',
      'written',
      'sent',
      'accepted',
      'bankDid',
      'answered',
      'settled',
      'callerAnswered',
      'related',
      'callbackDelivered',
    ]) {
      expect(kinds).toContain(kind);
    }
    expect(shown.timeline.map(({ sinceStartMs }) => sinceStartMs)).toEqual(
      shown.timeline.map(({ sinceStartMs }) => sinceStartMs).sort((one, other) => one - other),
    );
    expect(shown.unclear).toEqual([]);
    expect(shown.related.linked).toMatchObject([{ name: 'PrintReceipt' }]);
    expect(shown.receipt).toMatchObject({ items: [{ name: 'Pâine', quantity: 2, price: 6.25 }], total: 12.5 });
    expect(shown.raw.request?.body).toEqual({ DeviceID: terminal.id, amount: 12.5, documentNr });
    expect(shown.raw.report).toMatchObject({ amount: 12.5, token: '***' });
    expect(shown.raw.answer).toMatchObject({ errorCode: 0, OID: paid['OID'] });
    expect(JSON.stringify(shown)).not.toContain(world.key);
    const print = await world.lastCommand('PrintReceipt');
    const printed = await page(print.id);
    expect(printed.raw.request?.body).toMatchObject({ Receipt: { Uid: documentNr }, CallbackURI: 'http://***@erp.example/n?s=#State#' });
    expect(JSON.stringify(printed)).not.toContain('secret@');
  });

  it('shows a payment whose answer was lost and found by Recall', async () => {
    const terminal = await world.terminal();
    let lost = 0;
    world.onAnswer = (answer) => {
      if (answer.outcome !== 'done' || answer.report?.['rrn'] === undefined || lost > 0) return answer;
      lost += 1;
      return undefined;
    };
    const paid = await pay(terminal.id, 20);
    expect(paid.errorCode).toBe(0);
    const shown = await page(paid['OID']);
    expect(shown.outcome.key).toBe('outcome.chargedFoundByRecall');
    expect(shown.timeline.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['bankDid', 'answerLost', 'recall', 'recalled', 'settled']),
    );
  });

  it('shows a decline, and 20 for an unknown operation', async () => {
    const terminal = await world.terminal();
    const declined = await pay(terminal.id, 10.61);
    expect(declined.errorCode).toBe(50);
    const last = await world.lastCommand('Pay');
    expect((await page(last.id)).outcome.key).toBe('outcome.declined');
    expect(await world.look(`/commands/${world.random.uuid()}`)).toMatchObject({ errorCode: 20 });
  });
});

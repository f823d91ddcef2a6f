// A device that reports a second operation for one command [D49]: it is flagged, whatever else the report says or lacks.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const receipt = { Uid: 'u-1', Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };

describe('a second operation under one command', () => {
  const again = (deviceId: string, id: string, journalId: string | null, report: object) => {
    const clock = new Date(world.clock.now()).toISOString();
    world.sayAs(deviceId, { v: 1, id, device: deviceId, clock, journalId, outcome: 'done', report } as never);
    return world.clock.advance(5_000);
  };

  it.each([
    ['the same amount', { amount: 10 }],
    ['another amount', { amount: 90 }],
    ['no rrn', { rrn: undefined }],
  ])('of a Pay, with %s', async (_what, change) => {
    const terminal = await world.terminal();
    const { report } = await world.run(world.pay(terminal.id, 10));
    const { id, journalId } = await world.lastCommand('Pay');
    await again(terminal.id, id, journalId, { ...report, operationId: '999999', rrn: '1', ...change });
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', reviewReason: expect.stringContaining('999999') });
    expect(world.ledger.stats().contradictions).toBe(1);
  });

  it.each([
    ['another operationId', { operationId: '999999', rrn: '1' }, 'a second operation, 999999, beside '],
    ['another amount', { amount: 90 }, '90 instead of 10.00'],
  ])('of a disputed Pay, with %s: the review list says so', async (_what, change, sentence) => {
    const terminal = await world.terminal();
    const reports: Record<string, unknown>[] = [];
    world.onAnswer = ({ report }) => void (report && reports.push(report));
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.setAway(terminal.id, true);
    await world.clock.advance(20 * 60_000);
    const { id, journalId } = await world.lastCommand('Pay');
    await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'Not in the list.', actor: 'ana' }));
    const report = reports.find(({ operationId }) => operationId !== undefined) ?? {};
    if (!('amount' in change)) await again(terminal.id, id, journalId, report);
    await again(terminal.id, id, journalId, { ...report, ...change });
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed', reviewReason: expect.stringContaining(sentence) });
  });

  it('of a Refund', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { report: { operationId, rrn } = {} } = await world.run(world.pay(terminal.id, 10, documentNr));
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(operationId), rrn: String(rrn) };
    await world.run(world.cards.closeDoc(named));
    const { report } = await world.run(world.cards.refund({ ...named, amountBani: 300, currency: undefined }));
    const { id, journalId } = await world.lastCommand('Refund');
    await again(terminal.id, id, journalId, { ...report });
    expect(world.ledger.stats().contradictions).toBe(0);
    await again(terminal.id, id, journalId, { ...report, operationId: '999999' });
    expect(await world.ledger.find(id)).toMatchObject({ reviewReason: expect.stringContaining('999999') });
  });

  it('of a receipt', async () => {
    const register = await world.register();
    const { report } = await world.run(world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt }));
    const { id, journalId } = await world.lastCommand('PrintReceipt');
    await again(register.id, id, journalId, { ...report, receiptId: 'R-2' });
    expect(await world.ledger.find(id)).toMatchObject({ reviewReason: expect.stringContaining('R-2') });
  });
});

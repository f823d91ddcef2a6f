// Which payment a call means when the bank's numbers have restarted [D16]: the documentNr names it, and one that was made without
// a documentNr never stands in front of one that has it.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/ledger/command.ts';
import { nameOperation } from '../../src/ledger/store.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
});

const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });

interface Payment {
  command: Command;
  documentNr: string;
  operationId: string;
  rrn: string;
  token: string;
}

/** Paid and closed. */
async function sold(lei: number, documentNr?: string): Promise<Payment> {
  const { code, report } = await world.run(world.cards.pay({ ...call(), amountBani: Math.round(lei * 100), documentNr }));
  expect(code).toBe(0);
  const command = await world.lastCommand('Pay');
  const named = { documentNr: documentNr ?? 'any', operationId: String(report?.operationId) };
  expect((await world.run(world.cards.closeDoc({ ...call(), ...named }))).code).toBe(0);
  return { ...named, command, rrn: String(report?.rrn), token: String(report?.token) };
}

/** The bank gives this payment the number that the other one has. */
async function restartNumbers(payment: Payment, other: Payment): Promise<void> {
  await world.database.queries
    .updateTable('commands')
    .set({ operation_id: other.operationId })
    .where('id', '=', payment.command.id)
    .execute();
  await nameOperation(world.database.queries, { ...payment.command, operationId: other.operationId });
}

const refund = (payment: Payment, documentNr = payment.documentNr) =>
  world.run(world.cards.refund({ ...call(), ...payment, documentNr, amountBani: 100, currency: 'MDL' }));

describe('a number that the bank gave twice', () => {
  it('selects the payment of the documentNr, even if a later payment has none', async () => {
    const named = await sold(10, world.random.uuid());
    const unnamed = await sold(10);
    await restartNumbers(unnamed, named);
    expect((await refund(named)).code).toBe(0);
    expect((await world.lastCommand('Refund')).targetId).toBe(named.command.id);
    const second = await sold(20, world.random.uuid());
    await restartNumbers(await sold(20), second);
    const cancelled = await world.run(world.cards.cancelTransaction({ ...call(), ...second, amountBani: 2000 }));
    expect(cancelled.code).toBe(0);
    expect((await world.lastCommand('CancelTransaction')).targetId).toBe(second.command.id);
    expect(terminal.bank.charges().filter(({ isVoided }) => isVoided)).toHaveLength(1);
  });

  it('never selects one without documentNr while a payment of the merchant has the given one, on any terminal', async () => {
    const unnamed = await sold(10);
    const other = await world.terminal();
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(other.id, 10, documentNr))).code).toBe(0);
    const close = { ...call(), documentNr, operationId: unnamed.operationId };
    expect((await refund(unnamed, documentNr)).code).toBe(20);
    expect((await world.run(world.cards.closeDoc(close))).code).toBe(20);
    expect((await world.run(world.cards.cancelTransaction({ ...close, token: unnamed.token, amountBani: 1000 }))).code).toBe(20);
    // A documentNr that no payment has does no harm.
    expect((await refund(unnamed, world.random.uuid())).code).toBe(0);
  });

  it('selects the newest of those without documentNr, and for a refund the one with its rrn', async () => {
    const first = await sold(10);
    const second = await sold(10);
    await restartNumbers(second, first);
    expect((await refund(first)).code).toBe(0);
    expect((await world.lastCommand('Refund')).targetId).toBe(first.command.id);
    await world.run(world.cards.cancelTransaction({ ...call(), ...first, amountBani: 1000 }));
    expect((await world.lastCommand('CancelTransaction')).targetId).toBe(second.command.id);
    expect((await refund({ ...first, rrn: '000000000000' })).code).toBe(20);
  });
});

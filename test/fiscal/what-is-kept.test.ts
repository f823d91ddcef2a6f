// What a register is told and what the ledger keeps of it, and which calls of Fiscal Mode are recognised by their content [D58].
import { beforeEach, describe, expect, it } from 'vitest';
import { completionNotices } from '../../src/fiscal/notices.ts';
import { findPrintOf } from '../../src/fiscal/print-receipt.ts';
import type { FiscalDeps } from '../../src/fiscal/register.ts';
import type { Command } from '../../src/ledger/command.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { Link } from '../../src/link/link.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let register: Awaited<ReturnType<SaleWorld['register']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  register = await world.register();
});

const call = () => ({ merchantId: world.merchantId, deviceId: register.id });
const receipt = (overrides: object = {}) => ({
  Number: 'A-1',
  Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }],
  Payments: [
    { PaymentCode: 0, Amount: 4 },
    { PaymentCode: 1, Amount: 6 },
  ],
  ...overrides,
});

describe('a register', () => {
  it.each(['cashIn', 'cashOut'] as const)('gets the reason of %s if there is one', async (name) => {
    await world.run(world.fiscal.cashIn({ ...call(), amountBani: 100_000 }));
    const sent = name === 'cashIn' ? 'MoneyIn' : 'MoneyOut';
    const args = () => world.sendsOf(sent).at(-1)?.args;
    expect((await world.run(world.fiscal[name]({ ...call(), amountBani: 1_050, reason: 'change' }))).code).toBe(0);
    expect(args()).toEqual({ amount: 10.5, reason: 'change' });
    expect((await world.run(world.fiscal[name]({ ...call(), amountBani: 1_050 }))).code).toBe(0);
    expect(args()).toEqual({ amount: 10.5 });
  });

  it('prints a receipt; the ledger stores its total and its payments', async () => {
    expect((await world.run(world.fiscal.printReceipt({ ...call(), receipt: receipt() }))).code).toBe(0);
    const columns = ['amount_bani', 'cash_bani', 'card_bani'] as const;
    expect(await world.database.queries.selectFrom('commands').select(columns).execute()).toEqual([
      { amount_bani: 1_000, cash_bani: 400, card_bani: 600 },
    ]);
  });
});

describe('the Uid of a receipt', () => {
  const print = (overrides: object) => world.run(world.fiscal.printReceipt({ ...call(), receipt: receipt(overrides) }));

  it('leads from a print that was refused to the one that has it now, if both are of the same receipt [D125]', async () => {
    const key = (name: string) => ({ idempotency: { key: name, requestHash: name } });
    const status = (idempotencyKey: string) =>
      world.run(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['Fiscal']), idempotencyKey }));
    // .81: the bank of the register declines the card once.
    const declined = (overrides: object = {}) => ({
      ...{ Uid: 'u-1', Items: [{ Name: 'Bread', Quantity: 1, Price: 10.81 }], Payments: [{ PaymentCode: 1, Amount: 10.81 }] },
      ...overrides,
    });
    const printAs = (name: string, value: object) => world.run(world.fiscal.printReceipt({ ...call(), receipt: value, ...key(name) }));
    expect((await printAs('first', declined())).code).toBe(50);
    expect((await status('first')).code).toBe(50);
    const printed = await printAs('second', declined());
    expect(printed.code).toBe(0);
    expect(await status('first')).toEqual(printed);
    expect(await printAs('first', declined())).toEqual(printed);
    // Of another receipt: refused, and then the Uid was printed with this content.
    expect((await printAs('other', declined({ Uid: 'u-2' }))).code).toBe(50);
    expect((await print({ Uid: 'u-2' })).code).toBe(0);
    expect((await status('other')).code).toBe(22);
  });

  it('that is missing is looked for nowhere', async () => {
    const nobody = {} as FiscalDeps['database'];
    const unnamed = { merchantId: 'm', receiptUid: null, contentHash: 'h' };
    await expect(findPrintOf({ database: nobody }, unnamed)).resolves.toBeUndefined();
  });
});

it('a payment of a terminal is printed on no register whose presence is not known here: it might charge the card again', async () => {
  const terminal = await world.terminal();
  expect((await world.run(world.pay(terminal.id, 6, 'sale 7'))).code).toBe(0);
  const alterLink = (link: Link): Link => {
    const of = (deviceId: string) => (deviceId === register.id ? undefined : link.presence.of(deviceId));
    return { ...link, presence: Object.assign(Object.create(link.presence) as Link['presence'], { of }) };
  };
  const other = await world.startLife({ database: world.database, alterLink });
  const Payments = [
    { PaymentCode: 0, Amount: 4 },
    { PaymentCode: 1, documentNr: 'sale 7' },
  ];
  const told = await world.run(other.fiscal.printReceipt({ ...call(), receipt: receipt({ Payments }) }));
  expect(told).toMatchObject({ code: 30, message: expect.stringContaining('has not announced') as string });
  expect(world.sendsOf('PrintReceipt')).toEqual([]);
});

describe('the same request of a caller who was left without the outcome', () => {
  const documents = () => register.fiscalMemory().documents().length;

  async function twice(send: (recipient: ReturnType<typeof createFakeRecipient>) => Parameters<SaleWorld['run']>[0]) {
    const leaving = createFakeRecipient();
    const first = await world.run(send(leaving));
    leaving.leave();
    await world.clock.advance(100);
    const again = await world.run(send(createFakeRecipient()));
    return { first, again };
  }

  it('is answered as a repeat, without a second print: a receipt without Uid', async () => {
    const { first, again } = await twice((recipient) =>
      world.fiscal.printReceipt({ ...call(), receipt: receipt(), hashRequest: () => 'print', recipient }),
    );
    expect(again).toEqual({ ...first, isRepeated: true });
    expect(documents()).toBe(1);
  });

  it('is answered by the print of its Uid, without recognition by content: a receipt with one', async () => {
    const Uid = world.random.uuid();
    const { first, again } = await twice((recipient) =>
      world.fiscal.printReceipt({ ...call(), receipt: receipt({ Uid }), hashRequest: () => 'print', recipient }),
    );
    expect(first).toMatchObject({ code: 0, isRepeated: false });
    expect(again).toEqual(first);
    expect((await world.lastCommand()).requestHash).toBeNull();
    expect(documents()).toBe(1);
  });

  it('is answered as a repeat, without moving money twice: cash', async () => {
    const { first, again } = await twice((recipient) =>
      world.fiscal.cashIn({ ...call(), amountBani: 500, hashRequest: () => 'in', recipient }),
    );
    expect(again).toEqual({ ...first, isRepeated: true });
    expect(documents()).toBe(1);
  });
});

it('an operation without a callback, or whose caller needs none, wakes no worker', () => {
  let wakes = 0;
  const wake = () => {
    wakes += 1;
  };
  const { afterState } = completionNotices({ callbacks: { wake } } as unknown as Parameters<typeof completionNotices>[0]);
  const ended = { id: 'o', deviceId: 'd', state: 'done', report: null, noticeSequence: 0 } as Command;
  const told = { ...ended, callbackUri: 'https://erp.example/' };
  for (const command of [{ ...ended, callbackUri: null }, { ...told, state: 'never' } as Command]) afterState?.(command);
  expect(wakes).toBe(0);
  for (const command of [told, { ...told, state: 'never', noticeSequence: 1 } as Command]) afterState?.(command);
  expect(wakes).toBe(2);
});

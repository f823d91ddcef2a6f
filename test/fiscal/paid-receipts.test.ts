// A receipt for a sale that was paid on a card terminal before [D146]: it is printed as card, and nobody charges the card again.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CreatedInvoice } from '../../src/invoices/create.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Link } from '../../src/link/link.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { createSaleWorld, type SaleWorld, type Told } from '../support/sale-world.ts';
import { until } from '../support/until.ts';

describe.each(engines)('a receipt of a card sale on %s', (engine) => {
  let database: TestDatabase;
  let world: SaleWorld;
  let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
  let register: Awaited<ReturnType<SaleWorld['register']>>;

  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    world = await createSaleWorld({ database, clock: systemClock });
    terminal = await world.terminal({ hasMagic: false, timing: { customerMs: 1, bankMs: 1 } });
    register = await world.register({ hasMagic: false, timing: { customerMs: 1, bankMs: 1, printMs: 1 } });
    const isSeen = ({ id }: { id: string }) => world.life.link.presence.of(id) !== undefined;
    await until(() => isSeen(terminal) && isSeen(register));
  });
  afterEach(async () => {
    await world.stop();
    await database.close();
  });

  const onTerminal = () => ({ merchantId: world.merchantId, deviceId: terminal.id });
  interface Payment {
    documentNr: string;
    operationId: string;
    rrn: string;
    token: string;
  }
  async function pay(lei: number, documentNr: string = world.random.uuid()): Promise<Payment> {
    const { code, report } = await world.told(world.pay(terminal.id, lei, documentNr));
    expect(code).toBe(0);
    const payment = { documentNr, operationId: String(report?.operationId), rrn: String(report?.rrn), token: String(report?.token) };
    expect((await world.told(world.cards.closeDoc({ ...onTerminal(), ...payment }))).code).toBe(0);
    return payment;
  }
  const receipt = (lei: number, Uid: string, Payments: object[]) => ({
    Uid,
    Items: [{ Name: 'Bread', Quantity: 1, Price: lei }],
    Payments,
  });
  const print = (value: object): Promise<Told> =>
    world.told(world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt: value }));
  const voidOf = (payment: Payment, lei: number) =>
    world.told(world.cards.cancelTransaction({ ...onTerminal(), ...payment, amountBani: lei * 100 }));
  const refundOf = (payment: Payment, lei: number) =>
    world.told(world.cards.refund({ ...onTerminal(), ...payment, amountBani: lei * 100, currency: undefined }));
  const cardOfZ = () => register.fiscalMemory().shift().byPayment.card;
  const registersBank = () => register.bank.charges();

  it('and a payment under its number at the same moment charge one card, not two', async () => {
    const charges = () => terminal.bank.charges().length + registersBank().length;
    for (const isTerminalFirst of [true, false]) {
      const number = world.random.uuid();
      const before = charges();
      const paying = () => world.told(world.pay(terminal.id, 10, number));
      const printing = () => print(receipt(10, number.toUpperCase(), [{ PaymentCode: 1 }]));
      const answers = await Promise.all(isTerminalFirst ? [paying(), printing()] : [printing(), paying()]);
      expect(charges() - before).toBe(1);
      // A receipt that comes when the payment is done is printed as paid by it.
      expect(answers.filter(({ code }) => code === 0).length).toBeGreaterThan(0);
      const open = (await world.commands()).find(({ documentState }) => documentState === 'open');
      if (open) await world.cards.closeDocumentByHand({ commandId: open.id, actor: 'ana', reason: 'next' });
    }
  });

  it('with two cards, none of which names the payment under its number, is refused; named, the other one is charged', async () => {
    const payment = await pay(10);
    const cards = [
      { PaymentCode: 1, Amount: 10 },
      { PaymentCode: 1, Amount: 5 },
    ];
    const refused = await print(receipt(15, payment.documentNr, cards));
    expect([refused.code, refused.message]).toEqual([22, expect.stringContaining('Name the payment by documentNr')]);
    expect(registersBank()).toEqual([]);
    const named = [{ ...cards[0], documentNr: payment.documentNr }, cards[1] ?? {}];
    expect((await print(receipt(15, payment.documentNr, named))).code).toBe(0);
    expect([terminal.bank.netBani(), register.bank.netBani()]).toEqual([1_000, 500]);
  });

  it('is printed as card by the number of the sale, with the numbers of the payment, and charged once', async () => {
    const payment = await pay(10);
    const value = receipt(10, payment.documentNr.toUpperCase(), [{ PaymentCode: 1, Amount: '10.00' }]);
    const printed = await print(value);
    expect(printed).toMatchObject({ code: 0, report: { total: 10 } });
    const { token: _, ...numbers } = payment;
    const sent = world.sendsOf('PrintReceipt')[0]?.args as { receipt: { Payments: { paid: object }[] } };
    expect(sent.receipt.Payments).toEqual([
      { PaymentCode: 1, Amount: 10, paid: { ...numbers, amount: 10, authCode: expect.any(String) as string } },
    ]);
    expect([terminal.bank.charges(), registersBank()].map(({ length }) => length)).toEqual([1, 0]);
    expect(cardOfZ()).toBe(1_000);
    // A repeat gets the stored answer; the payment is on that receipt and on no other.
    expect(await print(value)).toEqual(printed);
    expect(await print({ ...value, Uid: 'other', Payments: [{ PaymentCode: 7, documentNr: payment.documentNr }] })).toMatchObject({
      code: 22,
      oid: printed.oid,
    });
    expect(register.fiscalMemory().documents()).toHaveLength(1);
  });

  it('may have two cards and cash; each card names its payment, whose amount may be left out', async () => {
    const [one, other] = [await pay(10), await pay(5)];
    const cards = [
      { PaymentCode: 1, documentNr: one.documentNr },
      { PaymentCode: 2, documentNr: other.documentNr, Amount: 5 },
    ];
    const printed = await print(receipt(17.5, 'split', [...cards, { PaymentCode: 0, Amount: 2.5 }]));
    expect(printed).toMatchObject({ code: 0, report: { total: 17.5 } });
    expect([cardOfZ(), register.fiscalMemory().drawerBani, registersBank().length]).toEqual([1_500, 250, 0]);
    const row = await database.queries
      .selectFrom('commands')
      .select(['card_bani', 'cash_bani'])
      .where('name', '=', 'PrintReceipt')
      .execute();
    expect(row).toEqual([{ card_bani: 0, cash_bani: 250 }]);
  });

  it('with one card that was paid and one that was not charges the second alone', async () => {
    const { documentNr } = await pay(10);
    const value = receipt(15, 'half', [
      { PaymentCode: 1, documentNr },
      { PaymentCode: 1, Amount: 5 },
    ]);
    expect((await print(value)).code).toBe(0);
    expect(registersBank().map(({ entry }) => entry.amountBani)).toEqual([500]);
    expect(cardOfZ()).toBe(1_500);
  });

  it('without any such payment is charged by the register, and a Pay of that number is 22', async () => {
    const Uid = world.random.uuid();
    const printed = await print(receipt(10, Uid.toUpperCase(), [{ PaymentCode: 1 }]));
    expect(printed.code).toBe(0);
    expect(registersBank()).toHaveLength(1);
    const message = expect.stringContaining('A register has charged') as string;
    expect(await world.told(world.pay(terminal.id, 10, Uid))).toMatchObject({ code: 22, oid: printed.oid, message });
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('under the OID of an invoice is charged by no register, whether the invoice was paid by QR or can still be paid', async () => {
    const { invoices } = world.life;
    const asker = { merchantId: undefined, name: 'anybody' };
    const [paidByQr, unpaid, cancelled] = (await Promise.all(
      [1, 2, 3].map(() => invoices.create({ merchantId: world.merchantId, receipt: receipt(10, 'any', []) })),
    )) as [CreatedInvoice, CreatedInvoice, CreatedInvoice];
    await invoices.scan(paidByQr.qr, asker);
    await invoices.pay(paidByQr.qr, { receiptId: 'F-1', deviceId: register.id }, asker);
    await invoices.cancelInvoice({ oid: cancelled.oid, merchantId: world.merchantId, reason: 'by mistake', actor: 'ana' });
    for (const { oid } of [paidByQr, unpaid, cancelled]) {
      const message = expect.stringContaining('the customer could pay by QR and by card. Nothing was sent') as string;
      expect(await print(receipt(10, oid.toUpperCase(), [{ PaymentCode: 1 }]))).toMatchObject({ code: 22, message });
    }
    const paidElsewhere = 3;
    expect((await print(receipt(10, paidByQr.oid, [{ PaymentCode: paidElsewhere }]))).code).toBe(0);
    await pay(10, unpaid.oid);
    expect((await print(receipt(10, unpaid.oid, [{ PaymentCode: 1 }]))).code).toBe(0);
    expect(registersBank()).toEqual([]);
  });

  it.each<[string, (payment: Payment) => Promise<object[]>, number, string]>([
    ['an amount that is not the payment’s', async () => [{ PaymentCode: 1, Amount: 9 }], 40, 'must be 10.00'],
    ['an unknown documentNr', async () => [{ PaymentCode: 1, documentNr: 'unknown' }], 20, 'No card payment'],
    ['an empty documentNr', async () => [{ PaymentCode: 1, documentNr: '' }], 40, 'must not be empty'],
    ['paid, which is the gateway’s', async () => [{ PaymentCode: 1, paid: { rrn: '1' } }], 40, 'paid'],
    [
      'one payment for two elements',
      async ({ documentNr }) => [
        { PaymentCode: 1, documentNr },
        { PaymentCode: 1, documentNr },
      ],
      40,
      'another element',
    ],
    [
      'a payment that was voided',
      async (payment) => {
        expect((await voidOf(payment, 10)).code).toBe(0);
        return [{ PaymentCode: 1 }];
      },
      22,
      'was voided',
    ],
    [
      'a payment that was refunded',
      async (payment) => {
        expect((await refundOf(payment, 10)).code).toBe(0);
        return [{ PaymentCode: 1 }];
      },
      22,
      'was refunded',
    ],
  ])('is refused with %s, and nothing is sent', async (_what, prepare, code, sentence) => {
    const payment = await pay(10);
    const Payments = await prepare(payment);
    const answer = await print(receipt(10, payment.documentNr, Payments));
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(sentence)]);
    expect(world.sendsOf('PrintReceipt')).toHaveLength(0);
  });

  it('prints the remainder of a payment that was refunded in part', async () => {
    const payment = await pay(10);
    expect((await refundOf(payment, 4)).code).toBe(0);
    expect((await print(receipt(10, payment.documentNr, [{ PaymentCode: 1, Amount: 10 }]))).code).toBe(40);
    expect((await print(receipt(6, payment.documentNr, [{ PaymentCode: 1, Amount: 6 }]))).code).toBe(0);
    expect(cardOfZ()).toBe(600);
  });

  it('waits while the payment or a void of it runs', async () => {
    const documentNr = world.random.uuid();
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    world.pay(terminal.id, 10, documentNr).catch(() => {});
    await until(() => terminal.bank.charges().length === 1);
    expect(await print(receipt(10, documentNr, [{ PaymentCode: 1 }]))).toMatchObject({ code: 31 });
    expect(world.sendsOf('PrintReceipt')).toHaveLength(0);
  });

  it('a register without the feature `paid` gets none; one without any presence yet is offline', async () => {
    const { documentNr } = await pay(10);
    const value = receipt(10, documentNr, [{ PaymentCode: 1 }]);
    const snapshot = world.life.link.presence.of(register.id);
    let features: readonly string[] | undefined;
    const alterLink = (link: Link): Link => {
      const of = () => snapshot && { ...snapshot, features: features as string[] };
      return { ...link, presence: Object.assign(Object.create(link.presence) as Link['presence'], { of }) };
    };
    const other = await world.startLife({ database, alterLink });
    for (const [announced, code] of [
      [['other'], 22],
      [undefined, 30],
    ] as const) {
      features = announced;
      const call = { merchantId: world.merchantId, deviceId: register.id, receipt: value };
      expect((await world.told(other.fiscal.printReceipt(call))).code).toBe(code);
    }
    expect(world.sendsOf('PrintReceipt')).toHaveLength(0);
    await other.stop();
  });

  it('voided after it was printed is listed for a person', async () => {
    const payment = await pay(10);
    const printed = await print(receipt(10, payment.documentNr, [{ PaymentCode: 1 }]));
    expect((await voidOf(payment, 10)).code).toBe(0);
    const { queries } = database;
    if (isNewCore) {
      const row = await queries.selectFrom('commands').select(['standing', 'print_id']).where('name', '=', 'Pay').executeTakeFirst();
      expect(row).toEqual({ standing: 'Voided', print_id: printed.oid });
    } else {
      const [link] = await queries.selectFrom('receipt_payments').selectAll().execute();
      expect(link).toMatchObject({ print_id: printed.oid, voided_at: expect.any(Number) as number });
    }
  });

  it('of two receipts at once one gets the payment', async () => {
    const { documentNr } = await pay(10);
    const second = await world.register({ hasMagic: false });
    await until(() => world.life.link.presence.of(second.id) !== undefined);
    const on = (deviceId: string, Uid: string) =>
      world.told(
        world.fiscal.printReceipt({
          merchantId: world.merchantId,
          deviceId,
          receipt: receipt(10, Uid, [{ PaymentCode: 1, documentNr }]),
        }),
      );
    const codes = (await Promise.all([on(register.id, 'a'), on(second.id, 'b')])).map(({ code }) => code).sort((one, other) => one - other);
    expect(codes[0]).toBe(0);
    expect([22, 31]).toContain(codes[1]);
  });
});

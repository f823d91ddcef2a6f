// The lists over HTTP: calls of an ERP are listed in pages, and the request is stored without its key.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

describe('the lists of the cabinet', () => {
  let world: CabinetWorld;
  beforeEach(async () => {
    world = await createCabinetWorld();
  });
  afterEach(() => world.close());

  const receipt = (uid: string) => ({
    Uid: uid,
    Items: [{ Name: 'Pâine', Quantity: 2, Price: 6.25 }],
    Payments: [{ PaymentCode: 0 }],
  });

  it('show payments and fiscal operations separately, in pages', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    for (const amount of [10, 20, 30]) {
      const documentNr = world.random.uuid();
      const paid = await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });
      expect(paid.errorCode).toBe(0);
      const { operationId } = JSON.parse(String(paid['report'])) as { operationId: string };
      await world.erp('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId });
    }
    expect((await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt: receipt('u-1') })).errorCode).toBe(0);

    const fiscal = await world.look('/commands?mode=fiscal');
    expect(fiscal['commands']).toMatchObject([
      {
        name: 'PrintReceipt',
        shownState: 'done',
        amount: 12.5,
        receiptUid: 'u-1',
        receiptNumber: expect.any(String),
        deviceId: register.id,
      },
    ]);
    const first = await world.look('/commands?mode=cards&name=Pay&limit=2');
    expect(first['commands']).toMatchObject([{ amount: 30, shownState: 'paid' }, { amount: 20 }]);
    const second = await world.look(`/commands?mode=cards&name=Pay&limit=2&cursor=${String(first['next'])}`);
    expect(second['commands']).toMatchObject([{ amount: 10 }]);
    expect(second).not.toHaveProperty('next');
    expect(await world.look('/commands?cursor=nonsense')).toMatchObject({ errorCode: 40, status: 400 });
    expect(await world.look('/commands?minAmount=much')).toMatchObject({ errorCode: 40 });

    const csv = await world.look('/commands.csv?mode=cards&name=Pay&minAmount=20');
    expect(csv.text.split('\r\n')).toHaveLength(4);
    expect(csv.text).toContain(',paid,30.00,');
    expect((await world.look('/search?q=12.50'))['results']).toMatchObject([{ kind: 'command', amount: 12.5 }]);
  });

  it('store the request without its key and with card numbers masked', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount: '10.50' }, { 'idempotency-key': 'k-1' });
    await world.erp('/Device/Money/In', { DeviceID: register.id, Amount: 5, Reason: 'card 4111 1111 1111 1111' });
    await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt: receipt('u-2') });
    const rows = await world.database.queries.selectFrom('commands').select(['request', 'caller']).orderBy('issued_at').execute();
    expect(rows.map(({ caller }) => caller)).toEqual(Array.from({ length: 3 }, () => `key ${world.keyId}`));
    const [paid, cash, print] = rows.map(({ request }) => JSON.parse(request ?? '') as { body: object });
    expect(paid).toEqual({
      method: 'POST',
      path: '/Device/payment/Pay',
      idempotencyKey: 'k-1',
      body: { DeviceID: terminal.id, amount: '10.50' },
    });
    expect(cash?.body).toMatchObject({ Reason: 'card 4111 11** **** 1111' });
    // The arguments of the command already have the receipt.
    expect(print?.body).toEqual({ DeviceID: register.id });
    expect(JSON.stringify(rows)).not.toContain(world.key);
  });

  it('find a receipt by any valid number, and settle it whatever number the register reports', async () => {
    const register = await world.register();
    const numbers: [unknown, string | null][] = [
      [4127, '4127'],
      ['R-1', 'R-1'],
      ['x'.repeat(4_000), null],
      ['zero\u0000', null],
      [{}, null],
    ];
    for (const [receiptId, kept] of numbers) {
      world.onAnswer = (answer) =>
        answer.report?.['receiptId'] === undefined ? answer : { ...answer, report: { ...answer.report, receiptId } };
      const printed = await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt: receipt(world.random.uuid()) });
      expect(printed.errorCode).toBe(0);
      const row = await world.database.queries
        .selectFrom('commands')
        .select(['receipt_id', 'state'])
        .where('id', '=', String(printed['OID']))
        .executeTakeFirstOrThrow();
      expect(row).toEqual({ receipt_id: kept, state: 'done' });
    }
  });
});

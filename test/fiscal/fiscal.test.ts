// Fiscal Mode: once per Receipt.Uid [D31], its timeouts, Idempotency-Key on all four, completion notices [D30].
import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { isNewCore } from '../support/core.ts';
import { longHost } from '../support/long-host.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let register: Awaited<ReturnType<SaleWorld['register']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  register = await world.register();
});

const key = (name: string, body = 'body') => ({ idempotency: { key: name, requestHash: body } });
const call = (deviceId = register.id) => ({ merchantId: world.merchantId, deviceId });

function receipt(lei: number, overrides: Record<string, unknown> = {}) {
  return {
    Number: 'A-1',
    Uid: world.random.uuid(),
    Items: [{ Name: 'Bread', Quantity: 1, Price: lei, Extra: { kept: true } }],
    Payments: [{ PaymentCode: 0, Amount: lei }],
    ...overrides,
  };
}

const print = (value: unknown, extras: object = {}) => world.fiscal.printReceipt({ ...call(), receipt: value, ...extras });
const receipts = (device = register) =>
  device
    .fiscalMemory()
    .documents()
    .filter(({ type }) => type === 'receipt');

describe('Receipt.Uid', () => {
  it('prints once: a repeat gets the stored answer, on whichever register it comes', async () => {
    const other = await world.register();
    const value = receipt(10);
    const first = await world.run(print(value));
    expect(first).toMatchObject({ code: 0, report: { total: 10 } });
    expect(await world.run(print(value))).toEqual(first);
    expect(await world.run(print(value, { deviceId: other.id }))).toEqual(first);
    // The order of fields is no content.
    expect(await world.run(print(Object.fromEntries(Object.entries(value).toReversed())))).toEqual(first);
    expect(receipts()).toHaveLength(1);
    expect(receipts(other)).toHaveLength(0);
  });

  it('passes the receipt on whole', async () => {
    const value = receipt(10, { Cashier: 'Ana', Items: [{ Name: 'Bread', Quantity: 2, Price: 5, Barcode: '1' }] });
    await world.run(print(value));
    expect(world.sendsOf('PrintReceipt')[0]?.args).toEqual({ receipt: value });
  });

  it('in flight joins, across registers too; of many at once one prints', async () => {
    const other = await world.register();
    const value = receipt(10.84, { Payments: [{ PaymentCode: 1, Amount: 10.84 }] }); // slow
    const calls = [0, 1, 2, 3].map((count) => print(value, { deviceId: count % 2 === 0 ? register.id : other.id }));
    const answers = await Promise.all(calls.map((each) => world.run(each)));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(new Set(answers.map(({ report }) => report?.receiptId)).size).toBe(1);
    expect(receipts().length + receipts(other).length).toBe(1);
  });

  it('with other content is 22, in flight and printed', async () => {
    const value = receipt(10.84, { Payments: [{ PaymentCode: 1, Amount: 10.84 }] });
    const printing = print(value);
    await world.clock.advance(1_000);
    const changed = { ...value, Number: 'A-2' };
    expect((await world.run(print(changed), 100)).code).toBe(22);
    expect((await world.run(printing)).code).toBe(0);
    expect((await world.run(print(changed))).code).toBe(22);
  });

  it('after a refusal is a new attempt; another merchant’s Uid does not matter', async () => {
    const value = receipt(10.81, { Payments: [{ PaymentCode: 2, Amount: 10.81 }] }); // the bank declines
    expect((await world.run(print(value))).code).toBe(50);
    const cash = { ...value, Payments: [{ PaymentCode: 0, Amount: 10.81 }] };
    expect((await world.run(print(cash))).code).toBe(0);
    const foreign = await world.register({ merchantId: world.otherMerchantId });
    const theirs = world.fiscal.printReceipt({ merchantId: world.otherMerchantId, deviceId: foreign.id, receipt: value });
    expect((await world.run(theirs)).code).toBe(50);
    expect(receipts()).toHaveLength(1);
  });

  it('absent, every call prints; empty, none: the Uid was lost [D145]', async () => {
    for (const Uid of [undefined, null]) expect((await world.run(print(receipt(10, { Uid })))).code).toBe(0);
    expect((await world.run(print(receipt(10, { Uid: '' })))).message).toContain('Receipt.Uid must not be empty');
    expect(receipts()).toHaveLength(2);
  });

  it('unresolved, a repeat never prints again, on no register', async () => {
    const other = await world.register();
    const value = receipt(10);
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    expect((await world.run(print(value))).code).toBe(3);
    expect((await world.run(print(value, { deviceId: other.id }))).code).toBe(3);
    expect((await world.run(print(receipt(5)), 100)).code).toBe(31);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(60_000);
    expect((await world.run(print(value, { deviceId: other.id }))).code).toBe(0);
    expect(receipts()).toHaveLength(1);
    expect(receipts(other)).toHaveLength(0);
  });

  it('a receipt without Payments is 40, a terminal is 40, another merchant’s register 30', async () => {
    expect((await world.run(print({ ...receipt(10), Payments: undefined }))).code).toBe(40);
    expect((await world.run(print({ ...receipt(10), Payments: [] }))).code).toBe(40);
    const terminal = await world.terminal();
    expect((await world.run(print(receipt(10), { deviceId: terminal.id }))).code).toBe(40);
    const foreign = await world.register({ merchantId: world.otherMerchantId });
    expect((await world.run(print(receipt(10), { deviceId: foreign.id }))).code).toBe(30);
    expect((await world.run(print(receipt(10), { callbackUri: 'ftp://x' }))).code).toBe(40);
    expect((await world.run(print(receipt(10, { Note: 'x'.repeat(256 * 1024) })))).code).toBe(40);
    expect(await world.commands()).toEqual([]);
  });
});

describe('timeouts', () => {
  const minutes = (count: number) => count * 60_000;

  it.each<[string, number, () => Promise<{ report?: string }>]>([
    ['Money/In', 20_000, () => world.fiscal.cashIn({ ...call(), amountBani: 1000 })],
    ['Money/Out', 20_000, () => world.fiscal.cashOut({ ...call(), amountBani: 1000 })],
    ['X', 20_000, () => world.fiscal.createReport({ ...call(), isFiscal: false })],
    ['Z', 20_000, () => world.fiscal.createReport({ ...call(), isFiscal: true })],
    ['a cash receipt', minutes(1), () => print(receipt(10))],
    ['a receipt with code 3', minutes(1), () => print(receipt(10, { Payments: [{ PaymentCode: 3 }] }))],
    ...[1, 2, 7, 1000, '1', '1000'].map((PaymentCode): [string, number, () => Promise<{ report?: string }>] => [
      `a receipt with code ${JSON.stringify(PaymentCode)}`,
      minutes(5),
      () =>
        print(
          receipt(10, {
            Payments: [
              { PaymentCode: 0, Amount: 1 },
              { PaymentCode, Amount: 9 },
            ],
          }),
        ),
    ]),
  ])('%s has %i ms', async (_name, timeoutMs, run) => {
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    const startedAt = world.clock.elapsed();
    expect((await world.run(run())).code).toBe(3);
    expect(world.clock.elapsed() - startedAt).toBe(timeoutMs);
  });
});

describe('the channel', () => {
  it('is the queue first', async () => {
    await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000 }));
    expect(world.ledgerSends().map(({ channel }) => channel)).toEqual(['queue']);
    world.setAway(register.id, true, ['queue']);
    await world.clock.advance(1_000);
    await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000 }));
    expect(world.ledgerSends().map(({ channel }) => channel)).toEqual(['queue', 'mqtt']);
  });

  it('is taken by one command; another gets 31', async () => {
    const printing = print(receipt(10.84, { Payments: [{ PaymentCode: 1, Amount: 10.84 }] }));
    await world.clock.advance(1_000);
    expect((await world.run(world.fiscal.createReport({ ...call(), isFiscal: false }), 100)).code).toBe(31);
    expect((await world.run(printing)).code).toBe(0);
    expect((await world.run(world.fiscal.createReport({ ...call(), isFiscal: false }))).code).toBe(0);
  });
});

describe('Idempotency-Key', () => {
  it.each<[string, (extras: object) => Promise<{ report?: string }>]>([
    ['Money/In', (extras) => world.fiscal.cashIn({ ...call(), amountBani: 1000, ...extras })],
    ['Money/Out', (extras) => world.fiscal.cashOut({ ...call(), amountBani: 500, ...extras })],
    ['Report/Create', (extras) => world.fiscal.createReport({ ...call(), isFiscal: true, ...extras })],
    ['Invoice/Pay', (extras) => print({ ...receipt(10), Uid: undefined }, extras)],
  ])('%s is done once, also when the first answer was lost', async (_name, run) => {
    await world.run(world.fiscal.cashIn({ ...call(), amountBani: 100_000 }));
    const before = register.fiscalMemory().documents().length;
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    expect((await world.run(run(key('k')))).code).toBe(3);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(20_000);
    const first = await world.run(run(key('k')));
    expect(first.code).toBe(0);
    expect(await world.run(run(key('k')))).toEqual(first);
    expect((await world.run(run(key('k', 'other')))).code).toBe(22);
    expect(register.fiscalMemory().documents().length).toBe(before + 1);
  });
});

describe('completion notices', () => {
  const callbackUri = 'http://erp.example/n?id=#OID#&s=#State#&r=#ReceiptID#&d=#DeviceID#';
  const noticed = (id: string, ...states: [string, string][]) =>
    states.map(([state, receiptId]) => `http://erp.example/n?id=${id}&s=${state}&r=${receiptId}&d=${register.id}`);

  it('Completed with the receipt id', async () => {
    const { report } = await world.run(print(receipt(10), { callbackUri }));
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual(noticed((await world.lastCommand()).id, ['Completed', String(report?.receiptId)]));
  });

  it.each([
    ['an X report', false],
    ['a Z report', true],
  ])('Completed of %s', async (_name, isFiscal) => {
    expect((await world.run(world.fiscal.createReport({ ...call(), isFiscal, callbackUri }))).code).toBe(0);
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual(noticed((await world.lastCommand()).id, ['Completed', '']));
  });

  it.each(['cashIn', 'cashOut'] as const)('Completed of %s', async (way) => {
    await world.run(world.fiscal.cashIn({ ...call(), amountBani: 2000, hashRequest: () => 'float' }));
    expect((await world.run(world.fiscal[way]({ ...call(), amountBani: 1000, callbackUri }))).code).toBe(0);
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual(noticed((await world.lastCommand()).id, ['Completed', '']));
  });

  it('Refused', async () => {
    expect((await world.run(world.fiscal.cashOut({ ...call(), amountBani: 1000, callbackUri }))).code).toBe(50);
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual(noticed((await world.lastCommand()).id, ['Refused', '']));
  });

  it('Unknown, followed by the final one, each once', async () => {
    const printing = print(receipt(10.85), { callbackUri }); // answers after its time
    expect((await world.run(printing)).code).toBe(3);
    await world.clock.advance(1_000);
    const { id } = await world.lastCommand();
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', '']));
    await world.clock.advance(3_600_000);
    const [document] = receipts();
    const receiptId = document?.type === 'receipt' ? document.receiptId : '';
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', ''], ['Completed', receiptId]));
  });

  it('Unknown, then Refused when it turns out that it never began', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    const cashing = world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000, callbackUri }));
    expect((await cashing).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    await world.clock.advance(120_000);
    expect(world.callbackUrls).toEqual(noticed((await world.lastCommand()).id, ['Unknown', ''], ['Refused', '']));
    expect(register.fiscalMemory().documents()).toEqual([]);
  });

  it.each(['Refused', 'Completed'])('Unknown, then %s, although the delivery log was cleaned in between', async (word) => {
    world.weather = { ...world.weather, lossRate: word === 'Refused' ? 1 : 0 };
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000, callbackUri }))).code).toBe(3);
    const { id } = await world.lastCommand();
    await world.clock.advance(100);
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', '']));
    const { queries } = world.database;
    await queries.deleteFrom('callback_attempts').execute();
    await queries.deleteFrom('callbacks').execute();
    world.onAnswer = (answer) => answer;
    world.weather = { ...world.weather, lossRate: 0 };
    await world.clock.advance(120_000);
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', ''], [word, '']));
    // A receiver that sorts by number sees them in order.
    expect(await queries.selectFrom('callbacks').select(['subject_id', 'sequence']).execute()).toEqual([{ subject_id: id, sequence: 2 }]);
  });

  it('Unknown also when the gateway died, and a person’s decision is notified', async () => {
    world.fiscal.cashIn({ ...call(), amountBani: 1085, callbackUri }).catch(() => {}); // answers after its time
    await world.clock.advance(1_000);
    world.setAway(register.id, true);
    await world.crash();
    await world.restart();
    await world.clock.advance(60_000);
    const { id } = await world.lastCommand();
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', '']));
    await world.clock.advance(90_000);
    await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'It is on the tape.', actor: 'ana' }));
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual(noticed(id, ['Unknown', ''], ['Completed', '']));
  });

  it('with a host name that is too long for DNS are refused: 40, and the register gets nothing', async () => {
    const told = await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000, callbackUri: `http://${longHost}/n` }));
    expect([told.code, world.ledgerSends()]).toEqual([40, []]);
    expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000, callbackUri }))).code).toBe(0);
  });

  describe.each([
    ['is none', 'http://erp.example/#Amount#'],
    ['has a host that is too long for an index of PostgreSQL', `http://${longHost}/n?s=#State#`],
  ])('to a stored CallbackURI that %s [D122]', (_, address) => {
    /** It answers after its time, to a gateway that has started since: a template from before an upgrade is read from its row. */
    async function cashInWithIt(): Promise<string> {
      world.fiscal.cashIn({ ...call(), amountBani: 1085, callbackUri }).catch(() => {});
      await world.clock.advance(1_000);
      world.setAway(register.id, true);
      await world.crash();
      await world.restart();
      await world.database.queries.updateTable('commands').set({ callback_uri: address }).execute();
      await world.clock.advance(60_000);
      return (await world.lastCommand()).id;
    }
    const complaints = () =>
      world.logger.lines.flatMap(({ level, message, fields }) => (level === 'error' ? [{ message, ...fields }] : []));
    const words: Record<string, string> = { unknown: 'Unknown', done: 'Completed' };
    const complaint = (commandId: string, settled: string) => ({
      ...{ commandId, deviceId: register.id, documentNr: undefined, merchantId: world.merchantId },
      ...{ state: isNewCore ? words[settled] : settled, err: expect.any(GatewayError) },
      message: expect.stringContaining('can no longer be read'),
    });
    const callbacks = () => world.database.queries.selectFrom('callbacks').select('id').execute();

    it('are not written: the operation is settled by its register, which is free then, and the log says so', async () => {
      const id = await cashInWithIt();
      world.setAway(register.id, false);
      await world.clock.advance(3_600_000);
      expect(await world.lastCommand()).toMatchObject({ id, state: 'done' });
      expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 2000 }))).code).toBe(0);
      expect(await callbacks()).toEqual([]);
      expect(complaints()).toEqual([complaint(id, 'unknown'), complaint(id, 'done')]);
    });

    it('are not written: a person can decide', async () => {
      world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
      const id = await cashInWithIt();
      await world.clock.advance(3_600_000);
      expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
      const decision = { state: 'done', reason: 'It is on the tape.', actor: 'ana' } as const;
      expect(await world.ledger.decide(id, decision)).toMatchObject({ state: 'done', settledBy: 'person' });
      expect([await callbacks(), complaints()]).toEqual([[], [complaint(id, 'unknown'), complaint(id, 'done')]]);
    });
  });

  it('none for a command that was answered as not sent, and none without CallbackURI', async () => {
    world.setAway(register.id, true);
    await world.clock.advance(100);
    expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000, callbackUri }))).code).toBe(30);
    world.setAway(register.id, false);
    await world.clock.advance(30_000);
    expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1000 }))).code).toBe(0);
    expect((await world.run(world.fiscal.cashIn({ ...call(), amountBani: 1092, callbackUri }))).code).toBe(31); // busy by itself
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual([]);
  });
});

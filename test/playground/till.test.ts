// The till alone, against a gateway that is played here: what it takes on, what it asks after, and that its book and hands are bounded.
import { describe, expect, it } from 'vitest';
import type { ApiAnswer, ApiCallRequest } from '../../src/playground/erp/api-calls.ts';
import { basketAt } from '../../src/playground/erp/baskets.ts';
import { createErpBook, type Sale } from '../../src/playground/erp/sale.ts';
import { Till } from '../../src/playground/erp/till.ts';
import type { Shop } from '../../src/playground/shop.ts';
import { magicOf } from '../../src/virtual/mishaps/magic-amounts.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const done = (report: object = {}): ApiAnswer => ({ errorCode: 0, errorMessage: '', OID: 'oid', report: { ...report } });
const no = (errorCode: number): ApiAnswer => ({ errorCode, errorMessage: 'No.', report: {} });

function tillWith(answer: (request: ApiCallRequest) => Promise<ApiAnswer>) {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const sent: ApiCallRequest[] = [];
  const book = createErpBook(() => clock.now());
  const device = { device: { deviceId: 'd' } };
  const shop = { find: () => device, first: () => device, all: () => [device] } as unknown as Shop;
  const till = new Till({
    clock,
    random: seededRandom(1),
    logger: quietLogger,
    book,
    shop,
    sink: () => ({ callbackUri: () => 'http://erp.example/' }),
    onChange() {},
    calls: {
      async send(request) {
        sent.push(request);
        const told = await answer(request);
        request.received(told);
        return told;
      },
      last: () => sent.at(-1),
      fetchAs: () => fetch,
      views: () => [],
      stop() {},
    },
  });
  return { till, book, sent, clock, labels: () => sent.map(({ label }) => label) };
}

const approved = done({ operationId: '1', rrn: '2', receiptId: 'R-1' });

describe('the till', () => {
  it('pays, closes and prints, and accepts nothing but the answers', async () => {
    const { till, labels, clock } = tillWith(async () => approved);
    const sale = till.sell({ deviceId: 'd' });
    expect([sale.paidBani, sale.state, till.underWay]).toEqual([0, 'paying', 1]);
    await clock.advance(10);
    expect(labels()).toEqual(['pay', 'close', 'print']);
    expect([sale.state, sale.paidBani, till.underWay]).toEqual(['done', sale.totalBani, 0]);
  });

  it.each([3, 1, 2, 41, -1])('asks the very same again while %i leaves open what became of the money', async (errorCode) => {
    const answers = [no(errorCode), no(errorCode)];
    const { till, sent, labels, clock } = tillWith(async () => answers.shift() ?? approved);
    const sale = till.sell({ deviceId: 'd' });
    await clock.advance(1);
    expect([sale.state, sale.paidBani]).toEqual(['unknown', 0]);
    await clock.advance(10_000);
    expect(labels()).toEqual(['pay', 'pay', 'pay', 'close', 'print']);
    expect(new Set(sent.slice(0, 3).map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(sale.state).toBe('done');
  });

  it('a no is a no, and closes and prints nothing', async () => {
    const { till, labels, clock } = tillWith(async () => no(50));
    const sale = till.sell({ deviceId: 'd' });
    await clock.advance(60_000);
    expect([labels(), sale.state, sale.errorCode]).toEqual([['pay'], 'refused', 50]);
    expect(() => till.refund(sale, undefined)).toThrow('not paid by card');
  });

  it('refunds no sale before its receipt: the gateway would refuse a print with the full amount', async () => {
    const held: (() => void)[] = [];
    const { till, labels, clock } = tillWith(({ label }) =>
      label === 'close' || label === 'print' ? new Promise((resolve) => held.push(() => resolve(approved))) : Promise.resolve(approved),
    );
    const sale = till.sell({ deviceId: 'd' });
    for (const state of ['closing', 'printing']) {
      await clock.advance(10);
      expect(sale.state).toBe(state);
      expect(() => till.refund(sale, 100)).toThrow('receipt is not printed yet');
      held.shift()?.();
    }
    await clock.advance(10);
    await till.refund(sale, 100);
    expect(labels()).toEqual(['pay', 'close', 'print', 'refund']);
  });

  it('refunds a sale whose receipt was refused', async () => {
    const { till, labels, clock } = tillWith(async ({ label }) => (label === 'print' ? no(14) : approved));
    const sale = till.sell({ deviceId: 'd' });
    await clock.advance(10);
    await till.refund(sale, undefined);
    expect([labels(), sale.state]).toEqual([['pay', 'close', 'print', 'refund'], 'noReceipt']);
  });

  it('notified twice that an invoice is paid, it prints once', async () => {
    const { till, book, labels, clock } = tillWith(async () => approved);
    const sale = till.newSale('qr', { amountBani: 500 });
    sale.oid = 'invoice';
    const payed = { state: 'Payed', oid: 'invoice', receiptId: 'rrn', deviceId: 'd' };
    till.received(payed);
    till.received(payed);
    await clock.advance(10);
    till.received(payed);
    till.received({ ...payed, oid: 'of nobody' });
    await clock.advance(10);
    expect([labels(), sale.paidBani, book.sales().length]).toEqual([['print'], 500, 1]);
  });

  it('cannot take a callback while its hands are full, and prints when it is notified again, also after the books were emptied', async () => {
    const held: (() => void)[] = [];
    const { till, book, labels, clock } = tillWith(({ label }) =>
      label === 'print' ? Promise.resolve(approved) : new Promise((resolve) => held.push(() => resolve(no(50)))),
    );
    const sale = till.newSale('qr', { amountBani: 500 });
    sale.oid = 'invoice';
    for (let count = 0; count < 8; count += 1) till.sell({ deviceId: 'd' });
    const payed = { state: 'Payed', oid: 'invoice', receiptId: 'rrn', deviceId: 'd' };
    expect(() => till.received(payed)).toThrow('too many running sales');
    book.empty();
    for (const release of held) release();
    await clock.advance(10);
    till.received(payed);
    await clock.advance(10);
    expect([labels().filter((label) => label === 'print').length, sale.state]).toEqual([1, 'done']);
    // What is done already needs no free hand.
    for (let count = 0; count < 8; count += 1) till.sell({ deviceId: 'd' });
    expect(() => till.received(payed)).not.toThrow();
  });

  it('has eight things in hand at most, and is free again when they end', async () => {
    const held: (() => void)[] = [];
    const { till, clock, book } = tillWith(
      () =>
        new Promise((resolve) => {
          held.push(() => resolve(no(50)));
        }),
    );
    for (let count = 0; count < 8; count += 1) till.sell({ deviceId: 'd' });
    expect(() => till.again()).toThrow('too many running sales');
    expect(() => till.sell({ deviceId: 'd' })).toThrow('too many running sales');
    expect([till.underWay, book.sales().length]).toEqual([8, 8]);
    for (const release of held) release();
    await clock.advance(10);
    expect(till.underWay).toBe(0);
  });

  it('keeps a book of 500 sales and says what to do then', async () => {
    const book = createErpBook(() => 0);
    for (let count = 0; count < 500; count += 1) book.add({ id: String(count) } as Sale);
    expect(() => book.add({ id: 'one more' } as Sale)).toThrow('empty the books');
    book.empty();
    book.add({ id: 'one more' } as Sale);
    expect(book.sales()).toHaveLength(1);
  });

  it('sells nothing whose amount is magic unless asked to', () => {
    for (const count of [0, 1, 2]) {
      const { totalBani } = basketAt(count);
      expect([magicOf('terminal', totalBani), magicOf('register', totalBani)]).toEqual([undefined, undefined]);
    }
  });
});

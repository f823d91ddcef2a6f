// The life of invoices against a model: random calls and passing time, on the real code. The model is written from the specification,
// knows nothing of the code, and after every call compares the answer, the states, the callbacks and the orphan board.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, openShop, receipt, type Shop, template } from './shop.ts';

type Life = 'NewItem' | 'Scanned' | 'Payed' | 'Expired' | 'Cancelled';
const lives: Life[] = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];

interface ModelInvoice {
  oid: string;
  qr: string;
  life: Life;
  validToMs: number | undefined;
  hasCallback: boolean;
  payment: string | undefined;
  told: string[];
  orphans: Set<string>;
}

interface Model {
  nowMs: number;
  graceMs: number;
  invoices: ModelInvoice[];
}

interface Real {
  shop: Shop;
  database: Database;
  clock: VirtualClock;
}

function go(invoice: ModelInvoice, life: Life): void {
  invoice.life = life;
  if (invoice.hasCallback) invoice.told.push(life === 'Payed' ? `${life} ${invoice.payment}` : life);
}

function expireIfDue(model: Model, invoice: ModelInvoice): void {
  if (invoice.validToMs === undefined) return;
  const due = invoice.life === 'NewItem' || invoice.life === 'Scanned';
  const untilMs = invoice.validToMs + (invoice.life === 'Scanned' ? model.graceMs : 0);
  if (due && model.nowMs >= untilMs) go(invoice, 'Expired');
}

async function compare(invoice: ModelInvoice, real: Real): Promise<void> {
  const { queries } = real.database;
  const row = await queries.selectFrom('invoices').select(['state']).where('oid', '=', invoice.oid).executeTakeFirstOrThrow();
  expect(lives[row.state]).toBe(invoice.life);
  const told = await queries
    .selectFrom('callbacks')
    .select(['sequence', 'url'])
    .where('subject_id', '=', invoice.oid)
    .orderBy('sequence')
    .execute();
  expect(told.map(({ sequence }) => sequence)).toEqual(told.map((_, index) => index + 1));
  const texts = told.map(({ url }) => {
    const { searchParams } = new URL(url);
    const payment = `${searchParams.get('receipt')} on ${searchParams.get('device')}`;
    return payment === ' on ' ? searchParams.get('state') : `${searchParams.get('state')} ${payment}`;
  });
  expect(texts).toEqual(invoice.told);
  const orphans = await queries.selectFrom('orphan_payments').select(['receipt_id', 'device_id']).where('oid', '=', invoice.oid).execute();
  expect(orphans.map((orphan) => `${orphan.receipt_id} on ${orphan.device_id}`).sort()).toEqual([...invoice.orphans].sort());
}

type Command = fc.AsyncCommand<Model, Real>;

class Create implements Command {
  readonly validForMs: number | undefined;
  readonly hasCallback: boolean;
  constructor(validForMs: number | undefined, hasCallback: boolean) {
    this.validForMs = validForMs;
    this.hasCallback = hasCallback;
  }
  check = () => true;
  async run(model: Model, { shop }: Real): Promise<void> {
    const validToMs = this.validForMs === undefined ? undefined : model.nowMs + this.validForMs;
    const call = shop.invoices.create({
      merchantId: shop.merchantId,
      receipt,
      callbackUri: this.hasCallback ? template : undefined,
      validTo: validToMs === undefined ? undefined : new Date(validToMs).toISOString(),
    });
    if (this.validForMs !== undefined && this.validForMs <= 0) {
      expect(await codeOf(call)).toBe(40);
      return;
    }
    const made = await call;
    const { hasCallback } = this;
    model.invoices.push({ ...made, life: 'NewItem', validToMs, hasCallback, payment: undefined, told: [], orphans: new Set() });
  }
  toString = () => `Create(${this.validForMs ?? 'unlimited'})`;
}

/** A call about one of the invoices there are. */
abstract class About implements Command {
  readonly which: number;
  constructor(which: number) {
    this.which = which;
  }
  check = (model: Readonly<Model>) => model.invoices.length > 0;
  async run(model: Model, real: Real): Promise<void> {
    const invoice = model.invoices[this.which % model.invoices.length] as ModelInvoice;
    expireIfDue(model, invoice);
    await this.call(model, invoice, real);
    await compare(invoice, real);
  }
  protected abstract call(model: Model, invoice: ModelInvoice, real: Real): Promise<void>;
  toString(): string {
    return `${this.constructor.name}(${this.which})`;
  }
}

class Status extends About {
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const { state, receiptId } = await shop.invoices.status(invoice.qr, anybody);
    expect(lives[state]).toBe(invoice.life);
    expect(receiptId).toBe(invoice.payment?.split(' on ')[0] ?? '');
  }
}

class Get extends About {
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const code = await codeOf(shop.invoices.scan(invoice.qr, anybody));
    if (invoice.life === 'NewItem') go(invoice, 'Scanned');
    expect(code).toBe(invoice.life === 'Scanned' ? 0 : 22);
  }
}

class Payd extends About {
  readonly receiptNumber: number;
  readonly deviceNumber: number;
  constructor(which: number, receiptNumber: number, deviceNumber: number) {
    super(which);
    this.receiptNumber = receiptNumber;
    this.deviceNumber = deviceNumber;
  }
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const deviceId = [shop.deviceId, shop.secondDeviceId, shop.foreignDeviceId][this.deviceNumber] as string;
    const receiptId = `F-${this.receiptNumber}`;
    const payment = `${receiptId} on ${deviceId}`;
    const code = await codeOf(shop.invoices.pay(invoice.qr, { receiptId, deviceId }, anybody));
    if (invoice.life === 'Payed' && invoice.payment === payment) {
      expect(code).toBe(0);
    } else if (deviceId === shop.foreignDeviceId) {
      expect(code).toBe(20);
      invoice.orphans.add(payment);
    } else if (invoice.life === 'Scanned') {
      expect(code).toBe(0);
      invoice.payment = payment;
      go(invoice, 'Payed');
    } else {
      expect(code).toBe(22);
      invoice.orphans.add(payment);
    }
  }
}

class Cancel extends About {
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const done = await shop.cancel(invoice.oid);
    const isUnpaid = invoice.life === 'NewItem' || invoice.life === 'Scanned';
    expect(done).toBe(isUnpaid);
    if (isUnpaid) go(invoice, 'Cancelled');
    // An overdue one is left to whoever comes next.
    await shop.invoices.status(invoice.qr, anybody);
  }
}

class Everybody extends About {
  /** Two tills and a proxy's repeat at the same moment. */
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(shop.invoices.scan(invoice.qr, anybody))));
    if (invoice.life === 'NewItem') go(invoice, 'Scanned');
    expect(codes).toEqual(codes.map(() => (invoice.life === 'Scanned' ? 0 : 22)));
  }
}

class Stranger extends About {
  protected async call(_model: Model, invoice: ModelInvoice, { shop }: Real): Promise<void> {
    const asker = { merchantId: shop.otherMerchantId, name: 'key 2' };
    expect(await codeOf(shop.invoices.scan(invoice.qr, asker))).toBe(20);
    expect(await codeOf(shop.invoices.pay(invoice.qr, { receiptId: 'F-1', deviceId: shop.deviceId }, asker))).toBe(20);
    await shop.invoices.status(invoice.qr, anybody);
  }
}

class Sweep implements Command {
  check = () => true;
  async run(model: Model, real: Real): Promise<void> {
    const before = model.invoices.filter(({ life }) => life === 'Expired').length;
    for (const invoice of model.invoices) expireIfDue(model, invoice);
    const after = model.invoices.filter(({ life }) => life === 'Expired').length;
    expect(await real.shop.invoices.expireOverdue()).toBe(after - before);
    for (const invoice of model.invoices) await compare(invoice, real);
  }
  toString = () => 'Sweep';
}

class Pass implements Command {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = () => true;
  async run(model: Model, { clock }: Real): Promise<void> {
    model.nowMs += this.ms;
    await clock.advance(this.ms);
  }
  toString = () => `Pass(${this.ms})`;
}

const which = fc.nat({ max: 5 });
const commands = [
  fc.tuple(fc.constantFrom(undefined, -1, 0, 1, 500, 1000, 5000), fc.boolean()).map(([ms, has]) => new Create(ms, has)),
  which.map((index) => new Status(index)),
  which.map((index) => new Get(index)),
  which.map((index) => new Get(index)),
  fc.tuple(which, fc.nat({ max: 1 }), fc.nat({ max: 2 })).map(([index, number, device]) => new Payd(index, number, device)),
  fc.tuple(which, fc.nat({ max: 1 }), fc.nat({ max: 2 })).map(([index, number, device]) => new Payd(index, number, device)),
  which.map((index) => new Cancel(index)),
  which.map((index) => new Everybody(index)),
  which.map((index) => new Stranger(index)),
  fc.constant(new Sweep()),
  fc.constantFrom(1, 499, 500, 1000, 2000).map((ms) => new Pass(ms)),
];

async function checkModel(
  open: (clock: VirtualClock) => Promise<Database>,
  settle: 'microtasks' | 'io',
  runs: number,
  size: number,
): Promise<number> {
  let executed = 0;
  const lived = fc.asyncProperty(
    fc.commands(commands, { maxCommands: size, size: 'max' }),
    fc.constantFrom(0, 1),
    async (sequence, scanGraceS) => {
      const clock = createVirtualClock(undefined, { settle });
      const database = await open(clock);
      try {
        const shop = await openShop(database, { clock, scanGraceS });
        const start = () => ({
          model: { nowMs: clock.now(), graceMs: scanGraceS * 1000, invoices: [] } as Model,
          real: { shop, database, clock },
        });
        await fc.asyncModelRun(start, sequence);
        executed += [...sequence].length;
      } finally {
        await database.close();
      }
    },
  );
  await fc.assert(lived, { numRuns: runs });
  return executed;
}

describe('invoices change their state as the model does', () => {
  it('in memory, at length', { timeout: 120_000 }, async () => {
    const executed = await checkModel(memoryDatabase, 'microtasks', byDayOrNight(60, 400), 60);
    expect(executed).toBeGreaterThan(1000);
  });

  it.each(engines)('on %s, in short', { timeout: 120_000 }, async (engine) => {
    const executed = await checkModel((clock) => openTestDatabase(engine, clock), 'io', 8, 40);
    expect(executed).toBeGreaterThan(20);
  });
});

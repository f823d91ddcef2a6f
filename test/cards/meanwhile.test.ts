// What an abort, a void and a CloseDoc do when something has changed since they looked: another call was faster, a key or a record is gone.
import { beforeEach, describe, expect, it } from 'vitest';
import { abort } from '../../src/cards/abort.ts';
import { cancelTransaction } from '../../src/cards/cancel-transaction.ts';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import { closeDoc } from '../../src/cards/close-document.ts';
import { refund } from '../../src/cards/refund.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { findCommand } from '../../src/ledger/store.ts';
import type { ChannelName } from '../../src/link/channel.ts';
import { seedCommand, seedInvoice } from '../support/fixtures.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal({ timing: { customerMs: 100, bankMs: 2_000 } });
});

const declinedLei = 10.61;
const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });
const deps = (overrides: Partial<CardsDeps> = {}): CardsDeps => {
  const { database, ledger, link, invoices, callbacks } = world.life;
  return { database, ledger, link, invoices, callbacks, clock: world.clock, random: world.random, logger: world.logger, ...overrides };
};
/** The ledger, with one of its calls done otherwise. */
const ledgerWith = (overrides: Partial<Ledger>): Ledger => Object.assign(Object.create(world.ledger) as Ledger, overrides);

async function paid(documentNr: string | undefined) {
  const { report } = await world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr }));
  const named = { ...call(), documentNr: documentNr ?? 'any', operationId: String(report?.['operationId']) };
  return { ...named, token: String(report?.['token']), amountBani: 1_000 };
}

describe('an abort that the terminal refused, of a payment that is declined a moment later,', () => {
  async function declining() {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    const paying = world.pay(terminal.id, declinedLei, oid);
    await world.clock.advance(1_000);
    return { paying, payment: await world.lastCommand() };
  }

  it('is confirmed by one of two requests; the other, which finds it confirmed, is answered 22 and not that it is unclear', async () => {
    const { paying, payment } = await declining();
    const both = [world.told(abort(deps(), call(), payment)), world.told(abort(deps(), call(), payment))];
    expect((await world.run(paying)).code).toBe(50);
    await world.clock.advance(1_000);
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(codes.toSorted((one, other) => one - other)).toEqual([0, 22]);
    expect(world.sendsOf('Abort')).toHaveLength(2);
  });

  it('whose key was claimed by another request since it was looked up is 22 and leaves no mark: the bank’s refusal cancels nothing', async () => {
    const { paying, payment } = await declining();
    const other = await world.terminal();
    void world.pay(other.id, 1, 'other', { idempotency: { key: 'k', requestHash: 'pay' } });
    await world.clock.advance(500);
    const asked = world.run(abort(deps(), { ...call(), idempotency: { key: 'k', requestHash: 'abort' } }, payment));
    expect((await asked).code).toBe(22);
    expect(world.sendsOf('Abort')).toEqual([]);
    expect(await findCommand(world.database.queries, payment.id)).toMatchObject({ abortRequestedAtMs: null });
    expect((await world.run(paying)).code).toBe(50);
    const { state } = await world.database.queries.selectFrom('invoices').select('state').executeTakeFirstOrThrow();
    expect(state).toBe(0);
  });

  it('locks its invoice before the payment is marked: the other order could deadlock with a payment that begins', async () => {
    const { payment } = await declining();
    const order: string[] = [];
    const noted = (name: string) => async (_queries: unknown, oid: string) => void order.push(`${name} ${oid}`);
    const invoices = {
      ...world.life.invoices,
      lock: noted('lock'),
      cancelUnpaidInvoice: noted('cancel'),
    } as unknown as CardsDeps['invoices'];
    world.hook = ({ sql, when }) => {
      if (when === 'before' && sql.startsWith('update') && sql.includes('"abort_requested_at" is null')) order.push('mark');
      return undefined;
    };
    expect((await world.run(abort(deps({ invoices }), call(), payment))).code).toBe(0);
    expect(order).toEqual([`lock ${payment.documentNr}`, 'mark', `cancel ${payment.documentNr}`]);
  });

  it('locks no invoice if its documentNr is no OID', async () => {
    void world.pay(terminal.id, declinedLei, 'sale 7');
    await world.clock.advance(1_000);
    const locked: unknown[] = [];
    const lock = async (_queries: unknown, oid: string) => void locked.push(oid);
    const invoices = { ...world.life.invoices, lock } as unknown as CardsDeps['invoices'];
    expect((await world.run(abort(deps({ invoices }), call(), await world.lastCommand()))).code).toBe(0);
    expect(locked).toEqual([]);
  });

  it('sends the callback of the cancelled invoice off at once', async () => {
    const { payment } = await declining();
    let wakes = 0;
    const callbacks = { wake: () => (wakes += 1) };
    expect((await world.run(abort(deps({ callbacks }), call(), payment))).code).toBe(0);
    expect(wakes).toBe(1);
  });
});

it.each<[string, ChannelName[] | undefined, ChannelName]>([
  ['is live on first', ['queue', 'mqtt'], 'queue'],
  ['is asked by otherwise, when it has no presence here', undefined, 'mqtt'],
  ['is asked by otherwise, when it is live on none', [], 'mqtt'],
])('an Abort goes by the channel that the terminal %s', async (_what, liveOn, channel) => {
  const paying = world.pay(terminal.id, 10, 'n');
  await world.clock.advance(50);
  const asked: unknown[] = [];
  const link = Object.assign(Object.create(world.life.link) as CardsDeps['link'], {
    presence: { of: () => liveOn && { liveOn } },
    async ask(_deviceId: string, { preferredChannel }: { preferredChannel: ChannelName }) {
      asked.push(preferredChannel);
      return { outcome: 'refused' };
    },
  });
  const payment = await world.lastCommand();
  await world.run(abort(deps({ link }), call(), payment));
  expect(asked).toEqual([channel]);
  await world.run(paying);
});

describe('a payment that changes between the lookup and the lock', () => {
  /** Cards whose ledger is given the plan a moment late: that happens in between. */
  const afterPlan = (meanwhile: () => Promise<unknown>) => {
    const run: Ledger['run'] = (asked, plan) =>
      world.ledger.run(asked, async () => {
        const planned = await plan();
        await meanwhile();
        return planned;
      });
    return deps({ ledger: ledgerWith({ run }) });
  };
  const become = (change: object) => async () =>
    world.database.queries.updateTable('commands').set(change).where('name', '=', 'Pay').execute();
  const voided = { document_state: 'voided' as const };
  const dayClosed = { bank_day_closed_at: 1 };
  /** Closed, and known by the numbers of its bank. */
  async function closed() {
    const payment = await paid(world.random.uuid());
    expect((await world.run(world.cards.closeDoc(payment))).code).toBe(0);
    return { ...payment, rrn: (await world.lastCommand('Pay')).rrn ?? '', currency: undefined };
  }
  const partRefunded = (payment: Awaited<ReturnType<typeof closed>>) => async () => {
    const { id } = await world.lastCommand('Pay');
    const refund = { name: 'Refund', target_id: id, amount_bani: 600, state: 'done', settled_at: 1, settled_by: 'answer' } as const;
    await seedCommand(world.database.queries, world.merchantId, payment.deviceId, refund);
  };

  it.each([
    ['voided', () => become(voided), 22],
    ['closed with its day', () => become(dayClosed), 22],
    ['refunded in part', partRefunded, 40],
  ])('and is %s then is not refunded', async (_how, change, code) => {
    const payment = await closed();
    const told = await world.run(refund(afterPlan(change(payment)), payment));
    expect(told.code).toBe(code);
    expect(world.sendsOf('Refund')).toEqual([]);
  });

  it.each([
    ['voided', () => become(voided), 22],
    ['refunded in part', partRefunded, 22],
  ])('and is %s then is not voided', async (_how, change, code) => {
    const payment = await closed();
    const told = await world.run(cancelTransaction(afterPlan(change(payment)), payment));
    expect(told.code).toBe(code);
    expect(world.sendsOf('CancelTransaction')).toEqual([]);
  });
});

it('a void whose key belonged to a command that has since been removed is 20 when no payment has its number', async () => {
  const ledger = ledgerWith({
    findByKey: async () => ({ name: 'CancelTransaction' }) as never,
    run: async (_call, plan) => (await plan()) as never,
  });
  const asked = { ...call(), documentNr: 'n', operationId: 'none', token: 't', amountBani: 1_000 };
  expect((await world.run(cancelTransaction(deps({ ledger }), asked))).code).toBe(20);
});

describe('a CloseDoc of a payment that had no documentNr', () => {
  it('is not recognised by its content', async () => {
    const payment = await paid(undefined);
    expect((await world.run(world.cards.closeDoc({ ...payment, hashRequest: () => 'equal' }))).code).toBe(0);
    expect((await world.lastCommand('CloseDoc')).requestHash).toBeNull();
  });

  it('closes nothing a second time when another call has closed it since it was looked up', async () => {
    const payment = await paid(undefined);
    let closes = 0;
    const ledger = ledgerWith({
      // Without the short way, as for a terminal that has to be searched for: the other call ends meanwhile.
      run: (asked, plan) =>
        world.ledger.run({ ...asked, insertRejectsDuplicates: false }, async () => {
          const planned = await plan();
          closes += 1;
          if (closes === 1) await world.cards.closeDoc(payment);
          return planned;
        }),
    });
    expect(await world.run(closeDoc(deps({ ledger }), payment))).toMatchObject({ code: 0 });
    expect(closes).toBe(1);
    expect(world.sendsOf('CloseDoc')).toHaveLength(1);
  });
});

it('a CloseDoc of a payment that was voided, and removed since, is answered that it was removed', async () => {
  const payment = await paid('n');
  expect((await world.run(world.cards.cancelTransaction(payment))).code).toBe(0);
  await world.database.queries.updateTable('commands').set({ removed_at: 1 }).where('name', '=', 'Pay').execute();
  const told = await world.run(world.cards.closeDoc(payment));
  expect(told).toMatchObject({ code: 22, message: expect.stringContaining('removed') as string });
});

describe('in a dispute', () => {
  const contradicted = {
    state: 'disputed',
    settled_by: 'person',
    settled_at: 1,
    outcome: 'done',
    review_since: 1,
    review_reason: 'so',
  } as const;
  const unclear = { errorName: 'Timeout_or_no_response' };

  it.each(['Refund', 'CancelTransaction'] as const)('a %s blocks others of its payment until an operator has resolved it', async (name) => {
    const payment = await paid('n');
    const { id: target_id, rrn } = await world.lastCommand();
    await world.run(closeDoc(deps(), payment));
    const row = { ...contradicted, name, target_id, amount_bani: 100 };
    const { id } = await seedCommand(world.database.queries, world.merchantId, terminal.id, row);
    const refunding = () => refund(deps(), { ...payment, rrn: rrn ?? '', amountBani: 300, currency: 'MDL' });
    const told = { ...unclear, fields: { OID: target_id, State: 'Disputed' } };
    await expect(refunding()).rejects.toMatchObject(told);
    await expect(cancelTransaction(deps(), payment)).rejects.toMatchObject(told);
    await world.database.queries.updateTable('commands').set({ state: 'refused', reviewed_at: 1 }).where('id', '=', id).execute();
    expect((await world.run(refunding())).code).toBe(0);
  });

  it('a payment is not answered as aborted', async () => {
    const row = { ...contradicted, abort_requested_at: 1 };
    const { id } = await seedCommand(world.database.queries, world.merchantId, terminal.id, row);
    const payment = await findCommand(world.database.queries, id);
    await expect(abort(deps(), call(), payment as Command)).rejects.toMatchObject({ ...unclear, fields: { OID: id, State: 'Disputed' } });
  });
});
